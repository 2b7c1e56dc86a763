// A plan in words.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms.h"
#include "gnomon/spec/plan.h"

namespace gnomon {
namespace {

std::string channels(std::int64_t first, std::int64_t count) {
  return text("channels ", first, " to ", first + count - 1);
}
std::string over(std::int64_t heads, std::int64_t tokens) {
  return text(heads > 1 ? "one per head" : "the same for all heads",
              tokens == 1 ? ", the same for all tokens" : "");
}
std::string pairs_of(const auto& step) {
  const std::string channels =
      step.stride == 2 && step.gap == 1 ? "(2i, 2i+1)" : text("(i, i+", step.gap, ")");
  return text(counted(std::size_t(step.pairs), "pair"), " ", channels, " from channel ", step.first);
}
std::string say(const Rotate& r) { return text("rotate ", pairs_of(r), ", ", over(r.heads, r.tokens)); }
std::string say(const Scale& s) {
  return text("scale ", channels(0, s.width), " by a factor per token", s.heads > 1 ? " and head" : "");
}
std::string say(const Softplus& s) { return text("softplus of ", channels(0, s.width)); }
std::string say(const TurnPlane& p) {
  return text("rotate in a plane of ", channels(0, p.width), ", one plane per head");
}
std::string say(const MultiplyBlocks& m) {
  return text("multiply ", channels(0, m.width()), " by ",
              m.blocks == 1 ? "a matrix" : text("matrices of ", m.size, " channels"), ", ",
              over(m.heads, m.tokens));
}
std::string say(const Widen& w) { return text("append ", channels(w.first, w.width)); }
std::string say(const Repeat& r) {
  return text("copy ", channels(0, r.width), " to channel ", r.to, " and up");
}

std::string roles(const Step& step) {
  std::string out;
  for (const auto& [role, name] :
       {std::pair{Role::q, "q"}, {Role::k, "k"}, {Role::v, "v"}, {Role::out, "output"}}) {
    if (step.acts_on(role)) out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string out;
  const auto line = [&](std::string_view stage, const std::string& what) {
    out += text("  ", stage, std::string(stage.size() < 16 ? 16 - stage.size() : 1, ' '), what, "\n");
  };
  for (const Step& step : plan.steps) {
    const std::string what = std::visit([](const auto& s) { return say(s); }, step.what);
    line(roles(step), what + (step.learns ? "; learned" : ""));
  }
  const Terms& t = plan.terms;
  std::string score = "scale*q*k";
  if (t.content_scale != 1)
    score += text(", times ", shortest(std::round(double(t.content_scale) * 1e6) / 1e6));
  if (std::isfinite(t.far_from))
    score += text("; from distance ", shortest(t.far_from), " on, the product of the copied channels");
  line("score", score);
  for (const TermArray& a : kTermArrays) {
    const Floats& numbers = t.*a.at;
    if (!numbers.empty()) line("term", text(a.name, ", ", numbers.size(), " numbers"));
  }
  if (!t.first_key.empty()) line("mask", "each query sees one range of keys");
  line("weights", t.weights == Weighting::softmax ? "softmax" : "stick-breaking, no softmax");
  return out;
}

}  // namespace gnomon
