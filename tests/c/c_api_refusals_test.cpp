// What gnomon.h refuses, and in which words.
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>

#include "gnomon/c/call.h"
#include "gnomon/core/error.h"
#include "tests/c/c_api.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

// A call that is right, to be made wrong in one thing.
class CRefusals : public testing::Test {
 protected:
  CRefusals() {
    in.q = rows_in_c(q, kHeads), in.k = rows_in_c(k, kGroups), in.v = rows_in_c(k, kGroups);
    out = rows_in_c(returned, kHeads);
    places.tokens = kTokens;
    scene.places = &places;
  }
  gnomon_status forward() { return gnomon_forward(a.get(), &in, &out, nullptr); }
  gnomon_status create(const char* spec) {
    const CAttention owner(std::exchange(made, nullptr));
    return gnomon_attention_create(spec, &config, &made);
  }
  ~CRefusals() override { gnomon_attention_free(made); }

  const CAttention a = attention_in_c("rope");
  const Floats q = normals(kB * kHeads * kTokens * kSize, 1), k = normals(kB * kGroups * kTokens * kSize, 2);
  Floats returned = Floats(q.size());
  gnomon_attention_config config = grouped_in_c();
  gnomon_attention_input in = GNOMON_ATTENTION_INPUT_INIT;
  gnomon_places places = GNOMON_PLACES_INIT;
  gnomon_scene scene = GNOMON_SCENE_INIT;
  gnomon_view out;
  gnomon_attention* made = nullptr;
};

TEST_F(CRefusals, WhatIsRightIsNot) {
  ok(forward());
  ok(create("rope"));
  ok(gnomon_rotate(a.get(), &scene, GNOMON_Q, &out));
}

TEST_F(CRefusals, NullPointers) {
  std::int64_t n = 0;
  const char* lent = nullptr;
  refused_in_c("spec is null", gnomon_attention_create(nullptr, &config, &made));
  refused_in_c("config is null", gnomon_attention_create("rope", nullptr, &made));
  refused_in_c("attention is null", gnomon_attention_create("rope", &config, nullptr));
  refused_in_c("attention is null", gnomon_attention_spec(nullptr, &lent));
  refused_in_c("spec is null", gnomon_attention_spec(a.get(), nullptr));
  refused_in_c("attention is null", gnomon_attention_encodings(nullptr, &n));
  refused_in_c("count is null", gnomon_attention_encodings(a.get(), nullptr));
  refused_in_c("name is null", gnomon_attention_encoding(a.get(), 0, nullptr));
  refused_in_c("count is null", gnomon_attention_frequencies(a.get(), 0, nullptr, 0, nullptr));
  refused_in_c("numbers is null", gnomon_attention_parameters(a.get(), &n, nullptr));
  refused_in_c("parameter is null", gnomon_attention_parameter(a.get(), 0, nullptr));
  refused_in_c("attention is null", gnomon_forward(nullptr, &in, &out, nullptr));
  refused_in_c("input is null", gnomon_forward(a.get(), nullptr, &out, nullptr));
  refused_in_c("out is null", gnomon_forward(a.get(), &in, nullptr, nullptr));
  refused_in_c("saved is null", gnomon_backward(nullptr, &out, nullptr));
  refused_in_c("cache is null", gnomon_cache_create(a.get(), 1, 8, 0, nullptr));
  refused_in_c("cache is null", gnomon_cache_length(nullptr, 0, &n));
  refused_in_c("cache is null", gnomon_decode(a.get(), &in, nullptr, &out));
  refused_in_c("scene is null", gnomon_rotate(a.get(), nullptr, GNOMON_Q, &out));
  refused_in_c("rows is null", gnomon_rotate(a.get(), &scene, GNOMON_Q, nullptr));
  refused_in_c("table is null", gnomon_bias_table(a.get(), &scene, 0, 1, nullptr));
  refused_in_c("text is null", gnomon_plan_text(a.get(), &scene, nullptr));
  refused_in_c("threads is null", gnomon_get_threads(nullptr));
  scene.places = nullptr;
  refused_in_c("places is null", gnomon_rotate(a.get(), &scene, GNOMON_Q, &out));
  in.q.data = nullptr;
  refused_in_c("q: data is null", forward());
}

TEST_F(CRefusals, StructsOfAnotherSize) {
  for (const std::size_t size : {std::size_t{0}, sizeof config - 8, sizeof config + 8}) {
    config.size = size;
    refused_in_c(text("config: size is ", size, "; allowed is ", sizeof config), create("rope"));
  }
  in.size = 4;
  refused_in_c("input: size is 4", forward());
  in.size = sizeof in, in.places = &places, places.size = 5;
  refused_in_c("places: size is 5", forward());
  scene.size = 6;
  refused_in_c("scene: size is 6", gnomon_rotate(a.get(), &scene, GNOMON_Q, &out));
  gnomon_parameter parameter = GNOMON_PARAMETER_INIT;
  parameter.size = 7;
  refused_in_c("parameter: size is 7", gnomon_attention_parameter(a.get(), 0, &parameter));
}

TEST_F(CRefusals, SpecsAndConfigurations) {
  refused_in_c("did you mean 'rope'", create("rop"));
  EXPECT_EQ(made, nullptr);
  refused_in_c("do not act inside attention", create("sinusoidal"));
  config.heads = 3;
  refused_in_c("heads is 3; allowed are multiples of kv_heads, 2", create("rope"));
  config = grouped_in_c(), config.head_dim = -1;
  refused_in_c("head_dim is -1", create("rope"));
  config = grouped_in_c(), config.causal = 2;
  refused_in_c("causal is 2", create("rope"));
  config = grouped_in_c(), config.scale = std::numeric_limits<double>::quiet_NaN();
  refused_in_c("scale is nan", create("rope"));
}

TEST_F(CRefusals, RowsThatDoNotFit) {
  const gnomon_attention_input right = in;
  in.q.extents[1] = 5;
  refused_in_c("q: found (sequences,heads,tokens,channels) = (2,5,9,16); allowed is (2,4,9,16)", forward());
  in = right, in.v.extents[3] = 8;
  refused_in_c("v: found", forward());
  for (const std::int64_t number : {-1, 3, 256}) {
    in = right, in.k.number = number;
    refused_in_c(text("k: found number type ", number, "; allowed are"), forward());
  }
  in = right, in.k.steps[0] = -1;
  refused_in_c("k: found a step of -1", forward());
  in = right, out.steps[2] = 0;
  refused_in_c("make numbers overlap", forward());
}

TEST_F(CRefusals, PlacesAndParameters) {
  std::vector<double> positions(kTokens, std::numeric_limits<double>::quiet_NaN());
  in.places = &places;
  places.positions = positions.data();
  refused_in_c("nan is not a number", forward());
  places.positions = nullptr, places.tokens = kTokens - 1;
  refused_in_c("places has rows=1 and tokens=8", forward());
  places.rows = 3;
  refused_in_c("rows is 3", forward());
  places.rows = std::numeric_limits<std::int64_t>::max();
  refused_in_c("rows is", forward());
  in.places = nullptr, in.parameter_count = 2;
  refused_in_c("parameters is null", forward());
  in.parameters = q.data();
  refused_in_c("w has 2 numbers", forward());
  in.parameter_count = -1;
  refused_in_c("count is -1", forward());
}

TEST_F(CRefusals, IndicesAndRoles) {
  const char* name = nullptr;
  std::int64_t n = 0;
  double one = 0;
  float table = 0;
  gnomon_parameter parameter = GNOMON_PARAMETER_INIT;
  refused_in_c("index is 1", gnomon_attention_encoding(a.get(), 1, &name));
  refused_in_c("index is 0", gnomon_attention_parameter(a.get(), 0, &parameter));
  refused_in_c("capacity is 1; allowed are 8", gnomon_attention_frequencies(a.get(), 0, &one, 1, &n));
  refused_in_c("count is 3", gnomon_attention_initial(a.get(), 1, returned.data(), 3));
  refused_in_c("role is 3", gnomon_rotate(a.get(), &scene, gnomon_role(3), &out));
  refused_in_c("first is 9", gnomon_bias_table(a.get(), &scene, 9, 1, &table));
  refused_in_c("threads is 0", gnomon_set_threads(0));
  refused_in_c("threads is -5", gnomon_set_threads(-5));
  refused_in_c("there is no table",
               gnomon_bias_table(attention_in_c("stick_breaking").get(), &scene, 0, 1, &table));
}

TEST_F(CRefusals, CachesThatCannotBe) {
  gnomon_cache* cache = nullptr;
  refused_in_c("capacity", gnomon_cache_create(a.get(), 1, 0, 0, &cache));
  config.causal = 0;
  ok(create("rope"));
  refused_in_c("needs causal attention", gnomon_cache_create(made, 1, 8, 0, &cache));
  refused_in_c("has no key cache",
               gnomon_cache_create(attention_in_c("transformer_xl", kHeads).get(), 1, 8, 0, &cache));
  ok(gnomon_cache_create(a.get(), 1, 8, 0, &cache));
  const CCache owner(cache);
  std::int64_t length = 0;
  double position = 0;
  refused_in_c("", gnomon_cache_length(cache, 1, &length));
  refused_in_c("", gnomon_cache_position(cache, 0, 0, &position));
  refused_in_c("the cache has B=1", gnomon_decode(a.get(), &in, cache, &out));
}

// A call that is refused leaves the cache as it was: the next token gets the same answer as if nobody had asked. Frequencies
// that follow the context would have turned the cached keys.
TEST_F(CRefusals, ARefusedTokenLeavesTheCacheAsItWas) {
  const std::vector<std::uint8_t> ones(kB * kTokens * 2 * kTokens, 1);
  const Floats bias(ones.size());
  const double halves[] = {9, 9.5, 10, 11, 12, 13, 14, 15, 16};
  gnomon_places between = GNOMON_PLACES_INIT;
  between.positions = halves, between.tokens = kTokens;
  const std::int32_t documents[] = {0, 0, 0, 1, 1, 1, 1, 1, 1};
  gnomon_places packed = GNOMON_PLACES_INIT;
  packed.documents = documents, packed.tokens = kTokens;
  struct Case {
    const char *spec, *words;
    std::int64_t capacity;
    std::function<void(gnomon_attention_input&)> wrong;
  };
  const Case cases[] = {
      {"dynamic_ntk(factor=4, original=8)", "the cache is full", kTokens + 1, [](auto&) {}},
      {"dynamic_ntk(factor=4, original=8)", "bias", 64,
       [&](auto& x) {
         x.bias = {const_cast<float*>(bias.data()), 0, 0, std::int64_t{1} << 62};
       }},
      {"stick_breaking", "without padding", 64, [&](auto& x) { x.padding = ones.data(); }},
      {"rope", "out overlaps q", 64, [&](auto& x) { x.q = out; }},
      {"alibi", "have documents", 64, [&](auto& x) { x.places = &packed; }},
      {"sandwich", "whole", 64, [&](auto& x) { x.places = &between; }},
  };
  const auto one = [](gnomon_view x) { return x.extents[2] = 1, x; };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.spec + std::string(": ") + c.words);
    const CAttention attention = attention_in_c(c.spec);
    Floats answers[2];
    for (const bool refused : {false, true}) {
      gnomon_cache* made_cache = nullptr;
      ok(gnomon_cache_create(attention.get(), kB, c.capacity, 0, &made_cache));
      const CCache cache(made_cache);
      ok(gnomon_decode(attention.get(), &in, cache.get(), &out));
      gnomon_attention_input wrong = in, next = in;
      c.wrong(wrong);
      if (refused) refused_in_c(c.words, gnomon_decode(attention.get(), &wrong, cache.get(), &out));
      next.q = one(in.q), next.k = one(in.k), next.v = one(in.v);
      const gnomon_view to = one(out);
      ok(gnomon_decode(attention.get(), &next, cache.get(), &to));
      std::int64_t keys = 0;
      ok(gnomon_cache_keys(cache.get(), &keys));
      EXPECT_EQ(keys, kTokens + 1);
      answers[refused] = returned;
    }
    EXPECT_EQ(answers[0], answers[1]);
  }
}

// Keys that one encoding has turned mean nothing to another, whether they are as wide or not. What is the same spec in other
// words has the same cache.
TEST_F(CRefusals, TheCacheOfAnotherEncoding) {
  for (const auto& [maker, reader] : {std::pair{"pope", "rope"},
                                      {"rope", "rope(theta=100)"},
                                      {"t5", "rope+alibi"},
                                      {"none", "rope"},
                                      {"rope", "rope+window(size=4)"}}) {
    SCOPED_TRACE(text(maker, " -> ", reader));
    gnomon_cache* cache = nullptr;
    ok(gnomon_cache_create(attention_in_c(maker).get(), kB, 64, 0, &cache));
    const CCache owner(cache);
    refused_in_c(text("the cache was made for '", maker, "'"),
                 gnomon_decode(attention_in_c(reader).get(), &in, cache, &out));
    std::int64_t length = -1;
    ok(gnomon_cache_length(cache, 0, &length));
    EXPECT_EQ(length, 0);
  }
  gnomon_cache* cache = nullptr;
  ok(gnomon_cache_create(attention_in_c("rope(theta=10000)").get(), kB, 64, 0, &cache));
  const CCache owner(cache);
  ok(gnomon_decode(a.get(), &in, cache, &out));
  config.length = 4096;
  ok(create("rope"));
  refused_in_c("in windows of 64 tokens; allowed is a cache for 'rope' in windows of 4096 tokens",
               gnomon_decode(made, &in, cache, &out));
}

TEST_F(CRefusals, OutputsThatOverlap) {
  const auto refused = [&](const char* words, const gnomon_view& to) {
    refused_in_c(words, gnomon_forward(a.get(), &in, &to, nullptr));
  };
  refused("out overlaps q", in.q);
  gnomon_view last = out;  // its last number is the first of v
  in.v.data = static_cast<float*>(out.data) + returned.size() - 1;
  in.v.extents[0] = in.k.extents[0], refused("out overlaps v", last);
  in.v = rows_in_c(k, kGroups);
  in.sinks = static_cast<const float*>(out.data) + 5;
  refused("out overlaps sinks", out);
  in.sinks = nullptr;
  in.bias = {static_cast<float*>(out.data) + 40, 0, 0, 0};
  refused("out overlaps bias", out);
  in.bias = {};
  ok(forward());
}

// q and what is returned in one array, the rows of one between those of the other: apart, though one begins before the other ends.
TEST_F(CRefusals, RowsBetweenRowsAreApart) {
  Floats both(2 * q.size());
  const auto half = [&](std::int64_t n) {
    gnomon_view view = rows_in_c(both, kHeads);
    for (std::int64_t& step : view.steps) step *= 2;
    view.steps[3] = 1, view.data = both.data() + n * kSize;
    return view;
  };
  const gnomon_view to = half(1);
  gnomon_attention_input from = in;
  from.q = half(0);
  for (std::size_t n = 0; n < q.size(); ++n) both[n / kSize * 2 * kSize + n % kSize] = q[n];
  ok(forward());
  ok(gnomon_forward(a.get(), &from, &to, nullptr));
  for (std::size_t n = 0; n < q.size(); ++n)
    ASSERT_EQ(both[n / kSize * 2 * kSize + kSize + n % kSize], returned[n]) << n;
  gnomon_view shifted = to;
  shifted.data = both.data() + kSize - 1;
  refused_in_c("out overlaps q", gnomon_forward(a.get(), &from, &shifted, nullptr));
}

TEST_F(CRefusals, GradientsThatOverlap) {
  gnomon_saved* kept = nullptr;
  ok(gnomon_forward(a.get(), &in, &out, &kept));
  const std::unique_ptr<gnomon_saved, void (*)(gnomon_saved*)> saved(kept, gnomon_saved_free);
  Floats dout = q, dq(q.size()), dk(k.size()), dv(k.size());
  gnomon_attention_gradients right = GNOMON_ATTENTION_GRADIENTS_INIT;
  right.dq = rows_in_c(dq, kHeads), right.dk = rows_in_c(dk, kGroups), right.dv = rows_in_c(dv, kGroups);
  const gnomon_view given = rows_in_c(dout, kHeads);
  ok(gnomon_backward(kept, &given, &right));
  const auto refused = [&](const char* words, auto change) {
    gnomon_attention_gradients wrong = right;
    change(wrong);
    refused_in_c(words, gnomon_backward(kept, &given, &wrong));
  };
  refused("dq overlaps q", [&](auto& g) { g.dq = in.q; });
  refused("dq overlaps dout", [&](auto& g) { g.dq = given; });
  refused("dq overlaps out", [&](auto& g) { g.dq = out; });
  refused("dv overlaps dk", [&](auto& g) { g.dv = g.dk; });
  refused("dk overlaps k", [&](auto& g) { g.dk = in.k; });
}

// Whatever C++ throws is a status.
TEST(CCalls, EveryExceptionIsAStatus) {
  EXPECT_EQ(c::call([] {}), GNOMON_OK);
  refused_in_c("out of memory", c::call([] { throw std::bad_alloc(); }), GNOMON_RESOURCE);
  refused_in_c("a file", c::call([] { throw Error(Fault::input, "a file"); }), GNOMON_INPUT);
  refused_in_c("odd", c::call([] { throw std::logic_error("odd"); }), GNOMON_BUG);
  refused_in_c("unknown", c::call([] { throw 7; }), GNOMON_BUG);
  EXPECT_EQ(c::call([] {}), GNOMON_OK);
  refused_in_c("unknown", GNOMON_BUG, GNOMON_BUG);  // it stays
}

}  // namespace
}  // namespace gnomon
