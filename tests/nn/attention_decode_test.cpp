// Tokens through a key cache, against the whole pass.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "tests/nn/attention_rows.h"
#include "tests/support/limited.h"

namespace gnomon {
namespace {

// Token by token, and by chunks, through the cache: the whole pass.
TEST(Attention, DecodingIsTheWholePass) {
  int decoded = 0;
  std::vector<std::string> refused;
  const std::set<std::string> by_head{
      "rope_learned", "rope_mixed",    "rope_heads",       "pope", "fope", "grape", "tupe", "liere",
      "comrope",      "cayley_string", "circulant_string", "repo"};  // of k too
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
        token.x = some(in.x, 0, 1);
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
        token.x = some(in.x, t, n);
        a.decode(token, *cache, out_view(one, n));
        // Where frequencies follow the context, a row is that of the context so far.
        AttentionInput so_far = in;
        so_far.q = some(in.q, 0, t + n), so_far.k = some(in.k, 0, t + n), so_far.v = some(in.v, 0, t + n);
        so_far.x = some(in.x, 0, t + n);
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
  EXPECT_EQ(refused.size(), 13u);
  EXPECT_GE(decoded, 72);
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
  const std::vector<std::int64_t> calls{1900, 1, 1, 300, 1, 397}, in_a_ring{700, 700, 500, 1, 1, 300, 1, 397};
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
        KeyCache cache = a.cache(kB, ring ? 2300 : T, ring);  // the ring closes within the last call
        std::int64_t t = 0;
        for (const std::int64_t n : ring ? in_a_ring : calls) {
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

// The keys of a context extension follow the length that it was made for.
TEST(Attention, ACacheServesTheLengthThatItWasMadeFor) {
  const Rows rows;
  AttentionConfig config = grouped();
  config.length = 64;
  const Attention a("yarn(factor=4)", config), same("yarn(factor=4)", config);
  config.length = 128;
  const Attention longer("yarn(factor=4)", config);
  KeyCache cache = a.cache(kB, 2 * kTokens);
  Floats out;
  const AttentionInput in = rows.input({});
  same.decode(in, cache, out_view(out, kTokens));
  EXPECT_THROW(longer.decode(in, cache, out_view(out, kTokens)), Error);
}

// The memory of a call is that of what its queries see: what is hidden has neither a byte a pair nor a sum a piece.
TEST(Attention, AWindowNeedsNoMemoryForWhatItHides) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer maps memory of its own";
#endif
  constexpr std::int64_t T = 200'000, n = 1000, D = 8;
  const Attention a("alibi+window(size=64)", {.heads = 1, .head_dim = D});
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

}  // namespace
}  // namespace gnomon
