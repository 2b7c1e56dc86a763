// What gnomon.h refuses, and in which words.
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>

#include "gnomon/c/call.h"
#include "gnomon/core/error.h"
#include "tests/unit/c_api.h"
#include "tests/unit/support.h"

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
  refused_in_c("q: no data", forward());
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
  refused_in_c("heads is 3, no multiple of kv_heads, 2", create("rope"));
  config = grouped_in_c(), config.head_size = -1;
  refused_in_c("head_size is -1", create("rope"));
  config = grouped_in_c(), config.causal = 2;
  refused_in_c("causal is 2", create("rope"));
  config = grouped_in_c(), config.scale = std::numeric_limits<double>::quiet_NaN();
  refused_in_c("scale is nan", create("rope"));
}

TEST_F(CRefusals, RowsThatDoNotFit) {
  const gnomon_attention_input right = in;
  in.q.extents[1] = 5;
  refused_in_c("q: found (sequences,heads,tokens,channels) (2,5,9,16); allowed is (2,4,9,16)", forward());
  in = right, in.v.extents[3] = 8;
  refused_in_c("v: found", forward());
  for (const std::int64_t number : {-1, 3, 256}) {
    in = right, in.k.number = number;
    refused_in_c(text("k: a number type ", number, "; allowed are"), forward());
  }
  in = right, in.k.steps[0] = -1;
  refused_in_c("k: a step of -1", forward());
  in = right, out.steps[2] = 0;
  refused_in_c("let numbers overlap", forward());
}

TEST_F(CRefusals, PlacesAndParameters) {
  std::vector<double> positions(kTokens, std::numeric_limits<double>::quiet_NaN());
  in.places = &places;
  places.positions = positions.data();
  refused_in_c("nan is not a number", forward());
  places.positions = nullptr, places.tokens = kTokens - 1;
  refused_in_c("places of 1 sequences of 8 tokens", forward());
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
  refused_in_c("a cache of 1 sequences", gnomon_decode(a.get(), &in, cache, &out));
}

// A call that is refused leaves the cache as it was: the next token gets the same answer as if nobody had asked. Frequencies
// that follow the context would have turned the cached keys.
TEST_F(CRefusals, ARefusedTokenLeavesTheCacheAsItWas) {
  const std::vector<std::uint8_t> ones(kB * kTokens * 2 * kTokens, 1);
  const Floats bias(ones.size());
  const double halves[] = {9, 9.5, 10, 11, 12, 13, 14, 15, 16};
  gnomon_places between = GNOMON_PLACES_INIT;
  between.positions = halves, between.tokens = kTokens;
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
      {"window(size=4)", "a mask beside it", 64,
       [&](auto& x) {
         x.mask = {const_cast<std::uint8_t*>(ones.data()), 0, 0, 0};
       }},
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

// A cache that was made for an encoding whose keys are wider.
TEST_F(CRefusals, TheCacheOfAnotherEncoding) {
  gnomon_cache* cache = nullptr;
  ok(gnomon_cache_create(attention_in_c("pope").get(), kB, 64, 0, &cache));
  const CCache owner(cache);
  refused_in_c("a cache of keys of 32 channels; allowed are 16", gnomon_decode(a.get(), &in, cache, &out));
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
