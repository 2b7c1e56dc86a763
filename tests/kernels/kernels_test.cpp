// Every kernel against its definition in double, on every SIMD target and for every tail.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "gnomon/core/half.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/kernels/rotate.h"
#include "tests/kernels/activation.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

class Kernels : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Kernels, testing::ValuesIn(simd_targets()), target_name);

constexpr Activation kActivations[] = {Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                       Activation::relu, Activation::gelu_sigmoid};
double slope_by_definition(Activation f, double x) {
  return (activation_by_definition(f, x + 1e-5) - activation_by_definition(f, x - 1e-5)) / 2e-5;
}

TEST_P(Kernels, Activations) {
  for (const Activation f : kActivations) {
    for (const std::int64_t n : {1, 2, 3, 5, 7, 8, 9, 17, 1000}) {
      const auto x = normals(n, 1, 3.0), dy = normals(n, 2);
      Floats y(x.size()), dx(x.size());
      activate(f, n, x.data(), y.data());
      activate_backward(f, n, x.data(), dy.data(), dx.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double at = x[i];
        EXPECT_NEAR(y[i], activation_by_definition(f, at), 4e-7 * std::max(1.0, std::abs(at)));
        EXPECT_NEAR(dx[i], dy[i] * slope_by_definition(f, at), 2e-6 * std::max(1.0, std::abs(double(dy[i]))));
      }
    }
    const std::vector<float> far{-1e30f, -100, 100, 1e30f};
    std::vector<float> y(4);
    activate(f, 4, far.data(), y.data());
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], far[i] < 0 ? 0 : far[i], 1e-30);
  }
}

TEST_P(Kernels, GatesAndSoftCaps) {
  const std::int64_t N = 5, x_step = 61, y_step = 33;
  for (const Activation f : kActivations) {
    for (const std::int64_t C : {1, 7, 8, 19, 30}) {
      const auto x = normals(N * x_step, 1, 2.0), dy = normals(N * y_step, 2);
      Floats y(N * y_step), dx(N * x_step);
      const Gate shape{f, N, C, x_step, y_step};
      gate(shape, x.data(), y.data());
      gate_backward(shape, x.data(), dy.data(), dx.data());
      for (std::int64_t n = 0; n < N; ++n) {
        for (std::int64_t c = 0; c < C; ++c) {
          const double a = x[n * x_step + c], b = x[n * x_step + C + c], g = dy[n * y_step + c];
          ASSERT_NEAR(y[n * y_step + c], activation_by_definition(f, a) * b, 1e-5);
          ASSERT_NEAR(dx[n * x_step + c], g * b * slope_by_definition(f, a), 5e-5);
          ASSERT_NEAR(dx[n * x_step + C + c], g * activation_by_definition(f, a), 1e-5);
        }
        for (std::int64_t c = C; c < y_step; ++c) ASSERT_EQ(y[n * y_step + c], 0);
      }
    }
  }
  for (const Activation f : kActivations) {  // with a limit, which cuts a third of the numbers
    constexpr std::int64_t C = 30;
    constexpr double limit = 2;
    const auto x = normals(N * x_step, 1, 2.0), dy = normals(N * y_step, 2);
    Floats y(N * y_step), dx(N * x_step);
    const Gate shape{f, N, C, x_step, y_step, float(limit)};
    gate(shape, x.data(), y.data());
    gate_backward(shape, x.data(), dy.data(), dx.data());
    for (std::int64_t n = 0; n < N * C; ++n) {
      const std::int64_t at = n / C * x_step + n % C, to = n / C * y_step + n % C;
      const double a = x[at], b = x[at + C], g = dy[to];
      const double up = std::min(std::max(b, -limit), limit) + 1,
                   value = activation_by_definition(f, std::min(a, limit));
      ASSERT_NEAR(y[to], value * up, 1e-5);
      ASSERT_NEAR(dx[at], a > limit ? 0 : g * up * slope_by_definition(f, a), 5e-5);
      ASSERT_NEAR(dx[at + C], std::abs(b) > limit ? 0 : g * value, 1e-5);
    }
  }
  const auto x = normals(37, 1, 60.0), dy = normals(37, 2);
  Floats y = x, d = dy;
  soft_cap(37, 30, y.data());
  soft_cap_backward(37, 30, y.data(), d.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::tanh(double(x[i]) / 30);
    ASSERT_NEAR(y[i], 30 * t, 1e-5);
    ASSERT_NEAR(d[i], dy[i] * (1 - t * t), 2e-6);
  }
}

struct NormCase {
  Norm kind;
  std::int64_t N, C;
  Floats x, gain, bias;
  double at(std::int64_t n, std::int64_t c) const {
    double mean = 0, squares = 0;
    if (kind == Norm::layer) {
      for (std::int64_t k = 0; k < C; ++k) mean += x[n * C + k] / double(C);
    }
    for (std::int64_t k = 0; k < C; ++k) squares += std::pow(x[n * C + k] - mean, 2) / double(C);
    const double hat = (x[n * C + c] - mean) / std::sqrt(squares + kNormEpsilon);
    return hat * gain[c] + (kind == Norm::layer ? bias[c] : 0);
  }
  double loss(const Floats& g) const {
    double sum = 0;
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t c = 0; c < C; ++c) sum += at(n, c) * g[n * C + c];
    }
    return sum;
  }
};

TEST_P(Kernels, Norms) {
  for (const Norm kind : {Norm::layer, Norm::rms}) {
    for (const std::int64_t C : {1, 3, 8, 13, 33}) {
      const std::int64_t N = C == 3 ? 300 : 3;  // 300 rows: more than one task
      NormCase k{kind, N, C, normals(N * C, 1), normals(C, 2), normals(C, 3)};
      const auto g = normals(N * C, 4);
      Floats y(k.x.size()), statistics(2 * N), dx(k.x.size()), dgain(k.gain.size()), dbias(k.bias.size());
      normalise({kind, N, C}, k.x.data(), k.gain.data(), kind == Norm::rms ? nullptr : k.bias.data(),
                y.data(), statistics.data());
      normalise_backward({kind, N, C}, k.x.data(), k.gain.data(), statistics.data(), g.data(),
                         {dx.data(), dgain.data(), kind == Norm::rms ? nullptr : dbias.data()});
      for (std::int64_t n = 0; n < std::min<std::int64_t>(N, 3); ++n) {
        for (std::int64_t c = 0; c < C; ++c) EXPECT_NEAR(y[n * C + c], k.at(n, c), 2e-5);
      }
      const auto loss = [&] { return k.loss(g); };
      expect_gradient(k.x, dx, loss, C == 3 ? 97 : 1, 2e-3);
      expect_gradient(k.gain, dgain, loss, 1, 2e-3);
      if (kind == Norm::layer) expect_gradient(k.bias, dbias, loss, 1, 2e-3);
    }
  }
}

TEST_P(Kernels, AGainMayCountFromOne) {
  const std::int64_t N = 3, C = 13;
  const auto x = normals(N * C, 1), gain = normals(C, 2), g = normals(N * C, 3);
  Floats more = gain, y(x.size()), want = y, statistics(2 * N), dx(x.size()), dx_want = dx, dgain(C), same(C);
  for (float& v : more) v += 1;
  normalise({Norm::rms, N, C, 0, 1e-6f, 1}, x.data(), gain.data(), nullptr, y.data(), statistics.data());
  normalise({Norm::rms, N, C, 0, 1e-6f}, x.data(), more.data(), nullptr, want.data(), statistics.data());
  EXPECT_EQ(y, want);
  normalise_backward({Norm::rms, N, C, 0, 1e-6f, 1}, x.data(), gain.data(), statistics.data(), g.data(),
                     {dx.data(), dgain.data(), nullptr});
  normalise_backward({Norm::rms, N, C}, x.data(), more.data(), statistics.data(), g.data(),
                     {dx_want.data(), same.data(), nullptr});
  EXPECT_EQ(dx, dx_want);
  EXPECT_EQ(dgain, same);
}

TEST_P(Kernels, NoGainIsAGainOfOne) {
  const std::int64_t N = 3, C = 13;
  const auto x = normals(N * C, 1), g = normals(N * C, 3);
  const Floats ones(C, 1.0f);
  Floats y(x.size()), want = y, statistics(2 * N), dx(x.size()), dx_want = dx, dgain(C);
  normalise({Norm::layer, N, C}, x.data(), nullptr, nullptr, y.data(), statistics.data());
  normalise({Norm::layer, N, C}, x.data(), ones.data(), nullptr, want.data(), statistics.data());
  EXPECT_EQ(y, want);
  normalise_backward({Norm::layer, N, C}, x.data(), nullptr, statistics.data(), g.data(),
                     {dx.data(), nullptr, nullptr});
  normalise_backward({Norm::layer, N, C}, x.data(), ones.data(), statistics.data(), g.data(),
                     {dx_want.data(), dgain.data(), nullptr});
  EXPECT_EQ(dx, dx_want);
}

TEST_P(Kernels, CrossEntropy) {
  for (const std::int64_t Vocabulary : {1, 2, 5, 16, 27, 256}) {
    const auto logits = normals(3 * Vocabulary, 1, 4.0);
    const std::int32_t targets[] = {0, kUnscored, std::int32_t(Vocabulary - 1)};
    Floats gradient = logits, kept = logits, losses(3), again(3);
    cross_entropy({3, Vocabulary, 0.5f}, gradient.data(), targets, losses.data());
    cross_entropy({3, Vocabulary, 0}, kept.data(), targets, again.data());
    EXPECT_EQ(kept, logits);
    EXPECT_EQ(again, losses);
    for (int n = 0; n < 3; ++n) {
      double sum = 0;
      for (std::int64_t v = 0; v < Vocabulary; ++v) sum += std::exp(double(logits[n * Vocabulary + v]));
      const bool scored = n != 1;
      if (scored) {
        EXPECT_NEAR(losses[n], std::log(sum) - logits[n * Vocabulary + targets[n]], 3e-6);
      }
      for (std::int64_t v = 0; v < Vocabulary; ++v) {
        const double p = std::exp(double(logits[n * Vocabulary + v])) / sum;
        EXPECT_NEAR(gradient[n * Vocabulary + v], scored ? 0.5 * (p - (v == targets[n])) : 0.0, 1e-6);
      }
    }
    EXPECT_EQ(losses[1], 0);
  }
}

TEST_P(Kernels, AdamW) {
  const std::int64_t n = 19;
  auto w = normals(n, 1);
  const auto g = normals(n, 2);
  Floats m(w.size()), v(w.size());
  std::vector<double> W(w.begin(), w.end()), M(w.size()), S(w.size());
  for (std::int64_t t = 1; t <= 3; ++t) {
    adamw({.rate = 0.01, .decay = 0.1, .t = t, .gradient = 0.5}, n, g.data(), w.data(), m.data(), v.data());
    for (std::size_t i = 0; i < W.size(); ++i) {
      const double gi = 0.5 * g[i];
      M[i] = 0.9 * M[i] + 0.1 * gi, S[i] = 0.95 * S[i] + 0.05 * gi * gi;
      const double hat = M[i] / (1 - std::pow(0.9, t)), root = std::sqrt(S[i] / (1 - std::pow(0.95, t)));
      W[i] -= 0.01 * (hat / (root + 1e-8) + 0.1 * W[i]);
      EXPECT_NEAR(w[i], W[i], 1e-6);
    }
  }
}

// Number i turns by 0.3·i radians.
struct ThreeTenths {
  explicit ThreeTenths(std::int64_t n) : cos(n), sin(n) {
    for (std::int64_t i = 0; i < n; ++i)
      cos[i] = float(std::cos(0.3 * double(i))), sin[i] = float(std::sin(0.3 * double(i)));
  }
  Floats cos, sin;
};

TEST_P(Kernels, RotateTurnsPairsByTheirAngle) {
  for (const Pairing pairing : {Pairing::adjacent, Pairing::halves}) {
    for (const std::int64_t pairs : {1, 2, 3, 4, 7, 8, 9, 16, 19}) {
      const std::int64_t B = 2, T = 3, H = 2, D = 2 * pairs + 3;
      const ThreeTenths turned(T * pairs);
      const Rotation r{pairing, pairs, turned.cos.data(), turned.sin.data()};
      const auto x = normals(B * T * H * D, 1);
      Floats y = x;
      const RowLayout layout{B, T, H, T * H * D, H * D, D};
      rotate(r, layout, +1, y.data());
      for (std::int64_t row = 0; row < B * T * H; ++row) {
        const std::int64_t t = row / H % T;
        for (std::int64_t i = 0; i < pairs; ++i) {
          const std::int64_t first = pairing == Pairing::halves ? i : 2 * i,
                             second = pairing == Pairing::halves ? i + pairs : 2 * i + 1;
          const double a = x[row * D + first], b = x[row * D + second], angle = 0.3 * double(t * pairs + i);
          EXPECT_NEAR(y[row * D + first], a * std::cos(angle) - b * std::sin(angle), 1e-6);
          EXPECT_NEAR(y[row * D + second], a * std::sin(angle) + b * std::cos(angle), 1e-6);
        }
        for (std::int64_t d = 2 * pairs; d < D; ++d) EXPECT_EQ(y[row * D + d], x[row * D + d]);
      }
      rotate(r, layout, -1, y.data());
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-6);
    }
  }
}

// Where they lie: as widened, rotated and rounded once, to the bit; also of what is no number, infinite or subnormal.
template <class Stored>
void expect_rotated_as_floats() {
  for (const Pairing pairing : {Pairing::adjacent, Pairing::halves}) {
    for (const std::int64_t pairs : {1, 2, 3, 5, 8, 13, 16, 32, 67}) {
      const std::int64_t B = 2, T = 3, H = 2, D = 2 * pairs + 1;
      const ThreeTenths turned(T * pairs);
      const Rotation r{pairing, pairs, turned.cos.data(), turned.sin.data()};
      const RowLayout layout{B, T, H, T * H * D, H * D, D};
      auto x = normals(B * T * H * D, 1);
      x[0] = std::numeric_limits<float>::infinity(), x[1] = 1e-7f, x[2] = -65504.0f;
      std::vector<Stored> stored;
      for (const float one : x) stored.push_back(Stored(one));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(stored[i]);
      for (const int sign : {+1, -1}) {
        rotate(r, layout, sign, x.data());
        rotate(r, layout, sign, stored.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const Stored once(x[i]);
          if (std::isnan(x[i]))
            EXPECT_TRUE(std::isnan(float(stored[i])));
          else
            ASSERT_EQ(stored[i].bits, once.bits) << "pairs " << pairs << ", number " << i;
          x[i] = float(stored[i]);
        }
      }
    }
  }
}
TEST_P(Kernels, RotateOfSixteenBitsRoundsOnce) {
  expect_rotated_as_floats<BFloat16>();
  expect_rotated_as_floats<Float16>();
}

TEST(Matmul, AgreesWithItsDefinition) {
  for (const Op a_op : {Op::plain, Op::transposed}) {
    for (const Op b_op : {Op::plain, Op::transposed}) {
      const std::int64_t M = 7, N = 5, K = 11;
      const auto a = normals(M * K, 1), b = normals(K * N, 2), bias = normals(N, 3);
      auto c = normals(M * N, 4);
      const auto before = c;
      matmul({.M = M, .N = N, .K = K, .a_op = a_op, .b_op = b_op, .accumulate = true}, a.data(), b.data(),
             c.data(), bias.data());
      for (std::int64_t i = 0; i < M; ++i) {
        for (std::int64_t j = 0; j < N; ++j) {
          double sum = before[i * N + j] + double(bias[j]);
          for (std::int64_t k = 0; k < K; ++k) {
            sum += double(a[a_op == Op::plain ? i * K + k : k * M + i]) *
                   b[b_op == Op::plain ? k * N + j : j * K + k];
          }
          EXPECT_NEAR(c[i * N + j], sum, 1e-5);
        }
      }
    }
  }
}

// Two threads of the caller, each with products of its own at the same time: what one computes alone is what it
// computes beside the other.
TEST(Matmul, ProductsOfTwoThreads) {
  struct Product {
    Matmul shape;
    Floats a, b, alone;
  };
  std::vector<Product> all;
  const int threads = thread_count();
  set_thread_count(1);
  for (const auto& [M, N, K] :
       {std::array<std::int64_t, 3>{512, 96, 96}, {512, 384, 96}, {512, 96, 384}, {96, 384, 512}}) {
    for (const int kind : {0, 1, 2}) {
      const Op transposed = Op::transposed;
      Product p{{.M = M,
                 .N = N,
                 .K = K,
                 .a_op = kind == 2 ? transposed : Op::plain,
                 .b_op = kind == 1 ? transposed : Op::plain,
                 .accumulate = kind == 2},
                normals(M * K, 1),
                normals(K * N, 2),
                Floats(static_cast<std::size_t>(M * N))};
      matmul(p.shape, p.a.data(), p.b.data(), p.alone.data());
      all.push_back(std::move(p));
    }
  }
  std::atomic<int> wrong = 0;
  const auto work = [&](std::uint64_t seed) {
    set_thread_count(1);
    const Random random(seed, "which product");
    for (std::uint64_t n = 0; n < 1500; ++n) {
      const Product& p = all[random.below(n, all.size())];
      Floats c(p.alone.size());
      matmul(p.shape, p.a.data(), p.b.data(), c.data());
      wrong += c != p.alone;
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  set_thread_count(threads);
  EXPECT_EQ(wrong, 0);
}

TEST(Pointwise, ColumnSumsAndSquaresAreExactEnough) {
  const std::int64_t N = 1000, C = 21;
  const auto x = normals(N * C, 1);
  Floats sums(C, 1.0f);
  add_column_sums({N, C}, x.data(), sums.data());
  double squares = 0;
  for (std::int64_t c = 0; c < C; ++c) {
    double sum = 1;
    for (std::int64_t n = 0; n < N; ++n) sum += x[n * C + c], squares += std::pow(double(x[n * C + c]), 2);
    EXPECT_NEAR(sums[c], sum, 1e-4);
  }
  EXPECT_NEAR(sum_of_squares(N * C, x.data()), squares, 1e-6 * squares);
}

}  // namespace
}  // namespace gnomon
