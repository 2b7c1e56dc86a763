// The one call: attention that owns the encodings of a spec.
#include "gnomon/nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "tests/unit/limited.h"
#include "tests/unit/support.h"

namespace gnomon {
namespace {

constexpr std::int64_t kB = 2, kHeads = 4, kGroups = 2, kSize = 16, kTokens = 37;

struct Rows {
  Floats q, k, v;
  explicit Rows(std::int64_t T = kTokens, std::int64_t groups = kGroups)
      : q(normals(kB * kHeads * T * kSize, 1)),
        k(normals(kB * groups * T * kSize, 2)),
        v(normals(kB * groups * T * kSize, 3)),
        T_(T),
        groups_(groups) {}
  AttentionInput input(std::span<const float> w) const {
    AttentionInput in;
    in.q = heads_first<const void>(q.data(), Number::float32, {kB, kHeads, T_, kSize});
    in.k = heads_first<const void>(k.data(), Number::float32, {kB, groups_, T_, kSize});
    in.v = heads_first<const void>(v.data(), Number::float32, {kB, groups_, T_, kSize});
    in.w = w;
    return in;
  }

 private:
  std::int64_t T_, groups_;
};
View out_view(Floats& out, std::int64_t T) {
  out.assign(std::size_t(kB * kHeads * T * kSize), 0.0f);
  return heads_first<void>(out.data(), Number::float32, {kB, kHeads, T, kSize});
}
// Tokens from..from+n of a view.
ConstView some(ConstView x, std::int64_t from, std::int64_t n) {
  x.data = static_cast<const float*>(x.data) + from * x.steps[2];
  x.extents[2] = n;
  return x;
}
AttentionConfig grouped() { return {.heads = kHeads, .kv_heads = kGroups, .head_size = kSize, .length = 64}; }
Floats moved_start(const Attention& a) {
  Floats w = a.initial(1);
  const Floats noise = normals(std::int64_t(w.size()), 9, 0.1);
  for (std::size_t n = 0; n < w.size(); ++n) w[n] += noise[n];
  return w;
}

// Every encoding that acts inside attention; and those whose frequencies follow the context, with contexts that outgrow them.
std::vector<std::string> inside_attention() {
  std::vector<std::string> all;
  for (const Entry* entry : encodings()) {
    if (entry->acts != 0 && !(entry->acts & (kInput | kPositions))) all.emplace_back(entry->name);
  }
  for (const char* spec : {"dynamic_ntk(factor=4, original=8)", "dynamic_yarn(original=8)",
                           "longrope(short=1.25, long=8, original=8)"})
    all.emplace_back(spec);
  return all;
}

// Token by token, and by chunks, through the cache: the whole pass.
TEST(Attention, DecodingIsTheWholePass) {
  int decoded = 0;
  std::vector<std::string> refused;
  const std::set<std::string> by_head{"rope_learned", "rope_mixed", "pope",
                                      "fope",         "grape",      "tupe"};  // of k too
  for (const std::string& name : inside_attention()) {
    AttentionConfig config = grouped();
    if (by_head.count(name)) config.kv_heads = kHeads;
    const Rows rows(kTokens, config.kv_heads);
    for (const std::string more : {"", "+window(size=11)"}) {
      const std::string spec = name + more;
      if ((name == "window" || name == "chunk") && !more.empty()) continue;
      SCOPED_TRACE(spec);
      const Attention a(spec, config);
      const Floats w = moved_start(a);
      std::optional<KeyCache> cache;
      Floats one, whole;
      try {
        cache.emplace(a.cache(kB, 64));
        const AttentionInput in = rows.input(w);
        Floats first;
        AttentionInput token = in;
        token.q = some(in.q, 0, 1), token.k = some(in.k, 0, 1), token.v = some(in.v, 0, 1);
        a.decode(token, *cache, out_view(first, 1));
      } catch (const Error& e) {
        EXPECT_EQ(e.fault(), Fault::usage) << e.what();
        if (more.empty()) refused.push_back(name + ": " + e.what());
        continue;
      }
      const AttentionInput in = rows.input(w);
      for (std::int64_t t = 1, n = 1; t < kTokens; t += n) {
        n = t == 20 ? 5 : 1;
        AttentionInput token = in;
        token.q = some(in.q, t, n), token.k = some(in.k, t, n), token.v = some(in.v, t, n);
        a.decode(token, *cache, out_view(one, n));
        // Where frequencies follow the context, a row is that of the context so far.
        AttentionInput so_far = in;
        so_far.q = some(in.q, 0, t + n), so_far.k = some(in.k, 0, t + n), so_far.v = some(in.v, 0, t + n);
        a.forward(so_far, out_view(whole, t + n));
        for (std::int64_t i = 0; i < std::int64_t(one.size()); ++i) {
          const std::int64_t head = i / kSize / n, row = head * (t + n) + t + i / kSize % n;
          ASSERT_NEAR(one[i], whole[row * kSize + i % kSize], 1e-5) << "token " << t << " number " << i;
        }
      }
      ++decoded;
    }
  }
  // Those whose keys change with the tokens after them, or whose terms need the content of all tokens.
  for (const std::string& why : refused) EXPECT_NE(why.find("has no key cache"), std::string::npos) << why;
  EXPECT_EQ(refused.size(), 7u);
  EXPECT_GE(decoded, 66);
}

// What the caller asks of the logits, for decoded tokens: the same numbers over keys, counted from the first.
TEST(Attention, DecodingUnderABiasAndAMaskIsTheWholePass) {
  const std::int64_t pairs = kTokens * kTokens;
  const Floats bias = normals(kB * kHeads * pairs, 11);
  std::vector<std::uint8_t> mask(std::size_t(kB * pairs));
  for (std::size_t n = 0; n < mask.size(); ++n) mask[n] = n % 5 && n % 7;
  for (const char* spec :
       {"rope+alibi", "stick_breaking", "stick_breaking(current=on)", "cope",
        "rope+stick_breaking+window(size=11)", "rope+window(size=11)", "alibi+chunk(size=8)"}) {
    SCOPED_TRACE(spec);
    AttentionConfig config = grouped();
    config.soft_cap = 1.5f;
    const Attention a(spec, config);
    const Floats w = moved_start(a);
    const Rows rows;
    AttentionInput in = rows.input(w);
    in.bias = {bias.data(), kHeads * pairs, pairs, kTokens}, in.mask = {mask.data(), pairs, 0, kTokens};
    Floats whole, one;
    a.forward(in, out_view(whole, kTokens));
    KeyCache cache = a.cache(kB, 64);
    for (std::int64_t t = 0, n = 1; t < kTokens; t += n) {
      n = t == 20 ? 5 : 1;
      AttentionInput token = in;
      token.q = some(in.q, t, n), token.k = some(in.k, t, n), token.v = some(in.v, t, n);
      token.bias.data += t * kTokens, token.mask.data += t * kTokens;
      a.decode(token, cache, out_view(one, n));
      for (std::int64_t i = 0; i < std::int64_t(one.size()); ++i) {
        const std::int64_t row = i / kSize / n * kTokens + t + i / kSize % n;
        ASSERT_NEAR(one[i], whole[row * kSize + i % kSize], 1e-5) << "token " << t << " number " << i;
      }
    }
  }
}

// Windows of the spec over caches of several pieces, in calls of one token and of many, with padding among them, and in a ring.
TEST(Attention, WhatAWindowHidesIsNotAsked) {
  constexpr std::int64_t T = 2600;
  const Rows rows(T);
  const std::vector<std::int64_t> calls{1900, 1, 1, 300, 1, 397};
  std::vector<std::uint8_t> padding(std::size_t(kB * T));
  for (std::int64_t t = 0; t < 1100; ++t) padding[t] = 1;  // of sequence 0
  for (const char* spec : {"rope+window(size=70)", "alibi+window(size=1500)", "chunk(size=257)+rope",
                           "window(size=1)", "t5+window(size=33)+chunk(size=40)", "shaw+window(size=90)"}) {
    for (const std::int64_t ring : {0, 1500}) {
      for (const bool padded : {false, true}) {
        if (ring && padded) continue;
        SCOPED_TRACE(text(spec, ", ring of ", ring, padded ? ", padded" : ""));
        const Attention a(spec, grouped());
        const Floats w = moved_start(a);
        AttentionInput in = rows.input(w);
        std::vector<double> positions;
        for (std::int64_t n = 0; n < kB * T; ++n)
          positions.push_back(padded && n < T ? std::max<double>(0, n - 1100) : n % T);
        const Placement places = Placement::of(positions, kB);
        in.places = &places, in.padding = padded ? padding.data() : nullptr;
        Floats whole, some_rows;
        a.forward(in, out_view(whole, T));
        KeyCache cache = a.cache(kB, ring ? 3500 : T, ring);
        std::int64_t t = 0;
        for (const std::int64_t n : calls) {
          AttentionInput call = in;
          call.q = some(in.q, t, n), call.k = some(in.k, t, n), call.v = some(in.v, t, n);
          std::vector<double> here;
          std::vector<std::uint8_t> hidden;
          for (std::int64_t m = 0; m < kB * n; ++m) {
            here.push_back(positions[m / n * T + t + m % n]);
            hidden.push_back(padding[m / n * T + t + m % n]);
          }
          const Placement at = Placement::of(here, kB);
          call.places = &at, call.padding = padded ? hidden.data() : nullptr;
          a.decode(call, cache, out_view(some_rows, n));
          for (std::int64_t i = 0; i < std::int64_t(some_rows.size()); ++i) {
            const std::int64_t head = i / kSize / n, token = t + i / kSize % n;
            if (padded && head < kHeads && token < 1100) continue;
            ASSERT_NEAR(some_rows[i], whole[(head * T + token) * kSize + i % kSize], 2e-5)
                << "token " << token << " number " << i;
          }
          t += n;
        }
      }
    }
  }
}

// The memory of a call is that of what its queries see: what is hidden has neither a byte a pair nor a sum a piece.
TEST(Attention, AWindowNeedsNoMemoryForWhatItHides) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer maps memory of its own";
#endif
  constexpr std::int64_t T = 200'000, n = 1000, D = 8;
  const Attention a("alibi+window(size=64)", {.heads = 1, .head_size = D});
  const Floats rows = normals(n * D, 1);
  Floats out(rows.size());
  AttentionInput in;
  in.q = in.k = in.v = heads_first<const void>(rows.data(), Number::float32, {1, 1, n, D});
  const View to = heads_first<void>(out.data(), Number::float32, {1, 1, n, D});
  KeyCache cache = a.cache(1, T);
  a.decode(in, cache, to);
  constexpr std::int64_t kRoom = std::int64_t{32} << 20;
  EXPECT_EQ(within_more_memory(kRoom,
                               [&] {
                                 while (cache.length(0) < T) a.decode(in, cache, to);
                               }),
            Ended::whole);
  EXPECT_EQ(within_more_memory(kRoom, [] { Floats(std::size_t(kRoom), 1.0f); }), Ended::out_of_memory);
}

// Order alone is position to a stick: a text under a mask is the text without what the mask hides.
TEST(Attention, AHiddenKeyBreaksNothingOff) {
  const Rows rows;
  std::vector<std::int64_t> shown;
  std::vector<std::uint8_t> mask(kTokens);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    mask[std::size_t(t)] = t % 3 > 0;
    if (t % 3 > 0) shown.push_back(t);
  }
  const std::int64_t few = std::int64_t(shown.size());
  Rows rest(few);
  const auto keep = [&](const Floats& from, Floats& to) {
    for (std::int64_t n = 0; n < std::int64_t(to.size()); ++n)
      to[n] = from[(n / kSize / few * kTokens + shown[std::size_t(n / kSize % few)]) * kSize + n % kSize];
  };
  keep(rows.q, rest.q), keep(rows.k, rest.k), keep(rows.v, rest.v);
  for (const char* spec : {"stick_breaking", "stick_breaking(current=on)"}) {
    const Attention a(spec, grouped());
    AttentionInput in = rows.input({});
    in.mask = {mask.data(), 0, 0, 0};
    Floats all, alone, kept;
    a.forward(in, out_view(all, kTokens)), a.forward(rest.input({}), out_view(alone, few));
    kept.resize(alone.size());
    keep(all, kept);
    for (std::size_t n = 0; n < alone.size(); ++n) ASSERT_NEAR(kept[n], alone[n], 1e-6) << spec << " " << n;
  }
}

TEST(Attention, ADecodedTokenIsNotAnother) {  // the control: positions matter to the comparison above
  const Rows rows;
  const Attention a("rope(pairing=halves)", grouped());
  KeyCache cache = a.cache(kB, 64);
  const AttentionInput in = rows.input({});
  Floats whole, one;
  a.forward(in, out_view(whole, kTokens));
  AttentionInput most = in, last = in;
  most.q = some(in.q, 0, kTokens - 1), most.k = some(in.k, 0, kTokens - 1),
  most.v = some(in.v, 0, kTokens - 1);
  a.decode(most, cache, out_view(one, kTokens - 1));
  last.q = some(in.q, kTokens - 1, 1), last.k = some(in.k, kTokens - 1, 1),
  last.v = some(in.v, kTokens - 1, 1);
  const Placement later = Placement::consecutive(kTokens + 3, 1);
  last.places = &later;
  a.decode(last, cache, out_view(one, 1));
  double most_different = 0;
  for (std::int64_t i = 0; i < kHeads * kSize; ++i)
    most_different =
        std::max(most_different,
                 double(std::abs(one[i] - whole[(i / kSize * kTokens + kTokens - 1) * kSize + i % kSize])));
  EXPECT_GT(most_different, 1e-3);
}

// Gradients of Σ out·g by central differences of the forward pass in float: three encodings, a soft-cap, a bias, a mask.
TEST(Attention, GradientsAreDifferences) {
  const std::int64_t T = 9;
  Rows rows(T);
  const Attention a("rope_learned+t5+stick_breaking",
                    {.heads = kHeads, .head_size = kSize, .length = 64, .soft_cap = 3});
  Rows all(T, kHeads);
  Floats w = moved_start(a), bias = normals(kHeads * T * T, 6);
  std::vector<std::uint8_t> mask(std::size_t(T * T));
  for (std::size_t n = 0; n < mask.size(); ++n) mask[n] = n % 4 > 0;
  const Floats g = normals(kB * kHeads * T * kSize, 5);
  const auto input = [&] {
    AttentionInput in = all.input(w);
    in.bias = {bias.data(), 0, T * T, T}, in.mask = {mask.data(), 0, 0, T};
    return in;
  };
  const auto loss = [&] {
    Floats out;
    a.forward(input(), out_view(out, T));
    double sum = 0;
    for (std::size_t n = 0; n < out.size(); ++n) sum += double(out[n]) * g[n];
    return sum;
  };
  Floats out, dq(all.q.size()), dk(all.k.size()), dv(all.v.size()), dw(w.size()), dbias(bias.size());
  const auto saved = a.forward(input(), out_view(out, T));
  const auto view = [&](Floats& x) {
    return heads_first<void>(x.data(), Number::float32, {kB, kHeads, T, kSize});
  };
  a.backward(*saved, heads_first<const void>(g.data(), Number::float32, {kB, kHeads, T, kSize}),
             {.dq = view(dq),
              .dk = view(dk),
              .dv = view(dv),
              .dw = dw,
              .extras = {.bias = {dbias.data(), 0, T * T, T}}});
  const auto expect = [&](Floats& x, const Floats& dx, std::size_t step) {
    for (std::size_t n = 0; n < x.size(); n += step) {
      const float was = x[n];
      x[n] = was + 0.01f;
      const double up = loss();
      x[n] = was - 0.01f;
      const double down = loss();
      x[n] = was;
      ASSERT_NEAR(dx[n], (up - down) / 0.02, 3e-3 * std::max(1.0, std::abs(double(dx[n])))) << n;
    }
  };
  expect(all.q, dq, 97), expect(all.k, dk, 89), expect(all.v, dv, 83), expect(w, dw, 7);
  expect(bias, dbias, 5);
}

// What was kept as numbers alone leads to the same gradients, to the bit; with numbers of another pass it does not.
TEST(Attention, APassGoesOnFromItsNumbers) {
  int resumed = 0;
  for (const std::string& name : inside_attention()) {
    const Attention a(name, {.heads = kHeads, .head_size = kSize, .length = 64});
    const Floats w = moved_start(a), g = normals(kB * kHeads * kTokens * kSize, 5);
    const Rows rows(kTokens, kHeads);
    const auto gradients = [&](const Attention::Saved& saved) {
      Floats all[3], dw(w.size());
      const auto view = [](Floats& x) {
        x.resize(std::size_t(kB * kHeads * kTokens * kSize));
        return heads_first<void>(x.data(), Number::float32, {kB, kHeads, kTokens, kSize});
      };
      a.backward(saved, heads_first<const void>(g.data(), Number::float32, {kB, kHeads, kTokens, kSize}),
                 {.dq = view(all[0]), .dk = view(all[1]), .dv = view(all[2]), .dw = dw});
      return std::vector<Floats>{all[0], all[1], all[2], dw};
    };
    Floats out;
    const View to = out_view(out, kTokens);
    std::shared_ptr<const Attention::Saved> saved;
    try {
      saved = a.forward(rows.input(w), to);
    } catch (const Error&) {
      continue;  // it reads the layer's input, which is not here
    }
    const Attention::Numbers numbers = Attention::numbers(*saved);
    const Floats lse(numbers.lse.begin(), numbers.lse.end()),
        attended(numbers.attended.begin(), numbers.attended.end());
    const auto wanted = gradients(*saved);
    EXPECT_EQ(gradients(*a.resume(rows.input(w), to, {lse, attended})), wanted) << name;
    Floats shifted = lse;
    for (float& x : shifted) x += 0.5f;
    if (name.find("stick") == name.npos) {  // which has no sum of exponentials
      EXPECT_NE(gradients(*a.resume(rows.input(w), to, {shifted, attended})), wanted) << name;
    }
    EXPECT_THROW(a.resume(rows.input(w), to, {std::span(lse).subspan(1), attended}), Error) << name;
    ++resumed;
  }
  EXPECT_GT(resumed, 30);
}

// Grouped heads are heads whose keys were repeated; so their gradients are sums.
TEST(Attention, GroupsAreRepeatedHeads) {
  const std::int64_t T = 13, group = kHeads / kGroups;
  for (const char* spec : {"rope+alibi", "none", "t5+window(size=5)", "rope_value"}) {
    SCOPED_TRACE(spec);
    const Attention few(spec, grouped()), many(spec, {.heads = kHeads, .head_size = kSize, .length = 64});
    const Rows rows(T);
    Rows repeated(T, kHeads);
    for (std::int64_t n = 0; n < std::int64_t(repeated.k.size()); ++n) {
      const std::int64_t bh = n / (T * kSize),
                         from = (bh / kHeads * kGroups + bh % kHeads / group) * T * kSize + n % (T * kSize);
      repeated.k[n] = rows.k[from], repeated.v[n] = rows.v[from];
    }
    const Floats w = moved_start(few), g = normals(kB * kHeads * T * kSize, 5);
    Floats a, b, dq(rows.q.size()), dk(rows.k.size()), dv(rows.v.size()), all_q(dq.size()), all_k(dq.size()),
        all_v(dq.size());
    const auto view = [&](Floats& x, std::int64_t heads) {
      return heads_first<void>(x.data(), Number::float32, {kB, heads, T, kSize});
    };
    const auto dout = heads_first<const void>(g.data(), Number::float32, {kB, kHeads, T, kSize});
    few.backward(*few.forward(rows.input(w), out_view(a, T)), dout,
                 {.dq = view(dq, kHeads), .dk = view(dk, kGroups), .dv = view(dv, kGroups)});
    many.backward(*many.forward(repeated.input(w), out_view(b, T)), dout,
                  {.dq = view(all_q, kHeads), .dk = view(all_k, kHeads), .dv = view(all_v, kHeads)});
    for (std::size_t n = 0; n < a.size(); ++n) {
      ASSERT_EQ(a[n], b[n]);
      ASSERT_EQ(dq[n], all_q[n]);
    }
    for (std::int64_t n = 0; n < std::int64_t(dk.size()); ++n) {
      const std::int64_t bg = n / (T * kSize),
                         first = (bg / kGroups * kHeads + bg % kGroups * group) * T * kSize + n % (T * kSize);
      ASSERT_NEAR(dk[n], all_k[first] + all_k[first + T * kSize], 1e-5);
      ASSERT_NEAR(dv[n], all_v[first] + all_v[first + T * kSize], 1e-5);
    }
  }
}

template <class Half>
void expect_halves(Number number, double step) {
  const Rows rows;
  const Attention a("rope+alibi", grouped());
  const AttentionInput in = rows.input({});
  // tokens first, and every number beside one that is none of ours
  const auto stored = [&](const Floats& x, std::int64_t heads, std::vector<std::uint16_t>& bits,
                          Floats& rounded) {
    bits.assign(2 * x.size(), 0x7FFF);
    rounded.resize(x.size());
    ConstView v{bits.data(),
                number,
                {kB, heads, kTokens, kSize},
                {2 * kTokens * heads * kSize, 2 * kSize, 2 * heads * kSize, 2}};
    for (std::int64_t n = 0; n < std::int64_t(x.size()); ++n) {
      const std::int64_t c = n % kSize, t = n / kSize % kTokens, h = n / kSize / kTokens % heads,
                         b = n / kSize / kTokens / heads;
      const Half half(x[n]);
      bits[std::size_t(b * v.steps[0] + h * v.steps[1] + t * v.steps[2] + c * v.steps[3])] = half.bits;
      rounded[n] = float(half);
    }
    return v;
  };
  std::vector<std::uint16_t> q, k, v, out(2 * rows.q.size());
  Rows narrow;
  AttentionInput half = in;
  half.q = stored(rows.q, kHeads, q, narrow.q), half.k = stored(rows.k, kGroups, k, narrow.k);
  half.v = stored(rows.v, kGroups, v, narrow.v);
  const View to{out.data(), number, half.q.extents, half.q.steps};
  a.forward(half, to);
  Floats want, found;
  a.forward(narrow.input({}), out_view(want, kTokens));
  widen(read_only(to), found);
  double off = 0;
  for (std::size_t n = 0; n < want.size(); ++n) {
    ASSERT_NEAR(found[n], want[n], step * std::max(0.01, std::abs(double(want[n])))) << n;
    off = std::max(off, double(std::abs(found[n] - want[n])));
  }
  EXPECT_GT(off, 0);  // it was rounded

  // Gradients of the same rows, each rounded once; dout is in sixteen bits too.
  std::vector<std::uint16_t> g, dq(2 * rows.q.size()), dk(2 * rows.k.size()), dv(2 * rows.v.size());
  Rows wide;
  const ConstView dout = stored(normals(std::int64_t(rows.q.size()), 31), kHeads, g, wide.q);
  const auto view = [&](std::vector<std::uint16_t>& bits, const ConstView& like) {
    return View{bits.data(), number, like.extents, like.steps};
  };
  a.backward(*a.forward(half, to), dout, {view(dq, half.q), view(dk, half.k), view(dv, half.v)});
  Floats fq(rows.q.size()), fk(rows.k.size()), fv(rows.v.size());
  const auto dense = [](Floats& x, std::int64_t heads) {
    return heads_first<void>(x.data(), Number::float32, {kB, heads, kTokens, kSize});
  };
  a.backward(*a.forward(narrow.input({}), out_view(want, kTokens)),
             heads_first<const void>(wide.q.data(), Number::float32, {kB, kHeads, kTokens, kSize}),
             {dense(fq, kHeads), dense(fk, kGroups), dense(fv, kGroups)});
  for (const auto& [bits, like, exact] :
       {std::tuple{&dq, half.q, &fq}, {&dk, half.k, &fk}, {&dv, half.v, &fv}}) {
    widen(read_only(view(*bits, like)), found);
    for (std::size_t n = 0; n < found.size(); ++n)
      ASSERT_NEAR(found[n], (*exact)[n], step * std::max(0.01, std::abs(double((*exact)[n])))) << n;
  }
}
TEST(Attention, Bfloat16ViewsAreWithinTheirRounding) { expect_halves<BFloat16>(Number::bfloat16, 1.0 / 256); }
TEST(Attention, Float16ViewsAreWithinTheirRounding) { expect_halves<Float16>(Number::float16, 1.0 / 2048); }

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "nothing was wrong";
}
void expect_why(const std::function<void()>& f, const std::string& part) {
  const std::string found = why(f);
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

TEST(Attention, WhatDoesNotFitIsAnswered) {
  const auto make = [](const char* spec, AttentionConfig c) { return [=] { Attention(spec, c); }; };
  expect_why(make("rope", {.heads = 6, .kv_heads = 4, .head_size = 8}),
             "heads is 6, no multiple of kv_heads, 4");
  expect_why(make("rope", {.heads = 4, .head_size = 7}), "7 channels");
  expect_why(make("sinusoidal", {.heads = 4, .head_size = 8}), "do not act inside attention");
  expect_why(make("[rope, none]", {.heads = 4, .head_size = 8}), "do not act inside attention");
  expect_why(make("rope", {.heads = 0, .head_size = 8}), "heads is 0");
  const Rows rows;
  const Attention a("rope", grouped());
  Floats out;
  const View to = out_view(out, kTokens);
  const auto with = [&](const std::function<void(AttentionInput&)>& change) {
    return [&, change] {
      AttentionInput in = rows.input({});
      change(in);
      a.forward(in, to);
    };
  };
  for (const char* spec : {"pope", "grape", "tupe"}) {
    const Attention by_head(spec, grouped());
    const Floats w = by_head.initial(1);
    expect_why([&] { by_head.forward(rows.input(w), to); }, "as many heads of k as of q");
  }
  expect_why(with([](AttentionInput& in) { in.k.extents[1] = 3; }), "k: found");
  expect_why(with([](AttentionInput& in) { in.q.number = Number(7); }), "a number type 7");
  expect_why(with([](AttentionInput& in) { in.v.data = nullptr; }), "v: no data");
  expect_why(with([](AttentionInput& in) { in.v.steps[2] = -1; }), "a step of -1");
  Placement broken = Placement::consecutive(0, kTokens);
  broken.values[3] = std::nan("");
  expect_why(with([&](AttentionInput& in) { in.places = &broken; }), "nan");
  expect_why(
      [&] {
        View overlapping = to;
        overlapping.steps[2] = kSize - 1;
        a.forward(rows.input({}), overlapping);
      },
      "overlap");
  KeyCache cache = a.cache(kB, 4);
  const AttentionInput in = rows.input({});
  AttentionInput five = in;
  five.q = some(in.q, 0, 5), five.k = some(in.k, 0, 5), five.v = some(in.v, 0, 5);
  expect_why([&] { a.decode(five, cache, out_view(out, 5)); }, "n is 5; allowed are 0 to 4");
  AttentionInput two = in;
  two.q = some(in.q, 0, 2), two.k = some(in.k, 0, 2), two.v = some(in.v, 0, 2);
  a.decode(two, cache, out_view(out, 2));
  const Placement before = Placement::consecutive(0, 2);
  two.places = &before;
  expect_why([&] { a.decode(two, cache, out_view(out, 2)); },
             "is 0, before the cached ones; allowed are 1 and more");
  const Attention learned("kerple_log", grouped());
  expect_why([&] { learned.forward(rows.input({}), to); }, "w has 0 numbers, its shape asks for 8");
}

// One table for every head and token: PoPE's phases in a model of one head.
TEST(Attention, ATableOfOneTokenTurnsEveryToken) {
  const Step step{unsigned(Role::k), Rotate{0, 1, 1, 1, 1, 1, {0.0f}, {1.0f}}};
  Floats rows{1, 0, 2, 0, 3, 0};
  apply(step, Role::k, RowLayout{1, 3, 1, 6, 2, 6}, rows.data());
  EXPECT_EQ(rows, (Floats{0, 1, 0, 2, 0, 3}));
}

// A step of q is none of k: xPos scales them apart, and ALiBi has none.
TEST(Attention, AStepIsOfItsRoles) {
  Floats row(kSize, 1.0f);
  const RowLayout one{1, 1, 1, kSize, kSize, kSize};
  const Attention a("xpos", grouped());
  const Plan plan = a.plan(Placement::consecutive(700, 1), {});
  for (const Step& step : plan.steps) {
    for (const auto& [role, name] :
         {std::pair{Role::q, "q"}, {Role::k, "k"}, {Role::v, "v"}, {Role::out, "out"}}) {
      const auto call = [&, role = role] { apply(step, role, one, row.data()); };
      const auto back = [&, role = role] {
        Step grad = step.zeros();
        apply_backward(step, role, one, row.data(), row.data(), grad);
      };
      const std::string words = text("found rows of ", name);
      for (const auto& f : {std::function<void()>(call), std::function<void()>(back)})
        EXPECT_EQ(why(f).find(words) != std::string::npos, !step.acts_on(role)) << why(f);
    }
  }
  EXPECT_GE(plan.steps.size(), 2u);
}

TEST(Attention, ASoftCapIsAskedWhenItIsMade) {
  for (const float cap :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    expect_why([&] { Attention("rope", {.heads = 2, .head_size = 8, .soft_cap = cap}); }, "soft_cap is ");
}

// A child that was forked after loops on two threads.
TEST(Attention, AForkedChildHasTheSameBits) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads that are made after such a fork";
#endif
  const int before = thread_count();
  set_thread_count(2);
  const Rows rows;
  const Attention a("rope+t5", grouped());
  const Floats w = moved_start(a);
  Floats parents, own;
  a.forward(rows.input(w), out_view(parents, kTokens));
  KeyCache cache = a.cache(kB, 64);
  a.decode(rows.input(w), cache, out_view(own, kTokens));
  Floats product(300 * 300), again(product.size());
  const Floats left = normals(300 * 300, 4);
  const auto multiply = [&](Floats& to) {
    matmul({.M = 300, .N = 300, .K = 300, .lda = 300, .ldb = 300, .ldc = 300}, left.data(), left.data(),
           to.data());
  };
  multiply(product);
  for (int n = 0; n < 3; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      a.forward(rows.input(w), out_view(own, kTokens));
      multiply(again);
      AttentionInput token = rows.input(w);
      token.q = some(token.q, 0, 1), token.k = some(token.k, 0, 1), token.v = some(token.v, 0, 1);
      Floats one;
      a.decode(token, cache, out_view(one, 1));
      _exit(own == parents && again == product && cache.keys() == kTokens + 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  set_thread_count(before);
}

TEST(Attention, NothingIsAskedOfNothing) {
  const Attention a("rope+alibi", grouped());
  for (const auto& [B, T] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {2, 0}, {0, 0}}) {
    AttentionInput in;
    in.q = heads_first<const void>(nullptr, Number::float32, {B, kHeads, T, kSize});
    in.k = in.v = heads_first<const void>(nullptr, Number::float32, {B, kGroups, T, kSize});
    const View out = heads_first<void>(nullptr, Number::float32, {B, kHeads, T, kSize});
    const auto saved = a.forward(in, out);
    const View none = heads_first<void>(nullptr, Number::float32, {B, kGroups, T, kSize});
    a.backward(*saved, read_only(out), {.dq = out, .dk = none, .dv = none});
  }
}

}  // namespace
}  // namespace gnomon
