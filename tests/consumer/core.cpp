// What a user of the installed library writes: README's lines, an encoding, its numbers, and a wrong spec.
#include <gnomon/core/error.h>
#include <gnomon/nn/attention.h>
#include <gnomon/nn/block.h>
#include <gnomon/nn/train.h>
#include <gnomon/spec/spec.h>

#include <cmath>
#include <cstdio>
#include <vector>

void train_then_decode(const gnomon::AttentionInput& in, const gnomon::View& out,
                       const gnomon::ConstView& dout, const gnomon::AttentionGradients& to,
                       const gnomon::View& rows);  // README's

// Where all values are 1, so is every output; and channel 0 turns by 7 radians against channel 64.
bool readme_works() {
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
  for (const float x : out) {
    if (std::abs(x - 1) > 1e-6f) return false;
  }
  return std::abs(rows[0] - float(std::cos(7.0) - std::sin(7.0))) < 1e-6f && dv[0] != 0;
}

int main() {
  if (!readme_works()) return 2;
  const gnomon::Shape shape{.C = 16, .H = 2, .D = 8, .length = 32, .causal = true};
  const auto rope = gnomon::make_encoding({"rope", {{"pairing", "halves"}}}, shape);
  if (rope->frequencies().size() != 4) return 1;
  const auto e = gnomon::make_encoding(
      gnomon::Named{"sinusoidal", {{"layout", "interleaved"}, {"frequencies", "paper"}}}, shape);
  const auto& vector = *gnomon::part<gnomon::InputPart>(*e);
  const double positions[] = {5, 6};
  const gnomon::Scene at{positions, {}, {}, {}};
  double dot = 0;
  for (int c = 0; c < 16; ++c) dot += vector.input(at, 0, c) * vector.input(at, 1, c);
  std::printf("%.6f\n", dot);
  const auto llama = gnomon::make_block("llama", {}, gnomon::Spec::parse("rope+alibi"));
  if (gnomon::Trainer(llama, {}, 1).model.param_count() == 0) return 1;
  try {
    gnomon::make_encoding("rop", shape);
  } catch (const gnomon::Error&) {
    return dot > 7.48516 && dot < 7.48517 ? 0 : 1;
  }
  return 1;
}
