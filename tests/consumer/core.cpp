// What a user of the installed library writes: an encoding, its numbers, and a wrong spec.
#include <gnomon/combine/spec.h>
#include <gnomon/core/error.h>
#include <gnomon/nn/train.h>

#include <cstdio>

int main() {
  const gnomon::Shape shape{.C = 16, .H = 2, .D = 8, .length = 32, .causal = true};
  const auto rope = gnomon::make_encoding({"rope", {{"pairing", "halves"}}}, shape);
  if (rope->frequencies().size() != 4) return 1;
  const auto e = gnomon::make_encoding(
      gnomon::Named{"sinusoidal", {{"layout", "interleaved"}, {"frequencies", "paper"}}}, shape);
  const double positions[] = {5, 6};
  double dot = 0;
  for (int c = 0; c < 16; ++c)
    dot += e->input({positions, {}, {}, {}}, 0, c) * e->input({positions, {}, {}, {}}, 1, c);
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
