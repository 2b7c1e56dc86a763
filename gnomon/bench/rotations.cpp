#include <cmath>
#include <memory>

#include "gnomon/bench/case.h"
#include "gnomon/core/array.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/rotate.h"

namespace gnomon::bench {
namespace {

struct Rows {
  std::int64_t B, T, H, D;
  std::int64_t numbers() const { return B * T * H * D; }
};
struct Turned {
  Rows s;
  Pairing pairing;
  Floats x = Floats(std::size_t(s.numbers()), 1.0f), cos = Floats(std::size_t(s.T * s.D / 2)),
         sin = Floats(cos.size());

  void fill() {
    for (std::int64_t t = 0; t < s.T; ++t) {
      for (std::int64_t i = 0; i < s.D / 2; ++i) {
        const double angle = double(t) * std::pow(10000.0, -2.0 * double(i) / double(s.D));
        cos[std::size_t(t * s.D / 2 + i)] = float(std::cos(angle)),
                                      sin[std::size_t(t * s.D / 2 + i)] = float(std::sin(angle));
      }
    }
  }
  void turn() {
    rotate({pairing, s.D / 2, cos.data(), sin.data()}, {s.B, s.T, s.H, s.T * s.H * s.D, s.H * s.D, s.D}, 1,
           x.data());
  }
};

}  // namespace

std::vector<BenchCase> rotation_cases(int threads) {
  const std::pair<const char*, Rows> sizes[] = {{"1mb", {1, 512, 8, 64}},
                                                {"16mb", {1, 1024, 32, 128}},
                                                {"67mb", {1, 4096, 32, 128}},
                                                {"512mb", {4, 8192, 32, 128}}};
  std::vector<BenchCase> all;
  for (const Pairing pairing : {Pairing::halves, Pairing::adjacent}) {
    const char* word = pairing == Pairing::halves ? "halves" : "adjacent";
    for (const auto& [size, s] : sizes) {
      const std::int64_t bytes = 4 * s.numbers();
      all.push_back({.name = text("rotary.", word, ".", size),
                     .what = text("rotation in place, ", word, ", float32, B ", s.B, ", T ", s.T, ", H ", s.H,
                                  ", D ", s.D),
                     .unit = "GB/s",
                     .amount = 2e-9 * double(bytes),
                     .work = 2.0 * double(bytes),
                     .limit = {Resource::scale, bytes},
                     .threads = threads,
                     .quick = std::string_view(size) == "16mb",
                     .prepare = [rows = s, pairing] {
                       const auto run = std::make_shared<Turned>(Turned{rows, pairing});
                       run->fill();
                       return [run] { run->turn(); };
                     }});
    }
  }
  return all;
}

}  // namespace gnomon::bench
