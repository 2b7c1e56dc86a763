// The node tests of ONNX's Attention and RotaryEmbedding (tests/golden/onnx_cases.py) through the one call.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/half.h"
#include "gnomon/files/safetensors.h"
#include "gnomon/kernels/steps.h"
#include "gnomon/nn/attention.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;

struct Cases {
  TensorFile file;
  explicit Cases(const std::string& name)
      : file(read_safetensors(std::string(GNOMON_TESTS) + "/golden/onnx/" + name, Digest::if_present)) {}
  const Tensor* find(const std::string& name) const {
    for (const Tensor& t : file.tensors) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }
};

// A tensor of a case in its own number type: (B,heads,tokens,channels), or 3-D (B,tokens,heads·channels).
struct Given {
  std::array<std::int64_t, 4> extents{};
  Number number = Number::float32;
  bool tokens_before_heads = false;
  std::vector<float> wide;
  std::vector<std::uint16_t> half;

  const void* data() const {
    return number == Number::float32 ? static_cast<const void*>(wide.data()) : half.data();
  }
  ConstView view() const {
    return tokens_before_heads ? tokens_first(data(), number, extents) : heads_first(data(), number, extents);
  }
};
std::uint16_t stored(float x, Number number) {
  return number == Number::bfloat16 ? BFloat16(x).bits : Float16(x).bits;
}
float rounded(float x, Number number) {
  if (number == Number::bfloat16) return float(BFloat16(x));
  return number == Number::float16 ? float(Float16(x)) : x;
}
Number type_of(const Json& c, const std::string& name) {
  const std::string type = c.at("types").at(name);
  return type == "BF16" ? Number::bfloat16 : type == "F16" ? Number::float16 : Number::float32;
}

struct Case {
  const Cases& all;
  std::string name;
  Json c;

  const Tensor* tensor(const std::string& input) const { return all.find(name + "/" + input); }
  double attribute(const char* key, double standard) const {
    return c.at("attributes").contains(key) ? c.at("attributes").at(key).get<double>() : standard;
  }
  Given given(const std::string& input, std::int64_t heads) const {
    const Tensor& t = *tensor(input);
    Given g;
    g.number = type_of(c, input);
    g.tokens_before_heads = t.shape.size() == 3;
    if (g.tokens_before_heads) {
      g.extents = {t.shape[0], heads, t.shape[1], t.shape[2] / heads};
    } else {
      g.extents = {t.shape[0], t.shape[1], t.shape[2], t.shape[3]};
    }
    g.wide.assign(t.data.begin(), t.data.end());
    for (const float x : g.wide) g.half.push_back(stored(x, g.number));
    return g;
  }
  // Keys after those of the past.
  Given with_past(const std::string& past, Given now) const {
    if (!tensor(past)) return now;
    const Given before = given(past, 0);
    const auto [B, H, P, D] = before.extents;
    const std::int64_t T = now.extents[2];
    Floats dense;
    widen(now.view(), dense);
    Given all_keys{{B, H, P + T, D}, now.number, false, {}, {}};
    for (std::int64_t bh = 0; bh < B * H; ++bh) {
      all_keys.wide.insert(all_keys.wide.end(), &before.wide[bh * P * D], &before.wide[bh * P * D] + P * D);
      all_keys.wide.insert(all_keys.wide.end(), &dense[bh * T * D], &dense[bh * T * D] + T * D);
    }
    for (const float x : all_keys.wide) all_keys.half.push_back(stored(x, all_keys.number));
    return all_keys;
  }
};

// attn_mask broadcast from the right to (B,H,queries,keys); the keys that it lacks are hidden.
struct Mask {
  std::vector<float> bias;
  std::vector<std::uint8_t> seen;
};
Mask mask_of(const Case& c, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S) {
  Mask m;
  const Tensor* t = c.tensor("attn_mask");
  if (!t) return m;
  std::array<std::int64_t, 4> e{1, 1, 1, 1};
  for (std::size_t n = 0; n < t->shape.size(); ++n) e[4 - t->shape.size() + n] = t->shape[n];
  const bool bytes = c.c.at("types").at("attn_mask") == "BOOL";
  for (std::int64_t n = 0; n < B * H * T * S; ++n) {
    const std::int64_t s = n % S, q = n / S % T, h = n / S / T % H, b = n / S / T / H;
    const std::int64_t at =
        (((e[0] > 1 ? b : 0) * e[1] + (e[1] > 1 ? h : 0)) * e[2] + (e[2] > 1 ? q : 0)) * e[3] +
        (e[3] > 1 ? s : 0);
    const bool beyond = s >= e[3] && e[3] > 1;
    if (bytes) m.seen.push_back(!beyond && t->data[std::size_t(at)] != 0);
    if (!bytes) m.bias.push_back(beyond ? -INFINITY : t->data[std::size_t(at)]);
  }
  return m;
}

void expect_close(const Case& c, const Floats& found) {
  const Tensor& want = *c.tensor("Y");
  const Number number = type_of(c.c, "Y");
  const double rtol = c.c.at("rtol"), atol = c.c.at("atol");
  ASSERT_EQ(found.size(), want.data.size());
  for (std::size_t n = 0; n < found.size(); ++n)
    ASSERT_NEAR(rounded(found[n], number), want.data[n], atol + rtol * std::abs(want.data[n]))
        << "number " << n;
}

void attention(const Case& c) {
  const auto heads = [&](const char* key) { return std::int64_t(c.attribute(key, 0)); };
  const Given q = c.given("Q", heads("q_num_heads")),
              k = c.with_past("past_key", c.given("K", heads("kv_num_heads"))),
              v = c.with_past("past_value", c.given("V", heads("kv_num_heads")));
  const auto [B, H, T, D] = q.extents;
  const std::int64_t S = k.extents[2];
  const Attention a("none", {.heads = H,
                             .kv_heads = k.extents[1],
                             .head_dim = D,
                             .value_dim = v.extents[3],
                             .causal = c.attribute("is_causal", 0) != 0,
                             .scale = c.attribute("scale", 0),
                             .soft_cap = float(c.attribute("softcap", 0))});
  const Mask mask = mask_of(c, B, H, T, S);
  AttentionInput in{.q = q.view(), .k = k.view(), .v = v.view()};
  in.first = c.tensor("past_key") ? c.tensor("past_key")->shape[2] : 0;
  in.left = std::int64_t(c.attribute("left_window_size", -1)),
  in.right = std::int64_t(c.attribute("right_window_size", -1));
  if (!mask.bias.empty()) in.bias = {mask.bias.data(), H * T * S, T * S, S};
  if (!mask.seen.empty()) in.mask = {mask.seen.data(), H * T * S, T * S, S};
  std::vector<std::uint8_t> padding;
  std::vector<std::int64_t> firsts;
  if (const Tensor* lengths = c.tensor("nonpad_kv_seqlen")) {
    for (std::int64_t n = 0; n < B * S; ++n)
      padding.push_back(float(n % S) >= lengths->data[std::size_t(n / S)]);
    in.padding = padding.data();
    for (const float length : lengths->data) firsts.push_back(std::int64_t(length) - T);
    if (!c.tensor("past_key")) in.firsts = firsts.data();
  }
  Given y{{B, H, T, v.extents[3]}, type_of(c.c, "Y"), q.tokens_before_heads, {}, {}};
  y.wide.resize(c.tensor("Y")->data.size()), y.half.resize(y.wide.size());
  const ConstView out = y.view();
  a.forward(in, {const_cast<void*>(out.data), out.number, out.extents, out.steps});
  if (y.number != Number::float32) {
    for (std::size_t n = 0; n < y.wide.size(); ++n) {
      BFloat16 b;
      Float16 f;
      b.bits = f.bits = y.half[n];
      y.wide[n] = y.number == Number::bfloat16 ? float(b) : float(f);
    }
  }
  expect_close(c, Floats(y.wide.begin(), y.wide.end()));
}

// A step of a plan turns rows by tables that are given.
void rotary(const Case& c) {
  const Given x = c.given("X", std::int64_t(c.attribute("num_heads", 0)));
  const auto [B, H, T, D] = x.extents;
  const std::int64_t dim = std::int64_t(c.attribute("rotary_embedding_dim", 0)), pairs = (dim ? dim : D) / 2;
  const Tensor &cos = *c.tensor("cos_cache"), &sin = *c.tensor("sin_cache");
  const Tensor* ids = c.tensor("position_ids");
  const bool adjacent = c.attribute("interleaved", 0) != 0;
  Rotate turn{0, pairs, adjacent ? 2 : 1, adjacent ? 1 : pairs, 1, B * T, {}, {}};
  for (std::int64_t n = 0; n < B * T; ++n) {
    const std::int64_t row = ids ? std::int64_t(ids->data[std::size_t(n)]) : n;
    turn.cos.insert(turn.cos.end(), &cos.data[row * pairs], &cos.data[row * pairs] + pairs);
    turn.sin.insert(turn.sin.end(), &sin.data[row * pairs], &sin.data[row * pairs] + pairs);
  }
  Floats rows(x.wide.begin(), x.wide.end());
  const ConstView at = x.view();
  apply({unsigned(Role::q), turn}, Role::q, RowLayout{B, T, H, at.steps[0], at.steps[2], at.steps[1]},
        rows.data());
  expect_close(c, rows);
}

template <class Run>
int each_case(const char* file, const Run& run) {
  const Cases all(file);
  int count = 0;
  for (const auto& [key, value] : all.file.metadata) {
    if (key.rfind("test_", 0) != 0) continue;
    SCOPED_TRACE(key);
    run(Case{all, key, Json::parse(value)});
    ++count;
  }
  return count;
}

TEST(Onnx, Attention) { EXPECT_EQ(each_case("attention.safetensors", attention), 93); }
TEST(Onnx, RotaryEmbedding) { EXPECT_EQ(each_case("rotary.safetensors", rotary), 8); }

}  // namespace
}  // namespace gnomon
