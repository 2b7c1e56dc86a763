// What the unit tests share: random arrays, central differences, and running a test on every SIMD target.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gnomon/core/array.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/targets.h"

namespace gnomon {

inline Floats normals(std::int64_t n, std::uint64_t seed, double deviation = 1) {
  const Random random(seed, "test");
  Floats x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(deviation * random.normal(i));
  return x;
}

class OnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_simd_target(GetParam()); }
  void TearDown() override { use_simd_target(""); }
};
inline std::string target_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

// Compares `gradient` with central differences of loss() in every step-th number of x. The bound is relative
// to the larger of 1 and the gradient's own size.
template <class X, class Loss>
void expect_gradient(X& x, const Floats& gradient, const Loss& loss, std::size_t step, double bound) {
  ASSERT_EQ(x.size(), gradient.size());
  for (std::size_t i = 0; i < x.size(); i += step) {
    const auto keep = x[i];
    using T = typename X::value_type;
    const T h = T(sizeof(T) == 8 ? 1e-5 : 1e-3);
    x[i] = keep + h;
    const double above = loss(), high = double(x[i]);
    x[i] = keep - h;
    const double below = loss(), low = double(x[i]);
    x[i] = keep;
    const double expected = (above - below) / (high - low);
    ASSERT_NEAR(gradient[i], expected, bound * std::max(1.0, std::abs(expected)))
        << "number " << i << " of " << x.size();
  }
}

}  // namespace gnomon
