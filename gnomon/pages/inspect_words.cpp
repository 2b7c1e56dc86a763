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
  all.push_back(text("A position is ", grouped(t.norms.raw, 2), " times as long as a word (",
                     grouped(t.norms.centred, 2), " times about their means), and ", t.components, " of ",
                     t.width, " directions hold 95 % of what the ", t.positions, " positions differ in. ",
                     percent(t.within),
                     " of that lies in the directions that hold 95 % of what words differ in, which are ",
                     percent(t.chance), " of all."));
  all.push_back(text("Of the 10 nearest words of a word, ", percent(t.recall),
                     " are nearest still when a position is added, ", percent(t.recall_normed),
                     " after the norm of the embedding."));
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
  all.push_back(text("In the first layer word with word makes ", percent(ww),
                     " of the variance of the logits, word with position ", percent(cross),
                     ", position with position ", percent(pp),
                     " (mean over heads; the rest is of biases); in ", by_position, " of ",
                     in.found.terms.size(), " heads position with position is more than word with word."));
}

void about_heads(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.heads.empty()) return;
  std::map<std::string, int> types;
  int count = 0, positional = 0;
  for (const auto& layer : in.found.heads) {
    for (const HeadWatched& h : layer)
      ++types[std::string(h.habits.type())], ++count, positional += h.by_distance > 0.5;
  }
  all.push_back(text("Of ", count, " heads ", types["previous token"],
                     " look mostly at the token before and ", types["sink"], " mostly at the first; of ",
                     positional, " the distance explains more than half of the logits' variance."));
}

void about_streams(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.streams.empty()) return;
  const StreamLook &first = in.found.streams.front(), &last = in.found.streams.back();
  std::string said = text("Position makes ", percent(first.variance.position),
                          " of the variance of what enters the first layer and ",
                          percent(last.variance.position), " of what leaves the last; the word itself ",
                          percent(first.variance.token), " and ", percent(last.variance.token), ".");
  if (first.probe && last.probe && in.found.word_probe)
    said += text(
        " A linear probe reads the position to ", grouped(first.probe->error, 1), " tokens there and to ",
        grouped(last.probe->error, 1), " here (from the words alone ", grouped(in.found.word_probe->error, 1),
        last.untrained
            ? text("; at the end of the same model before training ", grouped(last.untrained->error, 1))
            : "",
        "; a constant guess ", grouped(double(in.found.probed) / 4, 1), ").");
  all.push_back(said);
  const auto longest =
      std::max_element(in.found.streams.begin(), in.found.streams.end(),
                       [](const auto& a, const auto& b) { return a.first_length < b.first_length; });
  if (longest->first_length > 4)
    all.push_back(text("The first token of a window becomes ", grouped(longest->first_length),
                       " times as long as the others (before layer ", longest - in.found.streams.begin(),
                       "); it is left out of these shares."));
}

void about_loss(const Inspected& in, std::vector<std::string>& all) {
  if (in.found.by_place.empty()) return;
  const LossAt &first = in.found.by_place.front(), &last = in.found.by_place.back();
  all.push_back(text("The text costs ", grouped(in.found.loss->mean, 3), " ± ",
                     grouped(in.found.loss->half_width, 3), " nats a token: ", grouped(first.nats, 2),
                     " at the beginning of a window, ", grouped(last.nats, 2), " from token ",
                     grouped(double(last.first)), " on."));
}

std::string told(const Change& c) {
  if (std::isnan(c.loss))
    return text("changes the mean of the rows by ", significant(c.pooled), " (1 − cosine)");
  return text("costs ", grouped(c.loss, 3),
              std::isnan(c.half_width) ? "" : text(" ± ", grouped(c.half_width, 3)), " nats a token");
}

double cost(const Change& c) { return std::isnan(c.loss) ? c.pooled : c.loss; }

void about_changes(const Inspected& in, std::vector<std::string>& all) {
  if (!in.found.shifts.empty()) {
    const Change& most = in.found.shifts.back();
    all.push_back(text("The same text at ", most.what, " ", told(most), "."));
  }
  for (const Change& c : in.found.removals)
    if (c.what == "no positions") all.push_back(text("Without any position it ", told(c), "."));
  const auto worst = std::max_element(
      in.found.removals.begin(), in.found.removals.end(), [](const Change& a, const Change& b) {
        const auto of = [](const Change& c) {
          return c.what == "no positions" || std::isnan(c.loss) ? -1e9 : c.loss;
        };
        return of(a) < of(b);
      });
  if (worst != in.found.removals.end() && worst->what != "no positions")
    all.push_back(text("Of single layers the dearest is: ", worst->what, ", which ", told(*worst), "."));
  const auto head =
      std::max_element(in.found.head_removals.begin(), in.found.head_removals.end(),
                       [](const auto& a, const auto& b) { return cost(a.change) < cost(b.change); });
  if (head != in.found.head_removals.end())
    all.push_back(text("Of single heads: ", head->change.what, ", which ", told(head->change), "."));
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
                     " is lowest: ", grouped(best->nats, 3), " ± ", grouped(best->half_width, 3),
                     " nats a token", others.empty() ? "" : text(" (", others, ")"), "."));
}

}  // namespace

std::vector<std::string> inspect_words(const Inspected& in) {
  std::vector<std::string> all;
  about_table(in, all), about_terms(in, all), about_heads(in, all), about_streams(in, all),
      about_changes(in, all), about_loss(in, all);
  about_beyond(in, all);
  return all;
}

}  // namespace gnomon::pages
