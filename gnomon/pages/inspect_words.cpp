#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/inspect.h"

namespace gnomon::pages {
namespace {

std::string percent(double share) { return text(grouped(100 * share, share < 0.0995 ? 1 : 0), " %"); }

void about_table(const Inspected& in, std::vector<std::string>& all) {
  if (!in.found.table) return;
  const TableLook& t = *in.found.table;
  all.push_back(text("A position vector is ", grouped(t.norms.raw, 2), " times as long as a word vector, or ",
                     grouped(t.norms.centred, 2), " times after subtracting both means. ", t.components,
                     " of ", t.width, " directions hold 95 % of the variance of the ", t.positions,
                     " positions."));
  all.push_back(text("The word subspace, the directions with 95 % of the variance of words, holds ",
                     percent(t.within), " of the variance of positions; in random directions it would be ",
                     percent(t.chance), ". The cosine of the mean word and the mean position is ",
                     grouped(t.mean_cosine, 2), "."));
  all.push_back(text("Of the 10 nearest neighbours of a word, ", percent(t.recall),
                     " stay when a position is added, and ", percent(t.recall_normed),
                     " after the norm of the embedding. The position is ", grouped(t.norms.raw, 2),
                     " times as long as the word."));
}

void about_terms(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.terms.empty()) return;
  // Rows and columns: word, position, types and the norm's bias, biases of the projections.
  double ww = 0, cross = 0, pp = 0;
  std::size_t by_position = 0;
  for (const TermsLook& look : in.found.terms) {
    const Matrix& t = look.shares;
    const double n = double(in.found.terms.size());
    ww += t.at(0, 0) / n, cross += (t.at(0, 1) + t.at(1, 0)) / n, pp += t.at(1, 1) / n;
    by_position += t.at(1, 1) > t.at(0, 0);
  }
  all.push_back(text("Shares of the variance of the logits in the first layer: word with word ", percent(ww),
                     ", word with position ", percent(cross), ", position with position ", percent(pp),
                     ", biases and token type ", percent(1 - ww - cross - pp),
                     " (mean over heads; a negative share varies against the total). In ", by_position,
                     " of ", in.found.terms.size(),
                     " heads, position with position has a larger share than word with word."));
}

// "none", "one", "two": small numbers read as words.
std::string number_word(int n) {
  constexpr const char* kWords[] = {"none", "one",   "two",   "three", "four", "five",
                                    "six",  "seven", "eight", "nine",  "ten"};
  return n >= 0 && n < int(std::size(kWords)) ? kWords[n] : grouped(n);
}
std::string looks(int n) { return text(number_word(n), n == 1 ? " looks" : " look"); }

void about_heads(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.heads.empty()) return;
  std::map<std::string, int> types;
  int count = 0, positional = 0;
  for (const auto& layer : in.found.heads) {
    for (const HeadWatched& h : layer)
      ++types[std::string(h.habits.type())], ++count, positional += h.by_distance > 0.5;
  }
  all.push_back(text("Of ", counted(std::size_t(count), "head"), ", ", looks(types["previous token"]),
                     " mostly at the previous token and ", number_word(types["sink"]), " at the first; in ",
                     number_word(positional),
                     ", distance explains over half of the variance of the logits."));
}

void about_streams(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.streams.empty()) return;
  const StreamLook &first = in.found.streams.front(), &last = in.found.streams.back();
  std::string said = text("Position explains ", percent(first.variance.position),
                          " of the variance of the residual stream before the first layer and ",
                          percent(last.variance.position), " after the last. The word itself explains ",
                          percent(first.variance.token), " and ", percent(last.variance.token), ".");
  if (first.probe && last.probe && in.found.word_probe)
    said += text(" A linear probe reads the position with a mean error of ", grouped(first.probe->error, 1),
                 " tokens before the first layer and ", grouped(last.probe->error, 1),
                 " after the last. For comparison: words alone ", grouped(in.found.word_probe->error, 1),
                 last.untrained ? text(", the end of the same architecture with random weights ",
                                       grouped(last.untrained->error, 1))
                                : "",
                 ", a constant guess ", grouped(double(in.found.probed) / 4, 1), ".");
  all.push_back(said);
  const auto longest =
      std::max_element(in.found.streams.begin(), in.found.streams.end(),
                       [](const auto& a, const auto& b) { return a.first_length < b.first_length; });
  if (longest->first_length > 4)
    all.push_back(text("The vector of the first token in a window becomes ", grouped(longest->first_length),
                       " times as long as the others (before layer ", longest - in.found.streams.begin(),
                       "), so these shares leave it out."));
}

void about_loss(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.by_place.empty()) return;
  const LossAt &first = in.found.by_place.front(), &last = in.found.by_place.back();
  all.push_back(text("The loss on the text is ", within(in.found.loss->mean, in.found.loss->half_width, 3),
                     " ", unit_of(in.found.measure), ": ", grouped(first.nats, 2),
                     " at the beginning of a window, ", grouped(last.nats, 2), " from token ",
                     grouped(double(last.first)), " on."));
}

std::string told(const Inspected& in, const Change& c) {
  if (in.found.measure == Measure::rows)
    return text("changes the mean output vector by ", significant(c.value), " (1 − cosine)");
  const std::string unit(unit_of(in.found.measure));
  const double half_width = std::isnan(c.half_width) ? 0 : c.half_width;
  if (std::abs(c.value) + half_width < 5e-4) return text("changes the loss by less than 0.001 ", unit);
  // never a direction without an interval
  if (std::abs(c.value) > c.half_width)
    return text(c.value > 0 ? "raises" : "lowers", " the loss by ",
                within(std::abs(c.value), c.half_width, 3), " ", unit);
  return text("changes the loss by ", within(c.value, c.half_width, 3), " ", unit,
              ", and the interval includes 0");
}

void about_changes(const Inspected& in, std::vector<std::string>& all) {
  if (!in.found.shifts.empty()) {
    const Change& most = in.found.shifts.back();
    all.push_back(text("Reading the same text at ", most.what, " ", told(in, most), "."));
  }
  for (const Change& c : in.found.removals)
    if (c.what == "no positions") all.push_back(text("Removing all positions ", told(in, c), "."));
  const auto worst = std::max_element(
      in.found.removals.begin(), in.found.removals.end(), [](const Change& a, const Change& b) {
        const auto of = [](const Change& c) { return c.what == "no positions" ? -HUGE_VAL : c.value; };
        return of(a) < of(b);
      });
  if (worst != in.found.removals.end() && worst->what != "no positions")
    all.push_back(text("The largest change from one layer: ", worst->what, " ", told(in, *worst), "."));
  const auto head =
      std::max_element(in.found.head_removals.begin(), in.found.head_removals.end(),
                       [](const auto& a, const auto& b) { return a.change.value < b.change.value; });
  if (head != in.found.head_removals.end())
    all.push_back(
        text("The largest change from one head: ", head->change.what, " ", told(in, head->change), "."));
}

void about_beyond(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.readings.empty()) return;
  std::int64_t longest = 0;
  for (const LongReading& r : in.found.readings) longest = std::max(longest, r.tokens);
  const LongReading* best = nullptr;
  std::string others;
  for (const LongReading& r : in.found.readings) {
    if (r.tokens != longest) continue;
    if (!best || r.nats < best->nats) best = &r;
  }
  for (const LongReading& r : in.found.readings) {
    if (r.tokens == longest && &r != best)
      others += text(others.empty() ? "" : ", ", r.way, " ", grouped(r.nats, 3));
  }
  all.push_back(text("In windows of ", grouped(double(longest)), " tokens, without training, ", best->way,
                     " has the lowest loss: ", within(best->nats, best->half_width, 3), " ",
                     unit_of(in.found.measure), others.empty() ? "" : text(" (", others, ")"), "."));
}

}  // namespace

std::string within(double value, double half_width, int digits) {
  const std::string alone = grouped(value, digits);
  return std::isnan(half_width) ? alone : text(alone, " ± ", grouped(half_width, digits));
}

std::string how_masked(const Inspection& f) {
  if (!f.masking) return {};
  return text("Losses are over masked tokens: ", grouped(100 * Masking::kScored),
              " % of each window, chosen and replaced by BERT's rule with seed ", f.masking->seed, ".");
}

std::string what_was_read(const Inspected& in) {
  if (in.component == "encoder") return "This is the encoder alone, without its decoder.";
  if (in.component == "decoder")
    return "This is the decoder. The encoder reads as many tokens before each window as the window has; the "
           "decoder "
           "then reads the text itself and predicts each token. Positions are moved and removed in the "
           "decoder alone; "
           "its cross attention has none.";
  return {};
}

std::vector<std::string> inspect_words(const Inspected& in) {
  std::vector<std::string> all;
  about_table(in, all), about_terms(in, all), about_heads(in, all), about_streams(in, all),
      about_changes(in, all), about_loss(in, all);
  about_beyond(in, all);
  if (in.found.masking) all.push_back(how_masked(in.found));
  if (!in.component.empty()) all.push_back(what_was_read(in));
  return all;
}

}  // namespace gnomon::pages
