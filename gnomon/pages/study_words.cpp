#include "gnomon/pages/study_words.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/study_predictions.h"

namespace gnomon::pages {
namespace {

constexpr double kMuch = 0.1;  // nats that an arm loses in longer windows before it is called out

std::string amount(double bytes) {
  if (bytes < 1e4) return grouped(bytes) + " bytes";
  return bytes < 1e6 ? text(fixed(bytes / 1e3, 0), " thousand bytes")
                     : text(fixed(bytes / 1e6, 1), " million bytes");
}

std::string listed(const std::vector<std::string>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    out += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  return out;
}

bool inference(const StudySummary& s) { return s.arms.front().largest().nats.n > 1; }

std::string the_best(const StudySummary& s) {
  const ArmSummary& best = s.arms.front();
  const AtBudget& at = best.largest();
  std::string out =
      text(best.arm, " has the lowest loss: ", interval_text(at.nats, 3), " ", s.unit, " after ",
           amount(double(at.tokens)), " of training (", counted(at.runs.size(), "seed"), ").");
  if (s.baseline == 0 || at.difference.n == 0) return out;
  const Estimate& d = at.difference;
  out += text(" That is ", fixed(std::abs(d.mean), kLossDigits),
              std::isnan(d.half_width) ? "" : " ± " + fixed(d.half_width, kLossDigits),
              d.mean < 0 ? " below " : " above ", s.arms[s.baseline].arm, ".");
  const bool better = at.comparison && at.comparison->decision == Decision::better;
  if (better && best.speed_up && std::isfinite(best.speed_up->factor) && best.speed_up->factor > 1) {
    const bool less = best.speed_up->bound == SpeedUp::Bound::at_least;
    out += text(" It reaches the loss of ", s.arms[s.baseline].arm, " with ", less ? "less than " : "about ",
                fixed(100 / best.speed_up->factor, 0), " % of the computing (by a curve through ",
                counted(best.budgets.size(), "budget"), ").");
  }
  return out;
}

std::vector<std::string> not_told_apart(const StudySummary& s) {
  std::vector<std::string> equal, open;
  for (const ArmSummary& a : s.arms) {
    if (!a.to_best) continue;
    const std::string with = text(a.arm, " (", signed_text(a.to_best->difference.mean, 3), ")");
    if (a.to_best->decision == Decision::equivalent) equal.push_back(with);
    if (a.to_best->decision == Decision::undecided) open.push_back(with);
  }
  std::vector<std::string> out;
  if (!equal.empty())
    out.push_back(text("Equivalent to ", s.arms.front().arm, " within ", shortest(s.config.smallest_effect),
                       " nats, declared too small to matter: ", listed(equal), "."));
  if (!open.empty())
    out.push_back(text("Not told apart from ", s.arms.front().arm, " with ",
                       counted(std::size_t(s.config.seeds), "seed"), ": ", listed(open), "."));
  const auto undecided = [](const ArmSummary& a) {
    return a.largest().comparison && a.largest().comparison->decision == Decision::undecided;
  };
  std::vector<std::string> from_baseline;
  for (const ArmSummary& a : s.arms) {
    if (undecided(a))
      from_baseline.push_back(text(a.arm, " (", signed_text(a.largest().difference.mean, 3), "; ",
                                   "detectable from ", fixed(a.detectable, 3), ")"));
  }
  if (!from_baseline.empty())
    out.push_back(text("Not told apart from ", s.arms[s.baseline].arm, ": ", listed(from_baseline), "."));
  return out;
}

// Of windows of the longest length that was evaluated.
std::vector<std::string> longer_windows(const StudySummary& s) {
  const auto longest =
      std::max_element(s.config.lengths.begin(), s.config.lengths.end()) - s.config.lengths.begin();
  const auto own =
      std::find(s.config.lengths.begin(), s.config.lengths.end(), 1.0) - s.config.lengths.begin();
  if (longest == own) return {};
  const ArmSummary* best = nullptr;
  std::vector<std::string> worse, undefined;
  std::size_t defined = 0;
  for (const ArmSummary& a : s.arms) {
    if (a.largest().runs.empty()) continue;
    const auto &there = a.by_length[std::size_t(longest)].nats, &here = a.by_length[std::size_t(own)].nats;
    if (!there) {
      undefined.push_back(a.arm);
      continue;
    }
    ++defined;
    if (!best || there->mean < best->by_length[std::size_t(longest)].nats->mean) best = &a;
    if (here && there->mean > here->mean + kMuch)
      worse.push_back(text(a.arm, " (", signed_text(there->mean - here->mean, 2), ")"));
  }
  if (!best) return {};
  const auto &there = *best->by_length[std::size_t(longest)].nats,
             &here = *best->by_length[std::size_t(own)].nats;
  std::string out =
      text("In windows of ", s.config.tokens_at(s.config.lengths[std::size_t(longest)]), " bytes (",
           shortest(s.config.lengths[std::size_t(longest)]), " times the training length) ", best->arm,
           " has the lowest loss over the last ", s.config.score, " bytes: ", interval_text(there, 3),
           " nats, against ", interval_text(here, 3), " in windows of the training length.");
  if (worse.size() == defined)
    out += text(" Every arm loses more than ", shortest(kMuch), " nats there.");
  else if (!worse.empty())
    out += text(" These lose more than ", shortest(kMuch), " nats there: ", listed(worse), ".");
  if (!undefined.empty()) out += text(" Not defined there: ", listed(undefined), ".");
  return {out};
}

std::vector<std::string> at_which_budgets(const StudySummary& s) {
  std::vector<std::string> best;
  std::set<std::string> arms;
  for (std::size_t b = 0; b < s.config.budgets.size(); ++b) {
    const ArmSummary* lowest = nullptr;
    for (const ArmSummary& a : s.arms) {
      if (a.budgets[b].runs.empty()) continue;
      if (!lowest || a.budgets[b].nats.mean < lowest->budgets[b].nats.mean) lowest = &a;
    }
    if (!lowest) continue;
    arms.insert(lowest->arm);
    best.push_back(text(lowest->arm, " after ", amount(double(lowest->budgets[b].tokens))));
  }
  if (best.size() < 2) return {};
  std::vector<std::string> out{
      arms.size() == 1 ? text(*arms.begin(), " has the lowest loss at ",
                              best.size() == 2 ? std::string("both") : text("all ", best.size()), " budgets.")
                       : text("Lowest loss at each budget: ", listed(best), ".")};
  std::vector<std::string> turned;
  for (const ArmSummary& a : s.arms) {
    const auto says = [&](const AtBudget& b, Decision d) {
      return b.comparison && b.comparison->decision == d;
    };
    bool better = false, worse = false;
    for (const AtBudget& b : a.budgets)
      better |= says(b, Decision::better), worse |= says(b, Decision::worse);
    if (better && worse) turned.push_back(a.arm);
  }
  if (!turned.empty())
    out.push_back(text("The verdict against ", s.arms[s.baseline].arm, " reverses between budgets for ",
                       listed(turned), ": do not apply it to other budgets."));
  return out;
}

// Of a text: who has learned no more than counting.
std::vector<std::string> plateau(const StudySummary& s) {
  if (!s.reference) return {};
  const bool causal = s.config.model.is_causal();
  const double yardstick = causal ? s.reference->pairs : s.reference->letters;
  std::vector<std::string> stuck;
  for (const ArmSummary& a : s.arms) {
    if (!a.largest().runs.empty() && a.largest().nats.mean > yardstick - s.config.smallest_effect)
      stuck.push_back(a.arm);
  }
  const std::string what =
      text(causal ? "a bigram model (" : "a unigram model (", fixed(yardstick, 3), " ", s.unit, ")");
  if (stuck.empty()) return {text("Every arm has a lower loss than ", what, ".")};
  return {text("Still on the first plateau, with no lower loss than ", what, ": ", listed(stuck),
               ". The rank of such an arm shows only how slowly it starts.")};
}

// Of a task: who solves it, within the lengths of training and beyond.
std::vector<std::string> solved(const StudySummary& s) {
  if (!s.metric) return {};
  std::vector<std::string> out;
  for (std::size_t l = 0; l < s.arms.front().by_length.size(); ++l) {
    std::vector<std::string> who;
    for (const ArmSummary& a : s.arms) {
      if (l < a.by_length.size() && a.by_length[l].solved > 0)
        who.push_back(
            text(a.arm, " (", a.by_length[l].solved, " of ", counted(a.largest().runs.size(), "seed"), ")"));
    }
    const double length = s.arms.front().by_length[l].factor;
    out.push_back(text(who.empty() ? "No arm" : listed(who), who.size() > 1 ? " reach " : " reaches ",
                       shortest(kSolved), " in ", name(*s.metric),
                       length > 0 ? text(" at length ", shortest(length)) : "", "."));
  }
  return out;
}

// Advice for windows of the longest length, of a text.
std::string for_longer_windows(const StudySummary& s) {
  const auto& lengths = s.arms.front().by_length;
  std::size_t longest = 0, own = 0;
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    if (lengths[l].factor > lengths[longest].factor) longest = l;
    if (lengths[l].factor == 1) own = l;
  }
  const ArmSummary* best = nullptr;
  for (const ArmSummary& a : s.arms) {
    if (longest >= a.by_length.size() || !a.by_length[longest].nats) continue;
    if (!best || a.by_length[longest].nats->mean < best->by_length[longest].nats->mean) best = &a;
  }
  if (s.metric || longest == own || !best) return "";
  const auto& here = best->by_length[own].nats;
  const double lost = here ? best->by_length[longest].nats->mean - here->mean : 0;
  if (lost > kMuch)
    return text("; for windows longer than in training take none of these: even ", best->arm,
                ", the lowest there, loses ", fixed(lost, 2), " nats against windows of the training length");
  return best == &s.arms.front() ? "" : text("; for windows longer than in training take ", best->arm);
}

std::string what_to_do(const StudySummary& s) {
  const bool others = std::any_of(s.arms.begin(), s.arms.end(), [](const ArmSummary& a) {
    return a.to_best && a.to_best->decision != Decision::worse;
  });
  return text("What to do: at a budget like this one take ", s.arms.front().arm,
              inference(s) && others ? " or an arm that is not told apart from it" : "",
              for_longer_windows(s), inference(s) ? "." : "; run more seeds before you rely on it.");
}

}  // namespace

std::string interval_text(const Estimate& e, int digits) {
  return std::isnan(e.half_width) ? fixed(e.mean, digits)
                                  : text(fixed(e.mean, digits), " ± ", fixed(e.half_width, digits));
}

std::string signed_text(double x, int digits) {
  const std::string size = grouped(std::abs(x), digits);
  return (x < 0 ? "−" : "+") + size;
}

std::string signed_interval(const Estimate& e) {
  if (e.n == 0) return "–";
  return signed_text(e.mean, kLossDigits) +
         (std::isnan(e.half_width) ? "" : " ± " + fixed(e.half_width, kLossDigits));
}

std::size_t family_size(const StudySummary& s) {
  std::size_t n = 0;
  for (const ArmSummary& a : s.arms) {
    n += a.largest().comparison.has_value();
    for (const auto& l : a.by_length) n += l.comparison.has_value();
  }
  return n;
}

std::string_view where_compared(const StudySummary& s) {
  const bool longer = std::any_of(s.arms.begin(), s.arms.end(), [](const ArmSummary& a) {
    return std::any_of(a.by_length.begin(), a.by_length.end(),
                       [](const auto& l) { return l.comparison.has_value(); });
  });
  return longer ? ", at the training length and at twice it" : "";
}

std::vector<std::string> study_answers(const StudySummary& s) {
  if (s.arms.front().largest().runs.empty()) return {"No training of the largest budget has finished yet."};
  std::vector<std::string> all;
  const auto add = [&](std::vector<std::string> more) { all.insert(all.end(), more.begin(), more.end()); };
  if (!inference(s)) all.push_back("One seed: no inference; the results below may be chance.");
  all.push_back(the_best(s));
  if (inference(s)) add(not_told_apart(s));
  if (!s.metric) add(longer_windows(s));
  add(at_which_budgets(s));
  add(plateau(s));
  add(solved(s));
  if (std::string sentence = predictions_sentence(judge(s)); !sentence.empty())
    all.push_back(std::move(sentence));
  all.push_back(what_to_do(s));
  return all;
}

}  // namespace gnomon::pages
