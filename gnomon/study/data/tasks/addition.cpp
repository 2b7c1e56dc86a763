// The sum of two numbers: the longer has L digits, the other 1 to L, in either order.
//
//   addition            ^57+8=65.       as it is written: the first digit that is asked for depends on all others
//   addition_reversed   ^57+8=56.       the sum from its last digit on: Lee et al. 2023, https://arxiv.org/abs/2307.03381
//   addition_padded     ^57+08=560.     the same, with zeros before both numbers and the sum, so that digits of the same worth
//                                       stand at the same distance: Cho et al. 2024, https://arxiv.org/abs/2405.20671
#include <algorithm>
#include <string>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

struct Format {
  bool reversed, padded;
};

// So many digits, the last first; the first of two or more is not 0.
std::vector<std::int64_t> number(Draws& draws, std::int64_t digits) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n < digits; ++n) all.push_back(draws.below(10));
  all.push_back(digits == 1 ? draws.below(10) : 1 + draws.below(9));
  return all;
}

// Digit by digit with a carry, the last first; one digit more than the longer number.
std::vector<std::int64_t> sum(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> all;
  std::int64_t carry = 0;
  for (std::size_t n = 0; n <= std::max(a.size(), b.size()); ++n) {
    const std::int64_t s = carry + (n < a.size() ? a[n] : 0) + (n < b.size() ? b[n] : 0);
    all.push_back(s % 10), carry = s / 10;
  }
  return all;
}

std::string digits(const std::vector<std::int64_t>& number, bool reversed) {
  std::string all;
  for (const std::int64_t digit : number) all += char('0' + digit);
  if (!reversed) std::reverse(all.begin(), all.end());
  return all;
}

template <Format format>
std::vector<TaskWindow> write_addition(Draws& draws, std::int64_t L) {
  std::vector<std::int64_t> a = number(draws, L), b = number(draws, 1 + draws.below(L)), c = sum(a, b);
  if (draws.coin()) std::swap(a, b);
  if (format.padded) a.resize(std::size_t(L)), b.resize(std::size_t(L));
  if (!format.padded && c.back() == 0) c.pop_back();
  TaskWindow w;
  w.give(kBegin), w.give(digits(a, false)), w.give('+'), w.give(digits(b, false)), w.give('=');
  for (const char digit : digits(c, format.reversed)) w.answer(digit);
  w.answer(kEnd);
  return {w};
}

template <Format format>
Task adding(std::string_view name, std::string_view asks, std::string_view shape) {
  return {.name = name,
          .asks = asks,
          .isolates = "matching the digits of the same power of ten, and a carry",
          .format = shape,
          .symbols = "0 to 9, and the full stop at the end",
          .payload = "digits of the longer number",
          .seen = "some of the sums of up to 4 digits",
          .form = AnswerForm::written,
          .metric = Metric::whole,
          .chance = 0,
          .allowed = {1, 1024},
          .trained = {1, 8},
          .tests = {4, 8, 10, 12, 16},
          .per_symbol = 3,
          .others = 5,
          .write = write_addition<format>};
}

}  // namespace

std::span<const Task> addition_tasks() {
  static const std::vector<Task> all{
      adding<Format{false, false}>("addition", "add two numbers", "^a+b=c."),
      adding<Format{true, false}>("addition_reversed", "add two numbers, and write the last digit first",
                                  "^a+b=c., the digits of c backwards"),
      adding<Format{true, true}>("addition_padded",
                                 "add two numbers padded with zeros, and write the last digit first",
                                 "^a+b=c., a and b of L digits, c of L+1 backwards"),
  };
  return all;
}

}  // namespace gnomon
