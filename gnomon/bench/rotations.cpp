#include <cmath>
#include <memory>

#include "gnomon/bench/case.h"
#include "gnomon/core/array.h"
#include "gnomon/core/half.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/rotate.h"

namespace gnomon::bench {
namespace {

struct Rows {
  std::int64_t B, T, H, D;
  std::int64_t numbers() const { return B * T * H * D; }
};
template <class Stored>
struct Turned {
  Rows s;
  Pairing pairing;
  std::vector<Stored> x = std::vector<Stored>(std::size_t(s.numbers()), Stored(1.0f));
  Floats cos = Floats(std::size_t(s.T * s.D / 2)), sin = Floats(cos.size());

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

template <class Stored>
BenchCase rotation_case(const char* size, const char* number, const Rows& s, Pairing pairing, int threads) {
  const char* word = pairing == Pairing::halves ? "halves" : "adjacent";
  const bool wide = sizeof(Stored) == 4;
  const auto bytes = std::int64_t(sizeof(Stored)) * s.numbers();
  return {.name = text("rotary.", word, ".", size, wide ? "" : ".", wide ? "" : number),
          .what = text("rotation in place, ", word, ", ", number, ", B ", s.B, ", T ", s.T, ", H ", s.H,
                       ", D ", s.D),
          .unit = "GB/s",
          .amount = 2e-9 * double(bytes),
          .work = 2.0 * double(bytes),
          .limit = {Resource::scale, bytes},
          .threads = threads,
          .quick = wide && std::string_view(size) == "16mb",
          .prepare = [rows = s, pairing] {
            const auto run = std::make_shared<Turned<Stored>>(Turned<Stored>{rows, pairing});
            run->fill();
            return [run] { run->turn(); };
          }};
}

}  // namespace

std::vector<BenchCase> rotation_cases(int threads) {
  const std::pair<const char*, Rows> sizes[] = {{"1mb", {1, 512, 8, 64}},
                                                {"16mb", {1, 1024, 32, 128}},
                                                {"67mb", {1, 4096, 32, 128}},
                                                {"512mb", {4, 8192, 32, 128}}};
  const std::pair<const char*, Rows> sizes16[] = {{"16mb", {1, 2048, 32, 128}},
                                                  {"512mb", {8, 8192, 32, 128}}};
  std::vector<BenchCase> all;
  for (const Pairing pairing : {Pairing::halves, Pairing::adjacent}) {
    for (const auto& [size, s] : sizes)
      all.push_back(rotation_case<float>(size, "float32", s, pairing, threads));
    for (const auto& [size, s] : sizes16) {
      all.push_back(rotation_case<BFloat16>(size, "bf16", s, pairing, threads));
      all.push_back(rotation_case<Float16>(size, "fp16", s, pairing, threads));
    }
  }
  return all;
}

}  // namespace gnomon::bench
