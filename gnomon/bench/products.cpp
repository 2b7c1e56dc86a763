#include <memory>

#include "gnomon/bench/case.h"
#include "gnomon/core/array.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/multiply.h"

namespace gnomon::bench {
namespace {

// Rows of a batch, and a layer's channels: d 64, d 128, d 256 and d 384 with its projections and its feed-forward part.
struct Layer {
  std::int64_t N, in, out;
};
constexpr Layer kLayers[] = {{512, 64, 192},    {512, 64, 256},    {512, 256, 64},    {512, 128, 384},
                             {512, 128, 512},   {512, 512, 128},   {4096, 256, 768},  {4096, 256, 256},
                             {4096, 256, 1024}, {4096, 1024, 256}, {4096, 384, 1536}, {4096, 1536, 384},
                             {4096, 256, 8192}};
constexpr const char* kNames[] = {"y", "dx", "dw"};
constexpr const char* kWords[] = {"y = x wᵀ", "dx = dy w", "dw = dyᵀ x"};

using Multiply = void(const Matmul&, const float*, const float*, float*, const float*);

// The arrays of a layer, rows row_step apart as in a model, or dense.
struct Rows {
  Layer s;
  bool dense = false;
  std::int64_t xs = dense ? s.in : row_step(s.in), ys = dense ? s.out : row_step(s.out);
  Floats x = Floats(std::size_t(s.N * xs), 0.5f), y = Floats(std::size_t(s.N * ys), 0.5f),
         w = Floats(std::size_t(s.in * s.out), 0.1f), dw = Floats(w.size());

  void product(int which, Multiply& multiply) {
    const auto& [N, in, out] = s;
    const Op plain = Op::plain, transposed = Op::transposed;
    if (which == 0)
      multiply({N, out, in, plain, transposed, false, xs, in, ys}, x.data(), w.data(), y.data(), nullptr);
    if (which == 1)
      multiply({N, in, out, plain, plain, false, ys, in, xs}, y.data(), w.data(), x.data(), nullptr);
    if (which == 2)
      multiply({out, in, N, transposed, plain, true, ys, xs, in}, y.data(), x.data(), dw.data(), nullptr);
  }
};

BenchCase product_case(const Layer& s, int which, int threads) {
  const double operations = 2.0 * double(s.N) * double(s.in) * double(s.out);
  const double numbers = double(s.N * (s.in + s.out) + s.in * s.out * (which == 2 ? 2 : 1));
  return {.name = text("product.", kNames[which], ".", s.N, "x", s.in, "x", s.out),
          .what = text(kWords[which], ", ", s.N, " rows, ", s.in, " to ", s.out, " channels"),
          .unit = "GFLOP/s",
          .amount = operations / 1e9,
          .work = operations,
          .limit = {Resource::multiply_f32},
          .bytes = 4 * numbers,
          .threads = threads,
          .quick = s.in == 128 && s.out == 512};
}

}  // namespace

std::vector<BenchCase> product_cases(int threads) {
  std::vector<BenchCase> all;
  for (const Layer& layer : kLayers) {
    for (int which = 0; which < 3; ++which) {
      const auto by = [&](Multiply& multiply, bool dense = false) {
        return [=, m = &multiply] {
          return [rows = std::make_shared<Rows>(Rows{layer, dense}), which, m] { rows->product(which, *m); };
        };
      };
      BenchCase one = product_case(layer, which, threads);
      one.prepare = by(matmul);
      all.push_back(one);
      if (which == 2 && layer.out == 1024) {  // why rows lie apart
        BenchCase dense = one;
        dense.name += ".dense", dense.what += "; rows dense", dense.quick = false;
        dense.prepare = by(matmul, true);
        all.push_back(dense);
      }
      if (product_library() == portable::name()) continue;
      one.name += ".ours", one.what += "; by gnomon's own tiles", one.quick = false;
      one.prepare = by(portable::multiply);
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace gnomon::bench
