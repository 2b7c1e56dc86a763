// What a user of the installed library writes: the lines of README and docs/cpp.md, the registry, the vectors of an encoding,
// and a wrong spec.
#include <gnomon/core/error.h>
#include <gnomon/encodings/search.h>
#include <gnomon/nn/alone.h>
#include <gnomon/spec/spec.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "shown/README.h"
#include "shown/docs/cpp.h"

// Where all values are 1, so is every output; and channel 0 turns by 7 radians against channel 64.
bool pages_work() {
  using namespace gnomon;
  constexpr std::int64_t T = 3;
  std::vector<float> q(32 * T * 128, 0.1f), k(8 * T * 128, 0.2f), v(k.size(), 1.0f), out(q.size()),
      dq(q.size()), dk(k.size()), dv(k.size()), rows(32 * 128, 1.0f);
  const auto view = [](auto* data, std::int64_t heads) {
    return heads_first(data, Number::float32, {1, heads, T, 128});
  };
  const auto seen = [&](const std::vector<float>& x, std::int64_t heads) {
    return view(static_cast<const void*>(x.data()), heads);
  };
  const auto made = [&](std::vector<float>& x, std::int64_t heads) {
    return view(static_cast<void*>(x.data()), heads);
  };
  AttentionInput in;
  in.q = seen(q, 32), in.k = seen(k, 8), in.v = seen(v, 8);
  train_then_decode(in, made(out, 32), seen(q, 32), {made(dq, 32), made(dk, 8), made(dv, 8)},
                    heads_first(static_cast<void*>(rows.data()), Number::float32, {1, 32, 1, 128}));
  std::vector<float> decoded(q.size());
  Layer().decode(in, made(decoded, 32));
  for (std::size_t n = 0; n < out.size(); ++n) {
    if (std::abs(out[n] - 1) > 1e-6f || std::abs(decoded[n] - 1) > 1e-6f) return false;
  }
  return std::abs(rows[0] - float(std::cos(7.0) - std::sin(7.0))) < 1e-6f && dv[0] != 0;
}

int main() {
  if (!pages_work()) return 2;
  const auto found = gnomon::search_encodings("slopes", {.acts = gnomon::kLogits});
  if (found.empty() || found.front()->name != "alibi") return 1;
  if (gnomon::Spec::parse("rope(theta=10000)+alibi").print() != "rope+alibi") return 1;
  const gnomon::Placement places = gnomon::Placement::consecutive(5, 2);
  const auto e = gnomon::position_vectors("sinusoidal", 16, places);
  double dot = 0;
  for (int c = 0; c < 16; ++c) dot += double(e[c]) * e[16 + c];
  std::printf("%.6f\n", dot);
  try {
    gnomon::Attention("rop", {.heads = 2, .head_dim = 8});
  } catch (const gnomon::Error& error) {
    return error.details().suggestions.front() == "rope" && dot > 7.48516 && dot < 7.48517 ? 0 : 1;
  }
  return 1;
}
