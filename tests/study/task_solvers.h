#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>

// The tasks again, by someone who has read their help and not their code: from what a decoder has read up to some symbol, what has
// to be said now. On strings of bytes, by search and substitution where the generators count and index.
namespace gnomon {

using Read = const std::string&;  // a window up to the symbol at which something may be asked
struct Solver {
  std::function<std::optional<char>(Read)> say;     // nullopt: nothing is asked
  std::function<std::int64_t(Read window)> length;  // L of a whole window
};

// What follows in `answer`, of which the read part after `mark` has been said; nothing before the mark.
inline std::optional<char> after(Read read, char mark, const std::function<std::string(Read)>& answer) {
  const auto at = read.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::string all = answer(read.substr(0, at));
  const std::size_t said = read.size() - at - 1;
  return said < all.size() ? std::optional(all[said]) : std::nullopt;
}
inline Solver transcribed(const std::function<std::string(Read)>& answer) {
  return {[=](Read read) { return after(read, '|', [&](Read q) { return answer(q.substr(1)) + "."; }); },
          [](Read window) { return std::int64_t(window.find('|')) - 1; }};
}

inline std::string backwards(std::string s) { return {s.rbegin(), s.rend()}; }

inline Solver adder(bool reversed, bool padded) {
  const auto parts = [](Read q) {
    const auto plus = q.find('+');
    return std::pair(q.substr(1, plus - 1), q.substr(plus + 1));
  };
  return {[=](Read read) {
            return after(read, '=', [&](Read q) {
              const auto [a, b] = parts(q);
              std::string sum = std::to_string(std::stoull(a) + std::stoull(b));
              if (padded) sum.insert(0, a.size() + 1 - sum.size(), '0');
              return (reversed ? backwards(sum) : sum) + ".";
            });
          },
          [=](Read window) {
            const auto [a, b] = parts(window.substr(0, window.find('=')));
            return std::int64_t(std::max(a.size(), b.size()));
          }};
}

inline Solver earlier(std::size_t k) {
  return {[=](Read read) {
            return read.size() > k ? std::optional(read.rbegin()[std::ptrdiff_t(k)]) : std::nullopt;
          },
          [](Read window) { return std::int64_t(window.size()); }};
}

// What stood after the last symbol when it was read the first time.
inline std::optional<char> followed(Read read) {
  const auto first = read.find(read.back());
  return first + 1 < read.size() ? std::optional(read[first + 1]) : std::nullopt;
}

inline std::optional<char> most_frequent(Read letters) {
  std::multimap<std::ptrdiff_t, char> by_count;
  for (const char c : {'a', 'b', 'c'}) by_count.emplace(std::count(letters.begin(), letters.end(), c), c);
  const auto best = by_count.rbegin(), second = std::next(best);
  return best->first == second->first ? std::nullopt : std::optional(best->second);
}

// What is left open, by taking away pairs of brackets until there are none.
inline std::string still_open(std::string s) {
  for (std::size_t at; (at = std::min(s.find("()"), s.find("[]"))) != std::string::npos;) s.erase(at, 2);
  return s;
}

inline std::map<std::string, Solver, std::less<>> solvers() {
  const auto asked_at = [](char mark, auto f) {
    return [=](Read read) { return read.back() == mark ? f(read) : std::nullopt; };
  };
  const auto all_but = [](std::int64_t others) {
    return [=](Read window) { return std::int64_t(window.size()) - others; };
  };
  const auto in_order = [](std::string s) {
    std::string out;
    for (char c = 'A'; c <= 'z'; ++c) out.append(std::size_t(std::count(s.begin(), s.end(), c)), c);
    return out;
  };
  const auto same = [](std::string s) { return s; };
  return {
      {"order", {asked_at('?', [](Read read) { return std::optional(read[0]); }), all_but(1)}},
      {"binding",
       {[](Read read) {
          return read.size() == 5 ? std::optional(read[read.find(read[4]) - 1]) : std::nullopt;
        },
        all_but(1)}},
      {"majority", {asked_at('?', most_frequent), all_but(1)}},
      {"previous", earlier(1)},
      {"offset2", earlier(2)},
      {"offset4", earlier(4)},
      {"offset8", earlier(8)},
      {"offset16", earlier(16)},
      {"metre",
       {[](Read read) {
          std::map<std::int64_t, std::string> letters;  // by how often they came on this beat
          std::map<char, std::int64_t> times;
          for (auto t = std::int64_t(read.size()) - 9; t >= 0; t -= 8) ++times[read[std::size_t(t)]];
          for (const auto& [letter, n] : times) letters[n] += letter;
          const bool named = read.size() > 24 && letters.rbegin()->second.size() == 1;
          return named ? std::optional(letters.rbegin()->second[0]) : std::nullopt;
        },
        all_but(0)}},
      {"lengths", earlier(1)},
      {"copy", transcribed(same)},
      {"copy_same", transcribed(same)},
      {"reverse", transcribed(backwards)},
      {"addition", adder(false, false)},
      {"addition_reversed", adder(true, false)},
      {"addition_padded", adder(true, true)},
      {"recall",
       {[](Read read) {
          const auto bar = read.find('|');
          const bool at_key = bar != std::string::npos && (read.size() - bar) % 2 == 0;
          return at_key ? followed(read) : std::nullopt;
        },
        [](Read window) { return std::int64_t(window.find('|')) / 2; }}},
      {"repeat", {followed, [](Read window) { return std::int64_t(window.find(window[0], 1)); }}},
      {"sort", transcribed(in_order)},
      {"sort_repeated", transcribed(in_order)},
      {"parity",
       {asked_at('?',
                 [](Read read) {
                   const int sign = std::accumulate(read.begin(), read.end(), 1,
                                                    [](int s, char bit) { return bit == '1' ? -s : s; });
                   return std::optional(sign < 0 ? '1' : '0');
                 }),
        all_but(1)}},
      {"swaps",
       {[](Read read) {
          if (read.size() <= 5) return std::optional<char>();
          std::string order = read.substr(0, 5);
          for (const char digit : read.substr(5)) {
            const std::string places =
                std::string("12131415232425343545").substr(2 * std::size_t(digit - '0'), 2);
            std::swap(order[std::size_t(places[0] - '1')], order[std::size_t(places[1] - '1')]);
          }
          return std::optional(order.front());
        },
        all_but(5)}},
      {"dyck",
       {[](Read read) -> std::optional<char> {
          const std::string open = still_open(read);
          if (open.empty() || read.back() == '(' || read.back() == '[') return std::nullopt;
          return open.back() == '(' ? ')' : ']';
        },
        all_but(0)}},
      {"needle",
       {[](Read read) {
          return after(read, '?', [](Read text) { return text.substr(text.find('#') + 1, 5); });
        },
        all_but(12)}},
      {"indirect",
       {[](Read read) -> std::optional<char> {
          const auto k = int(static_cast<unsigned char>(read.back())) - 128 - 15;
          if (k < -15) return std::nullopt;
          return read.at(std::size_t(std::int64_t(read.find(read[read.size() - 2])) + k));
        },
        all_but(2)}},
      {"selective_copy",
       {[](Read read) {
          return after(read, '|', [](std::string text) {
            std::erase(text, '-');
            return text;
          });
        },
        [](Read window) { return std::int64_t(std::count(window.begin(), window.end(), '-')); }}},
  };
}

}  // namespace gnomon
