// What the tests of the library's door share: every wrong call is an Error(usage) that names the place, what was found
// and what is allowed; none reaches out of bounds, aborts or hangs. Under `asan` the random calls show that those it
// lets through stay inside.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "gnomon/core/error.h"
#include "gnomon/core/random.h"

namespace gnomon {

inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                              kMost = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kBelow[] = {-1, kLeast};
inline constexpr std::int64_t kAbove[] = {std::int64_t{1} << 40, std::int64_t{1} << 62, kMost};
inline const float kNaN = std::numeric_limits<float>::quiet_NaN();

// The call throws Error(usage), and the message has these words.
template <class Call>
void refused(std::string_view words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "accepted, where the error has '" << words << "'";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(words), std::string_view::npos)
        << e.what() << "\nlacks " << words;
  }
}
// The call returns, or throws Error; anything else fails the test or ends the process.
template <class Call>
bool answered(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return false;
  }
}

// Random choices: what may be wrong with a number, and where.
class Dice {
 public:
  explicit Dice(std::string_view stream) : random_(1, stream) {}
  std::int64_t below(std::int64_t n) { return std::int64_t(random_.below(count_++, std::uint64_t(n))); }
  std::int64_t number() {
    const std::int64_t numbers[] = {0,
                                    -1,
                                    1,
                                    (std::int64_t{1} << 31) - 1,
                                    std::int64_t{1} << 31,
                                    std::int64_t{1} << 40,
                                    std::int64_t{1} << 62,
                                    kLeast,
                                    kMost};
    return numbers[below(std::size(numbers))];
  }
  // Steps beyond the array are the caller's to avoid: these are 0 and 1, or steps that no array has.
  std::int64_t step() {
    const std::int64_t steps[] = {0, -1, 1, std::int64_t{1} << 62, kLeast, kMost};
    return steps[below(std::size(steps))];
  }

 private:
  const Random random_;
  std::uint64_t count_ = 0;
};

}  // namespace gnomon
