#include "gnomon/models/check/check.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/placement.h"
#include "gnomon/models/check/rotary_search.h"

namespace gnomon {

std::vector<double> positions_of(const Asked& asked, std::int64_t tokens, const std::string& what) {
  std::vector<double> p = asked.positions;
  if (!asked.positions_given)
    for (std::int64_t t = 0; t < tokens; ++t) p.push_back(double(t));
  if (std::int64_t(p.size()) != tokens * asked.streams)
    throw Error(Fault::input, text("positions: found ", p.size() / std::size_t(asked.streams), ", but ", what,
                                   " has ", tokens, " tokens"));
  return p;
}

std::vector<std::int64_t> some_tokens(std::int64_t tokens, std::int64_t most) {
  std::vector<std::int64_t> all;
  const std::int64_t first = std::min(tokens, most / 2), rest = std::min(tokens - first, most - first);
  for (std::int64_t t = 0; t < first; ++t) all.push_back(t);
  for (std::int64_t n = 1; n <= rest; ++n) all.push_back(first - 1 + n * (tokens - first) / rest);
  return all;
}

std::string not_numbers(const DumpedArray& a) {
  if (a.values.empty()) return text(a.name, " is empty");
  std::size_t bad = 0, first = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n)
    if (!std::isfinite(a.values[n]) && bad++ == 0) first = n;
  if (bad == 0) return "";
  return text(a.name, ": ", bad, " of ", a.values.size(), " numbers are not finite; the first is number ",
              first);
}

namespace {

// The encoding for heads of 64, or of another usual size where its sections or channels do not fit that.
std::unique_ptr<Encoding> made_for_a_head(const Named& named) {
  for (const std::int64_t D : {128, 256, 32, 80, 96, 192, 512}) {
    try {
      return make_encoding(named, {D, 1, D, 2048, true});
    } catch (const Error&) {  // not of that size
    }
  }
  return make_encoding(named, {64, 1, 64, 2048, true});
}

}  // namespace

std::vector<Hypothesis> expected_of(const Asked& asked, const std::function<bool(const Encoding&)>& is_such) {
  std::vector<Hypothesis> all;
  for (const Named& named : asked.expected)
    if (is_such(*made_for_a_head(named))) all.push_back({.spec = shortened(named), .expected = true});
  return all;
}

void check_extent(std::string_view what, std::int64_t found, std::int64_t most) {
  if (found > most) throw Error(Fault::input, text(what, ": found ", found, "; allowed are at most ", most));
}

void compare_with_expected(const Asked& asked, Checked& c) {
  if (asked.expected.empty()) return;
  if (c.best.expected && c.follows)
    c.words = text("it follows what is expected, ", c.best.spec.print_given(),
                   c.best.apart.empty() ? "" : ", where ", c.best.apart);
  if (!c.best.expected) c.words = text("it is not what is expected: ", c.words);
  c.follows = c.follows && c.best.expected;
}

namespace {

// Whether one convention fits both, which then is the answer for both. Each is held against what the other follows.
bool turn_alike(const Dump& dump, const Asked& asked, Checked& q, Checked& k) {
  const auto alike = [&] { return q.best.spec == k.best.spec && q.best.apart == k.best.apart; };
  if (alike()) return true;
  const auto again = [&](Checked& one, const Checked& other, const char* before, const char* after) {
    Asked also = asked;
    also.tried_as_well = other.best.spec;
    Checked checked = check_rotation(*dump.find(before), *dump.find(after), also);
    prefer(other.best, checked);
    if (checked.best.spec == other.best.spec && checked.best.apart == other.best.apart) {
      checked.remarks = one.remarks;
      one = std::move(checked);
    }
    return alike();
  };
  return (q.named && again(k, q, "k_before", "k_after")) || (k.named && again(q, k, "q_before", "q_after"));
}

// Both of what belongs together, or neither.
bool both(const Dump& dump, const char* one, const char* other) {
  const bool has_one = dump.find(one), has_other = dump.find(other);
  if (has_one != has_other)
    throw Error(Fault::input,
                text("the dump has ", has_one ? one : other, " without ", has_one ? other : one));
  return has_one;
}

// Every encoding that a spec names, once.
std::vector<Named> named_in(const std::string& spec) {
  if (spec.empty()) return {};
  const Spec parsed = Spec::parse(spec);
  std::vector<Named> all = parsed.attention;
  if (parsed.input) all.push_back(*parsed.input);
  for (const auto& layer : parsed.layers) all.insert(all.end(), layer.begin(), layer.end());
  std::vector<Named> once;
  for (const Named& named : all)
    if (std::find(once.begin(), once.end(), named) == once.end()) once.push_back(named);
  return once;
}

}  // namespace

namespace {

// The numbers of positions by token: (tokens, streams), also where they lie as (streams, tokens).
void take_positions(const DumpedArray& a, Asked& asked) {
  asked.positions.assign(a.values.begin(), a.values.end());
  asked.positions_given = true;
  if (a.shape.size() != 2) return;
  constexpr std::int64_t kMostStreams = 4;
  const bool streams_first = a.extent(0) <= kMostStreams;
  const std::int64_t S = streams_first ? a.extent(0) : a.extent(1),
                     T = streams_first ? a.extent(1) : a.extent(0);
  check_extent("positions: streams", S, kMostStreams);
  bool equal = true;
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t s = 0; s < S; ++s) {
      const double p = a.values[std::size_t(streams_first ? s * T + t : t * S + s)];
      asked.positions[std::size_t(t * S + s)] = p;
      equal &= p == asked.positions[std::size_t(t * S)];
    }
  }
  asked.streams = S;
  if (!equal) return;
  for (std::int64_t t = 0; t < T; ++t) asked.positions[std::size_t(t)] = asked.positions[std::size_t(t * S)];
  asked.positions.resize(std::size_t(T)), asked.streams = 1;
}

// What all parts are asked: by the options and by what the dump says of its tokens.
Asked asked_of(const Dump& dump, const CheckOptions& options) {
  Asked asked{named_in(options.spec), options.theta, options.positions, !options.positions.empty()};
  const DumpedArray* positions = dump.find("positions");
  if (!asked.positions_given && positions) take_positions(*positions, asked);
  if (const DumpedArray* documents = dump.find("documents"))
    asked.documents.assign(documents->values.begin(), documents->values.end());
  return asked;
}

// Rotations that the tables in the dump follow, and what is expected.
std::vector<Named> rotations_told(const std::vector<Checked>& tables, const Asked& asked) {
  std::vector<Named> all;
  for (const Checked& c : tables)
    if (c.named && !c.best.spec.name.empty()) all.push_back(c.best.spec);
  for (const Hypothesis& h : expected_of(asked, is_rotary)) all.push_back(h.spec);
  return all;
}

}  // namespace

std::vector<Checked> check(const Dump& dump, const CheckOptions& options) {
  Asked asked = asked_of(dump, options);
  std::vector<Checked> all, tables;
  if (both(dump, "cos", "sin")) tables.push_back(check_cos_sin(*dump.find("cos"), *dump.find("sin"), asked));
  if (const auto* a = dump.find("inv_freq")) tables.push_back(check_inv_freq(*a, asked));
  asked.told = rotations_told(tables, asked);
  if (both(dump, "q_before", "q_after"))
    all.push_back(check_rotation(*dump.find("q_before"), *dump.find("q_after"), asked));
  if (both(dump, "k_before", "k_after"))
    all.push_back(check_rotation(*dump.find("k_before"), *dump.find("k_after"), asked));
  if (all.size() == 2 && !turn_alike(dump, asked, all[0], all[1]) && (all[0].named || all[1].named)) {
    all[1].follows = false;
    all[1].remarks.emplace_back("q and k are rotated differently, so their product follows no convention");
  }
  all.insert(all.end(), tables.begin(), tables.end());
  if (const auto* a = dump.find("bias")) all.push_back(check_bias(*a, asked));
  if (const auto* a = dump.find("slopes")) all.push_back(check_slopes(*a, asked));
  if (const auto* a = dump.find("table")) all.push_back(check_table(*a, asked));
  if (const auto* a = dump.find("mask")) all.push_back(check_mask(*a, asked));
  if (const auto* a = dump.find("weights")) all.push_back(check_weights(*a, asked));
  if (!asked.documents.empty() && asked.positions_given && asked.streams == 1)
    all.push_back(check_positions(asked));
  if (all.empty())
    throw Error(Fault::input, "the dump has only positions, which do not show how a program uses them");
  return all;
}

}  // namespace gnomon
