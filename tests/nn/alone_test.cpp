// What position does alone: attention put together from it is attention.
#include "gnomon/nn/alone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/nn/attention_inside.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

constexpr std::int64_t H = 2, D = 8, T = 7;
constexpr AttentionConfig kConfig{.heads = H, .head_dim = D, .length = 64};

View view_of(Floats& rows) { return heads_first<void>(rows.data(), Number::float32, {1, H, T, D}); }

Floats learned(const Attention& a) {
  Floats w = a.initial(1);
  for (float& x : w) x += 0.05f;
  return w;
}

// Rows turned alone and attended without rotation are attention with it; so are the gradients.
TEST(Alone, RowsThatWereMappedAttendAsWithTheirEncoding) {
  for (const char* spec : {"rope(pairing=halves)", "rope_learned", "xpos", "rope_value"}) {
    SCOPED_TRACE(spec);
    const Attention a(spec, kConfig), none("none", kConfig);
    const Floats w = learned(a), q = normals(H * T * D, 1), k = normals(H * T * D, 2),
                 v = normals(H * T * D, 3), dout = normals(H * T * D, 4);
    const Placement places = Placement::consecutive(0, T);
    const Alone at{a, places, w};
    const auto pass = [&](const Attention& by, std::array<const Floats*, 3> x, std::span<const float> with,
                          Floats& out) {
      AttentionInput in;
      in.q = heads_first<const void>(x[0]->data(), Number::float32, {1, H, T, D});
      in.k = heads_first<const void>(x[1]->data(), Number::float32, {1, H, T, D});
      in.v = heads_first<const void>(x[2]->data(), Number::float32, {1, H, T, D});
      in.w = with;
      out.resize(q.size());
      return by.forward(in, view_of(out));
    };
    Floats whole, apart;
    const auto saved = pass(a, {&q, &k, &v}, w, whole);
    Floats qm = q, km = k, vm = v;
    map_rows(at, Role::q, view_of(qm)), map_rows(at, Role::k, view_of(km)),
        map_rows(at, Role::v, view_of(vm));
    const auto saved_apart = pass(none, {&qm, &km, &vm}, {}, apart);
    Floats turned = apart;  // the backward pass reads what attention returned
    map_rows(at, Role::out, view_of(turned));
    for (std::size_t n = 0; n < whole.size(); ++n) ASSERT_NEAR(whole[n], turned[n], 1e-6);

    Floats dq(q.size()), dk(q.size()), dv(q.size()), dw(w.size());
    Floats eq(q.size()), ek(q.size()), ev(q.size()), ew(w.size()), eout = dout;
    const auto from = [](Floats& x) { return read_only(view_of(x)); };
    Floats d = dout;
    a.backward(*saved, from(d), {view_of(dq), view_of(dk), view_of(dv), dw});
    map_rows_backward(at, Role::out, {{}, view_of(eout), ew});
    none.backward(*saved_apart, from(eout), {view_of(eq), view_of(ek), view_of(ev)});
    Floats q0 = q, k0 = k, v0 = v;
    map_rows_backward(at, Role::q, {from(q0), view_of(eq), ew});
    map_rows_backward(at, Role::k, {from(k0), view_of(ek), ew});
    map_rows_backward(at, Role::v, {from(v0), view_of(ev), ew});
    for (std::size_t n = 0; n < dq.size(); ++n) {
      ASSERT_NEAR(dq[n], eq[n], 1e-5);
      ASSERT_NEAR(dk[n], ek[n], 1e-5);
      ASSERT_NEAR(dv[n], ev[n], 1e-5);
    }
    for (std::size_t n = 0; n < dw.size(); ++n)
      ASSERT_NEAR(dw[n], ew[n], 1e-4 * std::max(1.0f, std::abs(dw[n])));
  }
}

// The table is the definition's logit where q and k are 0, and −∞ where the query does not see.
TEST(Alone, TheTableOfLogitsIsTheDefinition) {
  for (const char* spec : {"none", "rope+alibi", "t5", "kerple_log", "sandwich", "fire",
                           "rope+alibi+window(size=3)", "chunk(size=3)"}) {
    SCOPED_TRACE(spec);
    const Attention a(spec, kConfig);
    const Floats w = learned(a);
    const std::vector<double> positions{0, 1, 2, 4, 7, 8, 9};
    Floats table(H * 3 * T);
    logit_table({a, Placement::of(positions), w}, {2, 3}, table.data());
    const std::vector<double> zero(H * T * D), wide(w.begin(), w.end());
    std::vector<Defined> defined;
    std::size_t offset = 0;
    for (const auto& each : a.inside().scheme.attention) {
      const auto count = std::size_t(each.encoding->param_count());
      defined.push_back({each.encoding.get(), std::span(wide).subspan(offset, count)});
      offset += count;
    }
    const Definition definition({H * D, H, D, 64, true}, defined, {positions, zero, zero, wide, {}, zero});
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < T; ++j) {
          const float found = table[(h * 3 + i) * T + j];
          if (!definition.sees(2 + i, j)) {
            EXPECT_EQ(found, -std::numeric_limits<float>::infinity()) << i << " " << j;
          } else {
            EXPECT_NEAR(found, definition.logit(h, 2 + i, j), 1e-5) << h << " " << i << " " << j;
          }
        }
      }
    }
  }
}

template <class Call>
void refused(std::string_view words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "accepted, where the error has " << words;
  } catch (const Error& e) {
    EXPECT_NE(std::string_view(e.what()).find(words), std::string_view::npos) << e.what();
  }
}

// PoPE doubles the channels: rows that were widened alone attend without an encoding as attention with it does.
TEST(Alone, AppendedChannelsStandBehindTheHeads) {
  const Attention a("pope", kConfig);
  const std::int64_t wide = D + added_channels(a, Role::q);
  EXPECT_EQ(added_channels(a, Role::v), 0);
  ASSERT_GT(wide, D);
  const Attention none("none",
                       {.heads = H, .head_dim = wide, .value_dim = D, .scale = 1 / std::sqrt(double(D))});
  const Floats w = learned(a), q = normals(H * T * D, 1), k = normals(H * T * D, 2),
               v = normals(H * T * D, 3);
  const Placement places = Placement::consecutive(0, T);
  const auto in_of = [&](const Floats& x, const Floats& y, std::int64_t channels) {
    AttentionInput in;
    in.q = heads_first<const void>(x.data(), Number::float32, {1, H, T, channels});
    in.k = heads_first<const void>(y.data(), Number::float32, {1, H, T, channels});
    in.v = heads_first<const void>(v.data(), Number::float32, {1, H, T, D});
    return in;
  };
  Floats whole(q.size()), apart(q.size());
  AttentionInput in = in_of(q, k, D);
  in.w = w;
  a.forward(in, view_of(whole));
  const auto widened = [&](const Floats& x, Role role) {
    Floats rows(std::size_t(H * T * wide), 7.0f);  // what stands there does not matter
    for (std::int64_t n = 0; n < H * T; ++n) std::copy_n(&x[n * D], D, &rows[n * wide]);
    map_rows({a, places, w}, role, heads_first<void>(rows.data(), Number::float32, {1, H, T, wide}));
    return rows;
  };
  none.forward(in_of(widened(q, Role::q), widened(k, Role::k), wide), view_of(apart));
  for (std::size_t n = 0; n < whole.size(); ++n) ASSERT_NEAR(whole[n], apart[n], 1e-5);
}

// The vectors beside the words are the definition's, of every encoding that has some, learned numbers included.
TEST(Alone, VectorsBesideTheWordsAreTheDefinition) {
  int held = 0;
  for (const Entry* entry : encodings()) {
    if (entry->acts != kInput) continue;
    SCOPED_TRACE(entry->name);
    constexpr std::int64_t width = 12;
    const auto e = make_encoding(entry->name, {width, 1, width, 5, true});
    if (e->reads_content()) {
      refused("reads the word vectors",
              [&] { position_vectors(entry->name, width, Placement::consecutive(0, 2)); });
      continue;
    }
    const Placement places = Placement::consecutive(0, 5);
    Floats w = initial_numbers(e->params(), 0);
    const Floats at_start = position_vectors(entry->name, width, places);
    ASSERT_EQ(at_start, position_vectors(entry->name, width, places, w));
    for (float& x : w) x += 0.05f;
    const Floats found = position_vectors(entry->name, width, places, w);
    const std::vector<double> exact(w.begin(), w.end());
    const Scene scene{places, {}, {}, exact};
    for (std::int64_t t = 0; t < 5; ++t)
      for (std::int64_t c = 0; c < width; ++c)
        ASSERT_NEAR(found[t * width + c], part<InputPart>(*e)->input(scene, t, c), 1e-5) << t << ", " << c;
    ++held;
  }
  EXPECT_GT(held, 10);
  refused("is not an input encoding", [] { position_vectors("rope", 8, Placement::consecutive(0, 2)); });
  refused("width", [] { position_vectors("sinusoidal", 0, Placement::consecutive(0, 2)); });
  const Floats one(1);
  refused("w", [&] { position_vectors("learned", 8, Placement::consecutive(0, 2), one); });
}

TEST(Alone, PositionsAreDrawnAsASamplerDoes) {
  const auto drawn = [](const PositionDraw& draw) {
    std::vector<double> row{0, 1, 2, 3};
    sample_positions("randomised(most=64)", draw, row);
    return row;
  };
  const std::vector<double> once = drawn({1, 5});
  EXPECT_EQ(once, drawn({1, 5}));
  EXPECT_NE(once, drawn({1, 6}));
  EXPECT_NE(once, drawn({2, 5}));
  EXPECT_TRUE(std::is_sorted(once.begin(), once.end()) && once.back() < 64);
  std::vector<double> row{0, 1};
  refused("is not a sampler of positions", [&] { sample_positions("rope", {1, 1}, row); });
}

TEST(Alone, WhatCannotBeAloneIsRefused) {
  const Placement places = Placement::consecutive(0, T);
  Floats rows(H * T * D), table(H * T * T);
  const auto with = [&](const char* spec, const auto& f) {
    const Attention a(spec, kConfig);
    const Floats w = learned(a);
    f(Alone{a, places, w});
  };
  with("pope", [&](const Alone& at) {  // which appends channels
    refused("channels", [&] { map_rows(at, Role::q, view_of(rows)); });
  });
  with("rope_learned", [&](const Alone& at) {
    refused("the gradient needs the rows as they were", [&] {
      map_rows_backward(at, Role::q, {{}, view_of(rows), {}});
    });
  });
  for (const char* spec : {"shaw", "cope", "fox", "dape", "rerope(window=4)", "stick_breaking", "tupe"}) {
    with(spec, [&](const Alone& at) {
      refused("there is no table", [&] { logit_table(at, {0, T}, table.data()); });
    });
  }
}

}  // namespace
}  // namespace gnomon
