// gnomon.h gives what the C++ API gives, to the bit.
#include "tests/c/c_api.h"

#include <atomic>
#include <cmath>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/parallel.h"
#include "gnomon/nn/alone.h"
#include "gnomon/nn/attention_inside.h"
#include "gnomon/spec/plan.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

constexpr const char* kSpecs[] = {"none",         "rope(pairing=halves)",
                                  "rope+alibi",   "t5",
                                  "shaw",         "pope",
                                  "rope_learned", "fire",
                                  "fox",          "rope+window(size=4)",
                                  "xpos",         "cope",
                                  "tupe",         "rope+stick_breaking",
                                  "deberta"};

std::int64_t groups_of(std::string_view spec) {
  for (const std::string_view by_head : {"pope", "rope_learned", "tupe", "fox", "deberta"}) {
    if (spec == by_head) return kHeads;
  }
  return kGroups;
}

// One layer in both languages.
struct Both {
  explicit Both(const char* spec)
      : groups(groups_of(spec)),
        attention(spec, {.heads = kHeads, .kv_heads = groups, .head_dim = kSize, .length = 64}),
        c(attention_in_c(spec, groups)),
        q(normals(kB * kHeads * kTokens * kSize, 1)),
        k(normals(kB * groups * kTokens * kSize, 2)),
        v(normals(kB * groups * kTokens * kSize, 3)),
        x(normals(kB * kTokens * kHeads * kSize, 4)),
        projected(normals(2 * kWidth * (kWidth + 1), 5, 0.1)),
        w(attention.initial(1)) {}

  AttentionInput input() const {
    AttentionInput in;
    in.q = heads_first<const void>(q.data(), Number::float32, {kB, kHeads, kTokens, kSize});
    in.k = heads_first<const void>(k.data(), Number::float32, {kB, groups, kTokens, kSize});
    in.v = heads_first<const void>(v.data(), Number::float32, {kB, groups, kTokens, kSize});
    in.x = heads_first<const void>(x.data(), Number::float32, {kB, 1, kTokens, kWidth});
    in.projections = &projections;
    in.w = w;
    return in;
  }
  gnomon_attention_input input_in_c() const {
    gnomon_attention_input in = GNOMON_ATTENTION_INPUT_INIT;
    in.q = rows_in_c(q, kHeads), in.k = rows_in_c(k, groups), in.v = rows_in_c(v, groups);
    const std::int64_t of_x[4] = {kB, 1, kTokens, kWidth};
    in.x = gnomon_heads_first(x.data(), GNOMON_FLOAT32, of_x);
    float* p = const_cast<float*>(projected.data());
    in.projections = {p, p + kWidth * kWidth, p + 2 * kWidth * kWidth, p + 2 * kWidth * kWidth + kWidth};
    in.parameters = w.data(), in.parameter_count = std::int64_t(w.size());
    return in;
  }

  static constexpr std::int64_t kWidth = kHeads * kSize;
  const std::int64_t groups;
  const Attention attention;
  const CAttention c;
  const Floats q, k, v, x, projected, w;
  const Projections<const float> projections{projected.data(), projected.data() + kWidth* kWidth,
                                             projected.data() + 2 * kWidth* kWidth,
                                             projected.data() + 2 * kWidth* kWidth + kWidth};
};

struct Gradients {
  explicit Gradients(const Both& l)
      : q(l.q.size()),
        k(l.k.size()),
        v(l.v.size()),
        w(l.w.size()),
        x(l.x.size()),
        projected(l.projected.size()) {}
  bool operator==(const Gradients&) const = default;
  Floats q, k, v, w, x, projected;
};

TEST(CApi, ForwardAndBackwardHaveTheBitsOfTheCallInCpp) {
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    const Both l(spec);
    Floats out(l.q.size()), out_in_c(l.q.size());
    const Floats dout = normals(std::int64_t(out.size()), 6);
    const AttentionInput in = l.input();
    const auto saved = l.attention.forward(in, heads_first<void>(out.data(), Number::float32, in.q.extents));
    Gradients d(l), d_in_c(l);
    float* p = d.projected.data();
    constexpr std::int64_t kSquare = Both::kWidth * Both::kWidth;
    Projections<float> dp{p, p + kSquare, p + 2 * kSquare, p + 2 * kSquare + Both::kWidth};
    AttentionGradients to;
    to.dq = heads_first<void>(d.q.data(), Number::float32, in.q.extents);
    to.dk = heads_first<void>(d.k.data(), Number::float32, in.k.extents);
    to.dv = heads_first<void>(d.v.data(), Number::float32, in.v.extents);
    to.dx = heads_first<void>(d.x.data(), Number::float32, in.x.extents);
    to.dw = d.w, to.projections = &dp;
    l.attention.backward(*saved, heads_first<const void>(dout.data(), Number::float32, in.q.extents), to);

    gnomon_saved* kept = nullptr;
    {
      const gnomon_attention_input of_c = l.input_in_c();  // gone before the backward pass
      const gnomon_view to_out = rows_in_c(out_in_c, kHeads);
      ok(gnomon_forward(l.c.get(), &of_c, &to_out, &kept));
    }
    const CSaved owner(kept);
    gnomon_attention_gradients g = GNOMON_ATTENTION_GRADIENTS_INIT;
    g.dq = rows_in_c(d_in_c.q, kHeads), g.dk = rows_in_c(d_in_c.k, l.groups),
    g.dv = rows_in_c(d_in_c.v, l.groups);
    const std::int64_t of_x[4] = {kB, 1, kTokens, Both::kWidth};
    g.dx = gnomon_heads_first(d_in_c.x.data(), GNOMON_FLOAT32, of_x);
    g.dparameters = d_in_c.w.data(), g.dparameter_count = std::int64_t(d_in_c.w.size());
    p = d_in_c.projected.data();
    g.dprojections = {p, p + kSquare, p + 2 * kSquare, p + 2 * kSquare + Both::kWidth};
    const gnomon_view from = rows_in_c(dout, kHeads);
    ok(gnomon_backward(kept, &from, &g));
    EXPECT_EQ(out, out_in_c);
    EXPECT_TRUE(d == d_in_c);
  }
}

// What attention is asked beside rows: everything reaches its place.
TEST(CApi, EveryMemberOfTheInputArrives) {
  const Both l("rope+alibi");
  const auto same = [&](const AttentionInput& in, const gnomon_attention_input& in_c) {
    Floats out(l.q.size()), out_in_c(l.q.size());
    l.attention.forward(in, heads_first<void>(out.data(), Number::float32, in.q.extents));
    const gnomon_view to = rows_in_c(out_in_c, kHeads);
    ok(gnomon_forward(l.c.get(), &in_c, &to, nullptr));
    EXPECT_EQ(out, out_in_c);
    return out;
  };
  const Floats plain = same(l.input(), l.input_in_c());
  const auto each = [&](const char* name, const auto& set) {
    SCOPED_TRACE(name);
    AttentionInput in = l.input();
    gnomon_attention_input in_c = l.input_in_c();
    set(in, in_c);
    EXPECT_NE(same(in, in_c), plain) << "it makes no difference";
  };
  const Floats bias = normals(kTokens * kTokens, 7), sinks = normals(kHeads, 8);
  std::vector<std::uint8_t> mask(kTokens * kTokens, 1), padding(kB * kTokens);
  mask[kTokens * 4 + 1] = 0, padding[3] = 1;
  std::vector<double> positions(kB * kTokens);
  for (std::size_t n = 0; n < positions.size(); ++n) positions[n] = double(2 * n);
  std::vector<std::int32_t> documents(kTokens);
  for (std::size_t n = 5; n < documents.size(); ++n) documents[n] = 1;
  each("bias", [&](auto& in, auto& c) {
    in.bias = {bias.data(), 0, 0, kTokens}, c.bias = {const_cast<float*>(bias.data()), 0, 0, kTokens};
  });
  each("mask", [&](auto& in, auto& c) {
    in.mask = {mask.data(), 0, 0, kTokens}, c.mask = {mask.data(), 0, 0, kTokens};
  });
  each("sinks", [&](auto& in, auto& c) { in.sinks = sinks.data(), c.sinks = sinks.data(); });
  each("padding", [&](auto& in, auto& c) { in.padding = padding.data(), c.padding = padding.data(); });
  each("left", [&](auto& in, auto& c) { in.left = 2, c.left = 2; });
  gnomon_places places = GNOMON_PLACES_INIT;
  places.positions = positions.data(), places.rows = kB, places.tokens = kTokens;
  const Placement placement = Placement::of(positions, kB);
  each("places", [&](auto& in, auto& c) { in.places = &placement, c.places = &places; });
  gnomon_places packed = GNOMON_PLACES_INIT;
  packed.tokens = kTokens, packed.documents = documents.data();
  Placement of_documents = Placement::consecutive(0, kTokens);
  of_documents.document = documents;
  each("documents", [&](auto& in, auto& c) { in.places = &of_documents, c.places = &packed; });
}

// Queries anywhere among the keys.
TEST(CApi, FirstAndFirstsArrive) {
  const Both l("none");
  const std::int64_t firsts[kB] = {3, 5};
  Floats last;
  for (const bool each : {false, true}) {
    AttentionInput in = l.input();
    gnomon_attention_input in_c = l.input_in_c();
    if (each) in.firsts = in_c.firsts = firsts;
    if (!each) in.first = in_c.first = 3;
    Floats out(l.q.size()), out_in_c(l.q.size());
    l.attention.forward(in, heads_first<void>(out.data(), Number::float32, in.q.extents));
    const gnomon_view to = rows_in_c(out_in_c, kHeads);
    ok(gnomon_forward(l.c.get(), &in_c, &to, nullptr));
    EXPECT_EQ(out, out_in_c);
    EXPECT_NE(out, last);
    last = out;
  }
}

TEST(CApi, SixteenBitsAreReadAndWritten) {
  const Both l("rope");
  std::vector<BFloat16> q, out(l.q.size()), out_in_c(l.q.size());
  for (const float x : l.q) q.push_back(BFloat16(x));
  const std::int64_t extents[4] = {kB, kHeads, kTokens, kSize};
  AttentionInput in = l.input();
  in.q = heads_first<const void>(q.data(), Number::bfloat16, {kB, kHeads, kTokens, kSize});
  l.attention.forward(in, heads_first<void>(out.data(), Number::bfloat16, in.q.extents));
  gnomon_attention_input in_c = l.input_in_c();
  in_c.q = gnomon_heads_first(q.data(), GNOMON_BFLOAT16, extents);
  const gnomon_view to = gnomon_heads_first(out_in_c.data(), GNOMON_BFLOAT16, extents);
  ok(gnomon_forward(l.c.get(), &in_c, &to, nullptr));
  for (std::size_t n = 0; n < out.size(); ++n) ASSERT_EQ(float(out[n]), float(out_in_c[n]));
}

TEST(CApi, DecodingHasTheBitsOfTheCallInCppAndNotAtOtherPlaces) {
  const Both l("rope+alibi");
  KeyCache cache = l.attention.cache(kB, 2 * kTokens);
  gnomon_cache* made = nullptr;
  ok(gnomon_cache_create(l.c.get(), kB, 2 * kTokens, 0, &made));
  const CCache cache_in_c(made);
  Floats out(l.q.size()), out_in_c(l.q.size()), later(l.q.size());
  const gnomon_view to = rows_in_c(out_in_c, kHeads), to_later = rows_in_c(later, kHeads);
  const gnomon_attention_input in_c = l.input_in_c();
  const AttentionInput in = l.input();
  for (int n = 0; n < 2; ++n) {
    l.attention.decode(in, cache, heads_first<void>(out.data(), Number::float32, in.q.extents));
    ok(gnomon_decode(l.c.get(), &in_c, made, &to));
    EXPECT_EQ(out, out_in_c);
  }
  std::int64_t length = 0, keys = 0;
  double position = 0;
  ok(gnomon_cache_length(made, 1, &length));
  ok(gnomon_cache_keys(made, &keys));
  ok(gnomon_cache_position(made, 1, 2 * kTokens - 1, &position));
  EXPECT_EQ(length, 2 * kTokens);
  EXPECT_EQ(keys, 2 * kTokens);
  EXPECT_EQ(position, 2 * kTokens - 1);
  refused_in_c("the cache is full", gnomon_decode(l.c.get(), &in_c, made, &to));
  ok(gnomon_cache_length(made, 1, &length));
  EXPECT_EQ(length, 2 * kTokens);

  // The control: the second half two places later is something else.
  gnomon_cache* other = nullptr;
  ok(gnomon_cache_create(l.c.get(), kB, 2 * kTokens, 0, &other));
  const CCache owner(other);
  ok(gnomon_decode(l.c.get(), &in_c, other, &to_later));
  std::vector<double> positions;
  for (std::int64_t t = 0; t < kTokens; ++t) positions.push_back(double(kTokens + t + 2));
  gnomon_places places = GNOMON_PLACES_INIT;
  places.positions = positions.data(), places.tokens = kTokens;
  gnomon_attention_input misplaced = in_c;
  misplaced.places = &places;
  ok(gnomon_decode(l.c.get(), &misplaced, other, &to_later));
  EXPECT_NE(later, out_in_c);
}

TEST(CApi, WhatAnAttentionIsCanBeAsked) {
  const CAttention a = attention_in_c("alibi_learned+rope(theta=500,pairing=halves)");
  const Attention same("alibi_learned+rope(theta=500,pairing=halves)",
                       {.heads = kHeads, .kv_heads = kGroups, .head_dim = kSize, .length = 64});
  const char *spec = nullptr, *name = nullptr;
  std::int64_t count = 0, arrays = 0, numbers = 0;
  ok(gnomon_attention_spec(a.get(), &spec));
  EXPECT_EQ(spec, same.spec());
  ok(gnomon_attention_encodings(a.get(), &count));
  ASSERT_EQ(count, 2);
  ok(gnomon_attention_encoding(a.get(), 1, &name));
  EXPECT_STREQ(name, "rope");
  ok(gnomon_attention_frequencies(a.get(), 0, nullptr, 0, &count));
  EXPECT_EQ(count, 0);
  std::vector<double> frequencies(kSize / 2);
  ok(gnomon_attention_frequencies(a.get(), 1, frequencies.data(), kSize / 2, &count));
  EXPECT_EQ(count, kSize / 2);
  EXPECT_EQ(frequencies, same.inside().scheme.attention[1].encoding->frequencies());
  ok(gnomon_attention_parameters(a.get(), &arrays, &numbers));
  ASSERT_EQ(arrays, std::int64_t(same.params().size()));
  ASSERT_EQ(numbers, same.param_count());
  ASSERT_GT(arrays, 0);
  gnomon_parameter p = GNOMON_PARAMETER_INIT;
  ok(gnomon_attention_parameter(a.get(), 0, &p));
  EXPECT_EQ(p.name, same.params()[0].name);
  EXPECT_EQ(std::vector<std::int64_t>(p.extents, p.extents + p.dimensions), same.params()[0].shape);
  EXPECT_EQ(p.offset, 0);
  EXPECT_EQ(p.count, same.params()[0].size());
  Floats start(static_cast<std::size_t>(numbers));
  ok(gnomon_attention_initial(a.get(), 7, start.data(), numbers));
  EXPECT_EQ(start, same.initial(7));
}

TEST(CApi, PositionAloneHasTheBitsOfTheCallsInCpp) {
  const CAttention a = attention_in_c("rope+alibi");
  const Attention same("rope+alibi", {.heads = kHeads, .kv_heads = kGroups, .head_dim = kSize, .length = 64});
  gnomon_places places = GNOMON_PLACES_INIT;
  places.tokens = kTokens;
  gnomon_scene scene = GNOMON_SCENE_INIT;
  scene.places = &places;
  const Placement placement = Placement::consecutive(0, kTokens);
  const Alone alone{same, placement, {}};
  const Floats found = normals(kB * kGroups * kTokens * kSize, 1);
  Floats rows = found, rows_c = found;
  map_rows(alone, Role::k, heads_first<void>(rows.data(), Number::float32, {kB, kGroups, kTokens, kSize}));
  const gnomon_view view = rows_in_c(rows_c, kGroups);
  ok(gnomon_rotate(a.get(), &scene, GNOMON_K, &view));
  EXPECT_EQ(rows, rows_c);
  EXPECT_NE(rows, found);
  gnomon_rotate_gradients g = GNOMON_ROTATE_GRADIENTS_INIT;
  g.d = view;  // the way back of a rotation undoes it
  ok(gnomon_rotate_backward(a.get(), &scene, GNOMON_K, &g));
  for (std::size_t n = 0; n < found.size(); ++n) ASSERT_NEAR(rows_c[n], found[n], 1e-6);

  Floats table(kHeads * kTokens * kTokens), table_c(table.size());
  logit_table(alone, {0, kTokens}, table.data());
  ok(gnomon_bias_table(a.get(), &scene, 0, kTokens, table_c.data()));
  EXPECT_EQ(table, table_c);
  char* text = nullptr;
  ok(gnomon_plan_text(a.get(), &scene, &text));
  EXPECT_EQ(text, describe(same.inside().plan(placement, {})));
  gnomon_text_free(text);
}

TEST(CApi, HandlesMayBeFreedInAnyOrder) {
  const Both l("rope");
  CAttention a = attention_in_c("rope");
  const gnomon_attention_input in = l.input_in_c();
  Floats out(l.q.size());
  Gradients d(l);
  const gnomon_view to = rows_in_c(out, kHeads);
  gnomon_saved* kept = nullptr;
  ok(gnomon_forward(a.get(), &in, &to, &kept));
  const CSaved owner(kept);
  a.reset();
  gnomon_attention_gradients g = GNOMON_ATTENTION_GRADIENTS_INIT;
  g.dq = rows_in_c(d.q, kHeads), g.dk = rows_in_c(d.k, kGroups), g.dv = rows_in_c(d.v, kGroups);
  ok(gnomon_backward(kept, &to, &g));
  gnomon_attention_free(nullptr), gnomon_saved_free(nullptr), gnomon_cache_free(nullptr);
  gnomon_text_free(nullptr);
}

// Several threads use one attention, half of them wrongly: each gets its result, or its own message.
TEST(CApi, ThreadsShareAnAttentionAndHaveTheirOwnErrors) {
  const Both l("rope+alibi");
  Floats expected(l.q.size());
  const gnomon_attention_input in = l.input_in_c();
  const gnomon_view to = rows_in_c(expected, kHeads);
  ok(gnomon_forward(l.c.get(), &in, &to, nullptr));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n) {
    threads.emplace_back([&, n] {
      bool all =
          std::string_view(gnomon_last_error()).empty();  // of other threads' errors there is nothing here
      gnomon_set_threads(1);
      for (int times = 0; times < 20; ++times) {
        Floats out(expected.size());
        gnomon_view mine = rows_in_c(out, kHeads);
        if (n % 2) mine.extents[2] = 100 + n;
        const gnomon_status status = gnomon_forward(l.c.get(), &in, &mine, nullptr);
        const std::string words = text(",", 100 + n, ",");
        all = all && (n % 2 ? status == GNOMON_USAGE &&
                                  std::string_view(gnomon_last_error()).find(words) != std::string_view::npos
                            : status == GNOMON_OK && out == expected);
      }
      right += all;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

TEST(CApi, TheLibrarySaysWhatItIs) {
  EXPECT_EQ(gnomon_abi_version(), GNOMON_ABI_VERSION);
  EXPECT_STREQ(gnomon_version(), GNOMON_VERSION);
  EXPECT_STREQ(gnomon_status_name(GNOMON_RESOURCE), "resource");
  EXPECT_STREQ(gnomon_status_name(gnomon_status(1)), "unknown");
  int threads = 0;
  ok(gnomon_get_threads(&threads));
  EXPECT_EQ(threads, thread_count());
  ok(gnomon_set_threads(threads));
}

}  // namespace
}  // namespace gnomon
