// Any bytes as a spec: parsed, or refused as a usage error. What was parsed is printed and parsed equal; where it
// can be made for a small shape, a model of it gives a loss and gradients for eight tokens.
#include "gnomon/core/error.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/session.h"
#include "gnomon/spec/scheme.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

constexpr std::int64_t kMostNumbers = 1 << 20;  // larger tables are a matter of memory, not of reading

std::int64_t param_count(const Scheme& scheme) {
  std::int64_t count = scheme.input ? scheme.input->param_count() : 0;
  for (const auto& at : scheme.attention) count += at.encoding->param_count();
  return count;
}

bool passes_through(const Spec& spec, bool causal) try {
  Architecture architecture =
      make_block("gpt", {.layers = 2, .width = 16, .heads = 2, .feed_forward = 1, .length = 8}, spec);
  architecture.causal = causal;
  if (param_count(make_scheme(spec, {16, 2, 8, 8, causal})) > kMostNumbers) return true;
  const Model model(architecture);
  const std::vector<std::int32_t> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Floats w = model.initial(1);
  Floats losses(8), gradient(w.size());
  const Tokens tokens{1, 8, std::span(bytes).first(8), std::span(bytes).last(8)};
  Session(model).loss(tokens, w, losses, gradient);
  return true;
} catch (const Error& e) {
  require(e.fault() == Fault::usage, "a spec that cannot be made is a usage error, and nothing else");
  return false;
}

}  // namespace

bool accepts(std::string_view bytes) {
  try {
    const Spec spec = Spec::parse(bytes);
    const std::string printed = spec.print();
    require(Spec::parse(printed) == spec, text("what was printed parses equal: ", printed));
    const bool decodes = passes_through(spec, true), encodes = passes_through(spec, false);
    return decodes || encodes;
  } catch (const Error& e) {
    require(e.fault() == Fault::usage, "a wrong spec is a usage error, and nothing else");
    return false;
  }
}

}  // namespace gnomon::fuzz
