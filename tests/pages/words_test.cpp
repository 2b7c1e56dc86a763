// What studies and inspections say of random numbers: no sentence says more than the sign or the interval of its number.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "gnomon/core/text.h"
#include "gnomon/pages/inspect.h"
#include "gnomon/pages/study_words.h"
#include "tests/study/simulated.h"

namespace gnomon::pages {
namespace {

bool says(const std::vector<std::string>& sentences, const std::string& words) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(words) != s.npos; });
}
std::string all_of(const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& s : sentences) all += s + "\n";
  return all;
}

// A study of four arms with two budgets and windows of one and two times the length, of random losses; ranked as summarise() does.
StudySummary drawn(Draws& draws, int seeds) {
  StudySummary s;
  s.config.arms = {"sinusoidal", "rope", "alibi", "none"};
  s.config.model.layers = 2, s.config.model.width = 64, s.config.model.heads = 4, s.config.model.length = 64;
  s.config.seeds = seeds, s.config.lengths = {1, 2}, s.config.budgets = {.25, 1};
  s.unit = "nats per byte", s.reference = ReferenceLosses{};
  s.reference->pairs = 2 + draws.normal() / 2, s.reference->letters = 3;
  const auto estimate = [&](double mean, double spread) {
    const double half = spread * (.1 + draws.uniform());
    if (seeds == 1) return Estimate{mean, std::nan(""), 1};
    return Estimate{mean, half, seeds, {{half / t_quantile(.025, seeds - 1), double(seeds - 1)}}};
  };
  std::vector<Estimate> differences;
  for (const Arm& arm : s.config.arms) {
    ArmSummary a;
    a.arm = arm.print();
    for (const double share : s.config.budgets)
      a.budgets.push_back({share,
                           std::int64_t(1e6 * share),
                           1e9 * share,
                           std::vector<RunResult>(std::size_t(seeds)),
                           {},
                           estimate(2 + draws.normal() / 3, .1),
                           {},
                           {}});
    for (const double factor : s.config.lengths)
      a.by_length.push_back({.factor = factor,
                             .tokens = 128,
                             .nats = estimate(2 + draws.normal() / 3, .1),
                             .difference = {},
                             .comparison = {},
                             .share = {},
                             .by_depth = {}});
    s.arms.push_back(std::move(a));
  }
  std::sort(s.arms.begin(), s.arms.end(), [](const ArmSummary& a, const ArmSummary& b) {
    return a.largest().nats.mean < b.largest().nats.mean;
  });
  for (std::size_t n = 0; n < s.arms.size(); ++n) s.baseline = s.arms[n].arm == "sinusoidal" ? n : s.baseline;
  const double base = s.arms[s.baseline].largest().nats.mean, best = s.arms.front().largest().nats.mean;
  const auto compared = [&](const Estimate& d) {
    return seeds > 1 ? compare(std::vector{d}, .01).front() : Comparison{d, NAN, NAN, Decision::undecided};
  };
  for (std::size_t n = 0; n < s.arms.size(); ++n) {
    ArmSummary& a = s.arms[n];
    AtBudget& at = a.budgets.back();
    at.difference = estimate(at.nats.mean - base, std::abs(at.nats.mean - base) * 2);
    if (n != s.baseline) at.comparison = compared(at.difference);
    if (n != s.baseline) a.speed_up = SpeedUp{1 + draws.uniform(), SpeedUp::Bound::equal};
    if (n > 0) a.to_best = compared(estimate(at.nats.mean - best, std::abs(at.nats.mean - best) * 2));
  }
  return s;
}

TEST(Words, AStudySaysWhatItsDecisionsSay) {
  Draws draws("studies");
  int carried = 0, not_carried = 0;
  for (int n = 0; n < 500; ++n) {
    const int seeds = n % 5 ? 5 : 1;
    const StudySummary s = drawn(draws, seeds);
    const auto told = study_answers(s);
    const ArmSummary& best = s.arms.front();
    EXPECT_EQ(told[seeds == 1 ? 1 : 0].rfind(best.arm + " has the lowest loss", 0), 0u) << all_of(told);
    const bool better = best.largest().comparison && best.largest().comparison->decision == Decision::better;
    (better ? carried : not_carried) += s.baseline != 0;
    EXPECT_EQ(says(told, " It reaches the loss of sinusoidal with"), better && s.baseline != 0)
        << all_of(told);
    EXPECT_EQ(says(told, "no inference"), seeds == 1);
    EXPECT_EQ(where_compared(s).empty(), std::none_of(s.arms.begin(), s.arms.end(), [](const ArmSummary& a) {
                return std::any_of(a.by_length.begin(), a.by_length.end(),
                                   [](const auto& l) { return l.comparison.has_value(); });
              }));
    // The interval in words is the one of the table, of the difference by itself.
    const Estimate& d = best.largest().difference;
    if (s.baseline != 0) {
      EXPECT_TRUE(says(told, text(" That is ", fixed(std::abs(d.mean), 3),
                                  seeds == 1 ? "" : text(" ± ", fixed(d.half_width, 3)),
                                  d.mean < 0 ? " below sinusoidal." : " above sinusoidal.")))
          << all_of(told);
    }
    const bool alone = std::all_of(s.arms.begin() + 1, s.arms.end(), [](const ArmSummary& a) {
      return a.to_best->decision == Decision::worse;
    });
    if (seeds > 1) {
      EXPECT_EQ(says(told, " or an arm that is not told apart from it"), !alone) << all_of(told);
    }
    bool lower = true;
    for (const ArmSummary& a : s.arms)
      lower &= a.largest().nats.mean <= s.reference->pairs - s.config.smallest_effect;
    EXPECT_EQ(says(told, "Every arm has a lower loss than"), lower) << all_of(told);
    EXPECT_EQ(family_size(s), 3u);
    for (const char* never : {"…", "nan", "who knows", "better than", "shrinks", "ahead"})
      EXPECT_FALSE(says(told, never)) << all_of(told);
  }
  EXPECT_TRUE(carried > 20 && not_carried > 20) << carried << ", " << not_carried;
}

TEST(Words, AnInspectionRaisesTheLossOnlyWhereTheIntervalSaysSo) {
  static const std::regex by("(raises|lowers) the loss by ([0-9.]+) ± ([0-9.]+)");
  Draws draws("inspections");
  int apart = 0, open = 0;
  for (int n = 0; n < 500; ++n) {
    Inspected in;
    const auto change = [&](const char* what) {
      const double loss = draws.normal();
      return Change{what, loss, n % 7 ? std::abs(draws.normal()) : std::nan("")};
    };
    in.found.shifts = {change("positions + 16")};
    in.found.removals = {change("no positions"), change("layer 0 without position")};
    const auto told = inspect_words(in);
    const std::string all = all_of(told);
    for (auto at = std::sregex_iterator(all.begin(), all.end(), by); at != std::sregex_iterator();
         ++at, ++apart)
      EXPECT_GE(std::stod((*at)[2]), std::stod((*at)[3])) << all;
    const Change& none = in.found.removals.front();
    const char* verb = none.value > none.half_width    ? "Removing all positions raises"
                       : none.value < -none.half_width ? "Removing all positions lowers"
                                                       : "Removing all positions changes";
    EXPECT_TRUE(says(told, verb)) << all;
    open += says(told, "the interval includes 0");
    EXPECT_EQ(all.find("costs"), all.npos) << all;
  }
  EXPECT_TRUE(apart > 50 && open > 50) << apart << ", " << open;
}

}  // namespace
}  // namespace gnomon::pages
