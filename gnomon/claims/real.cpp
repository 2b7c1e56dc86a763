#include "gnomon/claims/real.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/claim.h"
#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"

namespace gnomon::claims {
namespace {

// A number with its interval, and how many cases it is of.
struct Measured {
  double value;
  std::int64_t n = 1;
  double half_width = std::nan("");
};

class Sheet {
 public:
  // What the model has no number for, as the loss of one without a head, is left out.
  void add(std::string_view question, std::string key, std::string name, const Measured& m, int digits = 3) {
    if (!std::isfinite(m.value)) return;
    auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& r) { return r.question == question; });
    if (at == all_.end()) at = all_.insert(at, {question, {}});
    at->numbers.push_back({std::move(key), std::move(name), m.value, m.half_width, m.n, digits});
  }
  std::vector<RealNumbers> in_order() const {
    std::vector<RealNumbers> out;
    for (const Question* q : questions())
      std::copy_if(all_.begin(), all_.end(), std::back_inserter(out),
                   [&](const RealNumbers& r) { return r.question == q->key; });
    return out;
  }

 private:
  std::vector<RealNumbers> all_;
};

// E|cos| of a vector with one of random direction, in d dimensions.
double cosine_by_chance(std::int64_t d) {
  return std::exp(std::lgamma(double(d) / 2) - std::lgamma(double(d + 1) / 2)) / std::sqrt(std::numbers::pi);
}

void about_lengths(const TableLook& t, Sheet& s) {
  s.add("how_loud", "word_length", "mean length of a word vector", {t.word_length, t.words});
  s.add("how_loud", "position_length", "mean length of a position vector", {t.position_length, t.positions});
  s.add("how_loud", "ratio", "length of a position over that of a word", {t.norms.raw, t.positions});
  s.add("how_loud", "ratio_centred", "length of a position over that of a word, both about their means",
        {t.norms.centred, t.positions});
}

void about_meaning(const TableLook& t, Sheet& s) {
  constexpr auto q = "is_meaning_lost";
  const std::int64_t n = std::min(kWordsAsked, t.words);
  s.add(q, "identity", "words that are the nearest to their sum with a position", {t.identity, n});
  s.add(q, "identity_normed", "words that are the nearest to their sum with a position behind the first norm",
        {t.identity_normed, n});
  s.add(q, "neighbours", "of a word's ten nearest words, those nearest to its sum with a position",
        {t.recall, n});
  s.add(q, "neighbours_normed",
        "of a word's ten nearest words, those nearest to its sum with a position behind the first norm",
        {t.recall_normed, n});
  const std::int64_t entries = t.words * t.width, sums = n * t.width;
  s.add(q, "entry", "root mean square of an entry of the word table", {t.entries.deviation, entries}, 4);
  s.add(q, "entry_largest", "largest entry of the word table, in size", {t.entries.largest, entries});
  s.add(q, "entry_within_two", "entries of the word table in [−2, 2]", {t.entries.within_two, entries}, 4);
  s.add(q, "normed_entry", "root mean square of an entry of word and position behind the first norm",
        {t.entries_normed.deviation, sums}, 4);
  s.add(q, "normed_entry_largest", "largest entry of word and position behind the first norm, in size",
        {t.entries_normed.largest, sums});
  s.add(q, "normed_entry_within_two", "entries of word and position behind the first norm in [−2, 2]",
        {t.entries_normed.within_two, sums}, 4);
}

void about_subspaces(const TableLook& t, Sheet& s) {
  constexpr auto o = "is_it_orthogonal", d = "how_many_dimensions";
  s.add(o, "cosine", "mean size of the cosine of a word and a position",
        {t.size_of_cosine, t.words * t.positions});
  s.add(o, "cosine_random", "mean size of the cosine of two vectors of random directions",
        {cosine_by_chance(t.width)});
  s.add(o, "mean_cosine", "cosine of the mean word and the mean position", {t.mean_cosine});
  s.add(o, "within", "share of the positions' variance in the directions that hold 95 % of the words'",
        {t.within});
  s.add(o, "within_chance", "directions that hold 95 % of the words' variance, as a share of all",
        {t.chance});
  s.add(d, "width", "channels of the stream", {double(t.width)}, 0);
  s.add(d, "position_directions", "directions with 95 % of the variance of positions",
        {double(t.components), t.positions}, 0);
  s.add(d, "word_directions", "directions with 95 % of the variance of words",
        {double(t.word_components), t.words}, 0);
  s.add(d, "position_rank", "effective rank of positions", {t.position_rank, t.positions}, 1);
  s.add(d, "word_rank", "effective rank of words", {t.word_rank, t.words}, 1);
  s.add(d, "channels", "rank correlation over channels of the variance of positions with that of words",
        {t.channels, t.width});
}

void about_shape(const TableLook& t, Sheet& s) {
  constexpr auto q = "why_sine_and_cosine";
  s.add(q, "slow", "share of the positions' variance in the slowest tenth of the frequencies",
        {t.slow, t.positions});
  s.add(q, "by_distance", "share of the variance of e·eᵀ that the distance explains",
        {t.by_distance, t.positions});
  s.add(q, "roughness", "|e(p+1) − e(p)|² over |e − mean|²: 2 of random rows", {t.roughness, t.positions}, 4);
}

void about_terms(const Inspection& f, Sheet& s) {
  if (f.terms.empty()) return;
  constexpr auto q = "what_four_terms_do";
  constexpr const char* kKeys[] = {"word", "position"};
  const double heads = double(f.terms.size());
  double rest = 1, positional = 0, small = 0;
  for (const std::int64_t a : {0, 1}) {
    for (const std::int64_t b : {0, 1}) {
      double mean = 0;
      const TermsLook* most = &f.terms.front();
      for (const TermsLook& t : f.terms) {
        mean += t.shares.at(a, b) / heads;
        if (t.shares.at(a, b) > most->shares.at(a, b)) most = &t;
      }
      const std::string key = text(kKeys[a], "_", kKeys[b]), name = text(kKeys[a], "·", kKeys[b]);
      s.add(q, key, text("share of ", name, " in the variance of the first layer's logits, mean over heads"),
            {mean, f.term_windows});
      s.add(q, key + "_most", text("share of ", name, " in the first layer's head where it is largest"),
            {most->shares.at(a, b), f.term_windows, most->half_widths.at(a, b)});
      rest -= mean;
    }
  }
  for (const TermsLook& t : f.terms) {
    positional += (t.shares.at(1, 1) > t.shares.at(0, 0)) / heads;
    small += (std::abs(t.shares.at(0, 1) + t.shares.at(1, 0)) < 0.1) / heads;
  }
  const auto n = std::int64_t(f.terms.size());
  s.add(q, "terms_rest",
        "share of biases and the rest in the variance of the first layer's logits, mean over heads",
        {rest, f.term_windows});
  s.add(q, "terms_positional", "first layer's heads with more position·position than word·word",
        {positional, n});
  s.add(q, "terms_crossless", "first layer's heads whose cross terms are together less than 0.1", {small, n});
}

void about_heads(const Inspection& f, Sheet& s) {
  double by_distance = 0, previous = 0, sinks = 0, mean = 0, least = HUGE_VAL, most = 0;
  std::int64_t n = 0;
  for (const auto& layer : f.heads) {
    for (const HeadWatched& h : layer) {
      ++n, mean += h.habits.distance, by_distance += h.by_distance > 0.5;
      previous += h.habits.type() == "previous token", sinks += h.habits.type() == "sink";
      least = std::min(least, h.habits.distance), most = std::max(most, h.habits.distance);
    }
  }
  if (n == 0) return;
  const auto share = [&](double count) { return Measured{count / double(n), n}; };
  s.add("where_is_order_from", "heads_by_distance",
        "heads in which the distance explains more than half of the logits' variance", share(by_distance));
  s.add("where_is_order_from", "heads_previous", "heads that look mostly at the token before",
        share(previous));
  s.add("what_is_the_clock", "attention_distance",
        text("mean distance that heads look over in windows of ", f.window, ", tokens"), share(mean), 1);
  s.add("what_is_the_clock", "attention_nearest", "mean distance of the head that looks nearest, tokens",
        {least}, 1);
  s.add("what_is_the_clock", "attention_farthest", "mean distance of the head that looks farthest, tokens",
        {most}, 1);
  s.add("how_positions_survive", "sinks", "heads that look mostly at the first token", share(sinks));
}

void about_pairs(const Inspection& f, Sheet& s) {
  constexpr auto q = "what_is_the_clock";
  if (f.pairs.empty()) return;
  // A full turn within the windows, or less than a quarter of one: as turns_within() has it.
  const auto T = double(f.probed);
  const auto turning = [&](std::size_t p) { return 2 * std::numbers::pi / f.frequencies[p] <= T; };
  const auto still = [&](std::size_t p) { return 2 * std::numbers::pi / f.frequencies[p] > 4 * T; };
  const TurnsSeen seen = turns_within(f.frequencies, f.probed);
  const auto pairs = std::int64_t(f.frequencies.size());
  s.add(q, "pairs_turning", text("rotary pairs that turn fully within ", f.probed, " tokens"),
        {double(seen.full) / double(pairs), pairs});
  s.add(q, "pairs_still", text("rotary pairs that turn less than a quarter within ", f.probed, " tokens"),
        {double(seen.constant) / double(pairs), pairs});
  for (std::size_t n = 0; n < f.pairs.size(); ++n) {
    const double heads = double(f.pairs[n].size());
    double fast = 0, slow = 0;
    for (const auto& head : f.pairs[n]) {
      for (std::size_t p = 0; p < head.size(); ++p)
        fast += turning(p) * head[p].share / heads, slow += still(p) * head[p].share / heads;
    }
    const std::string at = text(".", f.pair_layers[n]), layer = text(" in layer ", f.pair_layers[n]);
    s.add(q, "by_turning" + at, text("share of the logits' variance by pairs that turn fully", layer),
          {fast, std::int64_t(heads)});
    s.add(q, "by_still" + at, text("share of the logits' variance by pairs that hardly turn", layer),
          {slow, std::int64_t(heads)});
  }
}

std::string place_of(const Inspection& f, std::size_t l) {
  return l == 0 ? "input" : l + 1 == f.streams.size() ? "last" : text(l);
}
std::string words_of(const Inspection& f, std::size_t l) {
  return l + 1 == f.streams.size() ? "what leaves the last layer" : text("what enters layer ", l);
}

void about_variance(const Inspection& f, Sheet& s) {
  constexpr auto q = "how_positions_survive";
  if (f.streams.empty()) return;
  for (const std::size_t l : {std::size_t{0}, f.streams.size() - 1}) {
    const StreamLook& at = f.streams[l];
    const std::string of = " in the variance of " + words_of(f, l), dot = "." + place_of(f, l);
    s.add(q, "position_share" + dot, "share of the position" + of,
          {at.variance.position, f.stream_windows, at.half_width.position}, 4);
    s.add(q, "word_share" + dot, "share of the word" + of,
          {at.variance.token, f.stream_windows, at.half_width.token}, 4);
    s.add(q, "context_share" + dot, "share of neither" + of,
          {at.variance.rest, f.stream_windows, at.half_width.rest}, 4);
  }
  const auto longest = std::max_element(f.streams.begin(), f.streams.end(), [](const auto& a, const auto& b) {
    return a.first_length < b.first_length;
  });
  s.add(q, "first_length", "length of a window's first token over that of the others, where it is largest",
        {longest->first_length, f.stream_windows}, 1);
  s.add(q, "first_length_layer", "layer in front of which a window's first token is longest",
        {double(longest - f.streams.begin())}, 0);
}

void about_probes(const Inspection& f, Sheet& s) {
  constexpr auto q = "how_positions_survive";
  const std::int64_t told = f.stream_windows / 5;  // the last 20 %
  for (std::size_t l = 0; l < f.streams.size(); ++l) {
    const StreamLook& at = f.streams[l];
    if (at.probe)
      s.add(q, "probe." + place_of(f, l),
            text("error of a linear probe of the position in ", words_of(f, l), ", tokens"),
            {at.probe->error, told}, 1);
    if (at.untrained)
      s.add(
          q, "probe_untrained." + place_of(f, l),
          text("error of a linear probe of the position in ", words_of(f, l), " with random weights, tokens"),
          {at.untrained->error, told}, 1);
  }
  if (!f.word_probe) return;
  s.add(q, "probe_words", "error of a linear probe of the position in the words alone, tokens",
        {f.word_probe->error, told}, 1);
  s.add(q, "probe_guess", "error of a constant guess of the position, tokens", {double(f.probed) / 4}, 1);
}

void about_changes(const Inspection& f, Sheet& s) {
  const bool rows = f.measure == Measure::rows;
  const std::string unit = text(unit_of(f.measure), rows ? "" : " more");
  const auto cost = [&](const Change& c) { return Measured{c.value, f.changed_windows, c.half_width}; };
  for (const Change& c : f.shifts)
    s.add("why_not_index", "shift." + c.what.substr(c.what.rfind(' ') + 1), text("all ", c.what, ": ", unit),
          cost(c), rows ? 4 : 7);
  if (f.removals.empty()) return;
  s.add("is_order_implicit", "without", text("without any position: ", unit), cost(f.removals.front()));
  std::vector<const Change*> layers;
  for (std::size_t n = 1; n < f.removals.size(); ++n) layers.push_back(&f.removals[n]);
  if (layers.empty()) return;
  std::sort(layers.begin(), layers.end(),
            [](const Change* a, const Change* b) { return a->value < b->value; });
  const Change &most = *layers.back(), &middle = *layers[layers.size() / 2];
  constexpr auto q = "how_positions_survive";
  s.add(q, "without_layer_most", text("without position in the one layer where it costs most: ", unit),
        cost(most));
  s.add(q, "without_layer_most_at", "layer in which losing the position costs most",
        {double(
            std::find_if(f.removals.begin(), f.removals.end(), [&](const Change& c) { return &c == &most; }) -
            f.removals.begin() - 1)},
        0);
  s.add(q, "without_layer_median", text("without position in one layer, the middle one by cost: ", unit),
        cost(middle));
}

void about_losses(const Inspection& f, Sheet& s) {
  constexpr auto q = "is_order_implicit";
  if (f.by_place.empty()) return;
  const LossAt &first = f.by_place.front(), &last = f.by_place.back();
  if (f.loss)
    s.add(q, "loss", std::string(unit_of(f.measure)), {f.loss->mean, f.loss_windows, f.loss->half_width});
  s.add(q, "loss_first",
        text(unit_of(f.measure), " in the first places of windows of ", grouped(double(f.loss_window))),
        {first.nats, f.loss_windows, first.half_width});
  s.add(q, "loss_last", text(unit_of(f.measure), " from place ", grouped(double(last.first)), " on"),
        {last.nats, f.loss_windows, last.half_width});
}

}  // namespace

std::vector<RealNumbers> real_numbers(const Inspection& f) {
  Sheet s;
  if (f.table)
    about_lengths(*f.table, s), about_meaning(*f.table, s), about_subspaces(*f.table, s),
        about_shape(*f.table, s);
  about_terms(f, s), about_heads(f, s), about_pairs(f, s), about_variance(f, s), about_probes(f, s);
  about_changes(f, s), about_losses(f, s);
  return s.in_order();
}

}  // namespace gnomon::claims
