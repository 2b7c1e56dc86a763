#include <memory>

#include "gnomon/bench/attention_run.h"
#include "gnomon/bench/case.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/attend_cached.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon::bench {
namespace {

struct Sizes {
  std::int64_t B, H, T, D;
  Precision precision = Precision::float32;
};
// A kind of term each: none; added to logits by distance; maps of rows; a second and a third product.
constexpr const char* kTerms[] = {"none", "alibi", "t5",      "kerple_log",    "rope",
                                  "pope", "shaw",  "deberta", "transformer_xl"};

BenchCase attention_case(const Sizes& s, const std::string& name, const std::string& encoding, int threads) {
  const double pairs = double(s.B * s.H) * double(s.T) * double(s.T + 1) / 2;
  const double operations = 12.0 * pairs * double(s.D);  // two products forward, twice as much backward
  const bool plain = encoding == "none", in_f32 = s.precision == Precision::float32;
  return {.name = plain ? name : text(name, ".", encoding),
          .what = text("causal attention, forward and backward, ", plain ? "no term" : encoding, ", B ", s.B,
                       ", H ", s.H, ", T ", s.T, ", D ", s.D, in_f32 ? "" : ", in bfloat16"),
          .unit = "GFLOP/s",
          .amount = operations / 1e9,
          .work = operations,
          .limit = {in_f32 ? Resource::multiply_f32 : Resource::multiply_bf16},
          .bytes = 4.0 * double(s.B * s.T * s.H * s.D) *
                   12,  // q, k, v, out; again with the gradient of out; four gradients
          .threads = threads,
          .quick = s.D == 64 && s.T <= 512 && (plain || encoding == "alibi"),
          .prepare = [=] {
            const auto run = std::make_shared<AttentionRun>(
                encoding, AttentionRun::Sizes{s.B, s.H, s.D, s.precision}, Placement::consecutive(0, s.T));
            return [run] { run->run(); };
          }};
}

Floats uniform(std::int64_t size, std::string_view name) {
  const Random random(1, name);
  Floats x(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(random.uniform(i) - 0.5);
  return x;
}

// A query for each of 32 heads, eight heads of keys: Llama 3's.
struct CachedToken {
  static constexpr std::int64_t H = 32, G = 8, D = 128;
  const std::int64_t T;
  KeyCache cache{{1, G, D, D, T}};
  const Floats q = uniform(H * D, "q");
  Floats out = Floats(std::size_t(H * D)), lse = Floats(std::size_t(H));

  explicit CachedToken(std::int64_t keys) : T(keys) {
    const Floats rows = uniform(T * G * D, "keys");
    const Heads<const float> k{rows.data(), 0, G * D, D};
    cache.append({T, k, k});
  }
  void token() {
    AttendShape shape{
        .B = 1, .H = H, .queries = 1, .keys = T, .K = D, .D = D, .scale = 0.09f, .causal = true};
    shape.kv_heads = G;
    attend_cached(shape, {{q.data(), 0, 0, D}}, cache, {}, {}, {out.data(), 0, 0, D}, lse.data());
  }
};

}  // namespace

std::vector<BenchCase> attention_cases(int threads) {
  std::vector<BenchCase> all;
  const auto add = [&](const Sizes& s, const std::string& name, const char* term) {
    all.push_back(attention_case(s, name, term, threads));
  };
  for (const char* term : kTerms) add({16, 4, 512, 64}, "attend.t512", term);
  for (const char* term : kTerms) add({1, 8, 4096, 64}, "attend.t4096", term);
  if (constexpr Precision k16 = Precision::bfloat16; multiplies_in(k16))
    add({16, 4, 512, 64, k16}, "attend.t512.bf16", "none"),
        add({1, 8, 4096, 64, k16}, "attend.t4096.bf16", "none");
  add({4, 4, 128, 32}, "attend.t128.d32", "none"), add({4, 4, 128, 32}, "attend.t128.d32", "alibi");
  for (const std::int64_t D : {16, 32, 128}) add({16, 256 / D, 512, D}, text("attend.t512.d", D), "none");
  add({1, 2, 16384, 64}, "attend.t16384", "none");
  return all;
}

std::vector<BenchCase> decode_cases(int threads) {
  std::vector<BenchCase> all;
  for (const std::int64_t k : {1, 4, 16}) {
    const std::int64_t T = 1024 * k, bytes = 2 * 4 * T * CachedToken::G * CachedToken::D;
    all.push_back({.name = text("decode.", k, "k"),
                   .what = text("one token against ", T, " keys, 32 heads, 8 of keys, D 128, float32"),
                   .unit = "tokens/s",
                   .amount = 1,
                   .work = double(bytes),
                   .limit = {Resource::read, bytes},
                   .threads = threads,
                   .quick = k == 16,
                   .prepare = [T] { return [run = std::make_shared<CachedToken>(T)] { run->token(); }; }});
  }
  return all;
}

}  // namespace gnomon::bench
