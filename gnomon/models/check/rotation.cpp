// Rows of q and k before and after their rotation.
#include <algorithm>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/placement.h"
#include "gnomon/models/check/rows.h"
#include "gnomon/models/check/streams.h"

namespace gnomon {
namespace {

constexpr std::int64_t kQuickTokens = 256, kMostTokens = 4096;
// Numbers that the hypotheses are held against at first, and those of the nearest: few tokens of wide layers suffice.
constexpr std::int64_t kQuick = 1 << 17, kFull = 1 << 19;
constexpr std::int64_t kAll = 1 << 23;  // numbers of rows all of whose tokens are looked at
constexpr double kStrained = 0.05;      // of rows that no pairing turns

// Rows, and the ways to read them as pairs.
struct Seen {
  Rows rows;
  std::vector<Reading> ways;  // of the few tokens
  std::vector<std::int64_t> few, many;
};

// Which index counts tokens: the one by which the rows of all heads turn alike.
std::optional<Seen> see(const DumpedArray& before, const DumpedArray& after, const Asked& asked) {
  std::optional<Rows> rows;
  std::vector<Reading> ways;
  const auto known = asked.positions_given ? std::int64_t(asked.positions.size()) / asked.streams
                                           : std::int64_t(asked.documents.size());
  for (const bool tokens_first : {true, false}) {
    if (before.shape.size() == 2 && !tokens_first) continue;
    const Rows as = rows_of(before, after, tokens_first);
    if (known && as.T != known) continue;
    auto found = readings(as, as.tokens(kQuick, kQuickTokens));
    if (found.empty()) continue;
    const bool better = !rows || found[0].strain < 0.5 * ways[0].strain ||
                        (found[0].strain <= 2 * ways[0].strain && as.T > rows->T);
    if (better) rows = as, ways = std::move(found);
  }
  if (!rows) return std::nullopt;
  return Seen{*rows, std::move(ways), rows->tokens(kQuick, kQuickTokens), rows->tokens(kFull, kMostTokens)};
}

// The search among rotations of one answer: what is tried, and by which positions.
class Look {
 public:
  Look(const Seen& seen, const Asked& asked, std::vector<double> positions)
      : seen_(seen), asked_(asked), values_(std::move(positions)), positions_(values_, 1, asked.streams) {
    places_ = places_of(seen.few, positions_);
  }
  Checked answer(const Checked& blank) const {
    Checked c = blank;
    std::vector<Hypothesis> plain = asked_.streams == 1 ? by_turns(SecondTurn::no) : by_streams(false);
    add_told(plain);
    if (ask(plain, c)) return c;
    const auto better = [&](std::vector<Hypothesis> others) {
      Checked other = blank;
      const bool fits = ask(std::move(others), other);
      if (fits) c = std::move(other);
      return fits;
    };
    if (asked_.streams > 1) {
      better(by_streams(true));
    } else if (!better(by_turns(SecondTurn::alike)) && strained() &&
               !better(hypotheses_of_strain(seen_.rows, asked_))) {
      better(hypotheses_of_sought_strain(seen_.rows, positions_));
    }
    if (!c.named && strained())
      c.remarks.push_back(text("the length of pairs changes, or heads rotate differently, by ",
                               fixed(100 * seen_.ways[0].strain, 0),
                               " % even with the best choice of pairs"));
    return c;
  }

 private:
  bool strained() const { return seen_.ways[0].strain > kStrained; }
  std::vector<Hypothesis> by_turns(SecondTurn again) const {
    std::vector<Hypothesis> all;
    for (const Reading& way : seen_.ways) {
      const Turned turned{std::int64_t(seen_.few.size()), way.window.channels / 2, way.z, places_,
                          4 * seen_.rows.unit};
      const auto more = rotary_hypotheses(way.window, turned, asked_, again);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  std::vector<Hypothesis> by_streams(bool sought) const {
    std::vector<Hypothesis> all;
    const auto add = [&](const std::vector<Hypothesis>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    for (const Reading& way : seen_.ways) {
      const TurnedByStreams turned{std::int64_t(seen_.few.size()), way.window.channels / 2, way.z,
                                   Positions(places_, 1, asked_.streams)};
      add(sought ? stream_hypotheses_of_sought_base(way.window, turned)
                 : stream_hypotheses(way.window, turned, asked_));
    }
    if (!sought) add(axes_on_blocks(seen_.rows.D, asked_.streams, asked_));
    return all;
  }
  // What else in the dump follows, or what is asked for.
  void add_told(std::vector<Hypothesis>& plain) const {
    if (asked_.tried_as_well && !plain.empty()) {
      Hypothesis other = plain.front();  // where it begins, and which way it turns, as measured
      other.spec = *asked_.tried_as_well, other.cost = 0;
      plain.push_back(other);
    }
    add_expected(expected_of(asked_, is_rotary), plain);
  }
  // Whether one of them fits.
  bool ask(std::vector<Hypothesis> plain, Checked& c) const {
    const Rows& rows = seen_.rows;
    const Hypothesis best =
        search(std::move(plain),
               {[&](const Hypothesis& h) { return misfit_of_rows(rows, h, positions_, seen_.few); },
                [&](const Hypothesis& h) { return misfit_of_rows(rows, h, positions_, seen_.many); },
                {faults_of_positions, faults_of_frequencies, faults_of_angles, faults_of_types},
                [&](const Hypothesis& near) { return confused(near, rows.D); }},
               c);
    if (c.named) tell_rounding(best, rows.D, positions_, c);
    remark_on_numbers(rows.D, c);
    return c.named;
  }

  const Seen& seen_;
  const Asked& asked_;
  const std::vector<double> values_;
  const Positions positions_;
  std::vector<double> places_;  // of the few tokens
};

// What turned every token, by the best reading; empty: too many numbers.
Turned turned_whole(const Seen& seen) {
  const Rows& rows = seen.rows;
  const Window& window = seen.ways[0].window;
  if (rows.T * rows.H * rows.D > kAll) return {0, 0, {}, {}, 0};
  std::vector<std::int64_t> all;
  for (std::int64_t t = 0; t < rows.T; ++t) all.push_back(t);
  return {rows.T, window.channels / 2, read(rows, window, all).z, {}, 4 * rows.unit};
}

}  // namespace

Checked check_rotation(const DumpedArray& before, const DumpedArray& after, const Asked& asked) {
  Checked c{.looked_at = before.name + " and " + after.name};
  if (before.shape != after.shape || before.shape.size() < 2 || before.shape.size() > 3)
    throw Error(
        Fault::input,
        text(c.looked_at,
             ": found unequal or unknown shapes; allowed is the same for both, (tokens, heads, head_dim)"));
  check_extent("head_dim", before.shape.back(), 4096);
  for (const DumpedArray* a : {&before, &after}) {
    if (const std::string why = not_numbers(*a); !why.empty()) {
      c.words = why;
      return c;
    }
  }
  const std::optional<Seen> seen = see(before, after, asked);
  if (!seen) {
    positions_of(asked, before.shape[0], before.name);
    c.words = "a head with one channel cannot rotate";
    return c;
  }
  return check_placed(
      {seen->rows.T, before.name,
       [&](const Asked& a) { return Look(*seen, a, positions_of(a, seen->rows.T, before.name)).answer(c); },
       [&] { return turned_whole(*seen); }},
      asked);
}

}  // namespace gnomon
