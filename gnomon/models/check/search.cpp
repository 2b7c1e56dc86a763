#include <algorithm>
#include <set>

#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/parts.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/check/search.txt.inc"
    ;

constexpr std::size_t kNearest = 8;  // hypotheses that are looked at closely

struct Tried {
  Hypothesis hypothesis;
  Misfit misfit;
  bool fits() const { return misfit.ratio <= 1; }
  HeldHypothesis held() const { return gnomon::held(hypothesis, misfit); }
};

void sort_by_fit(std::vector<Tried>& tried) {
  std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.fits() ? a.hypothesis.assumes() < b.hypothesis.assumes()
                    : a.misfit.typical() < b.misfit.typical();
  });
}

// Where an error is: "token 511, head 0, channel 3".
std::string words_of(const DumpPlace& place) {
  std::string words;
  const auto add = [&](std::int64_t at, std::string_view what) {
    if (at >= 0) words += text(words.empty() ? "" : ", ", what, " ", at);
  };
  add(place.token, "token"), add(place.head, "head"), add(place.channel, "channel");
  return words;
}

// How far the numbers are from the same spec without its fault.
void tell_fault(const Hypothesis& best, const Judge& full, Checked& c) {
  if (!c.named || !c.best.faulty) return;
  const Misfit right = full(best.mended());
  const std::string where = words_of(right.place);
  if (where.empty()) return;
  c.evidence.push_back({"without_fault_error", right.error});
  const auto add = [&](const char* name, std::int64_t at) {
    if (at >= 0) c.evidence.push_back({name, double(at)});
  };
  add("without_fault_token", right.place.token), add("without_fault_head", right.place.head);
  add("without_fault_channel", right.place.channel);
  c.remarks.push_back(said<"error", "place">(kText.at("remark", "without"), text(right.error), where));
}

}  // namespace

void add_expected(const std::vector<Hypothesis>& expected, std::vector<Hypothesis>& plain) {
  std::set<double> shifts{0};
  for (const Hypothesis& h : plain)
    if (!h.shift_is_fault) shifts.insert(h.shift);
  for (Hypothesis h : expected) {
    for (const double shift : shifts) {
      h.shift = shift;
      plain.push_back(h);
    }
  }
}

Hypothesis search(std::vector<Hypothesis> plain, const Search& by, Checked& c) {
  std::vector<Tried> tried, all;
  for (const Hypothesis& h : plain) tried.push_back({h, by.quick(h)});
  sort_by_fit(tried);
  std::vector<HeldHypothesis> sooner;
  for (std::size_t n = kNearest; n < tried.size(); ++n)
    if (!tried[n].hypothesis.expected) sooner.push_back(tried[n].held());
  const auto hold = [&](const Hypothesis& h) { all.push_back({h, by.full(h)}); };
  for (std::size_t n = 0; n < tried.size(); ++n) {
    const Hypothesis& h = tried[n].hypothesis;
    if (n < kNearest || h.expected) hold(h);
    // Faults of what comes nearest; of what fits, to say that it is not they.
    if (n > 0 && !h.expected && (tried[0].fits() || n >= kNearest)) continue;
    for (const auto& faults : by.faults) {
      for (const Hypothesis& faulty : faults(h)) {
        Tried one{faulty, by.quick(faulty)};
        if (one.fits()) one.misfit = by.full(faulty);
        all.push_back(std::move(one));
      }
    }
  }
  if (!tried.empty() && by.others)
    for (const Hypothesis& h : by.others(tried[0].hypothesis)) hold(h);
  std::vector<HeldHypothesis> told;
  for (const Tried& one : all) told.push_back(one.held());
  sooner.insert(sooner.end(), told.begin(), told.end());
  settle(std::move(told), c, sooner);
  for (const Tried& one : all) {
    if (!(one.hypothesis.spec == c.best.spec) || one.hypothesis.apart() != c.best.apart) continue;
    tell_fault(one.hypothesis, by.full, c);
    return one.hypothesis;
  }
  return {};
}

}  // namespace gnomon
