// Shares of heads and of kinds of queries, and what chance makes of their differences, on made-up data and in a model.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/lens/attention.h"
#include "gnomon/lens/importance.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

// Heads with these shares, queries of the kind with `more` on top; `noise` moves each row.
struct MadeUp {
  RowParts rows;
  std::vector<bool> kind;
  MadeUp(const std::vector<double>& shares, double more, double noise, std::int64_t windows = 60) {
    const std::int64_t n = windows * kTokens;
    rows = {Matrix(std::int64_t(shares.size()), n), Matrix(std::int64_t(shares.size()), n)};
    const Random random(2, "rows");
    for (std::int64_t i = 0; i < n; ++i) kind.push_back(random.below(std::uint64_t(i), 3) == 0);
    for (std::size_t k = 0; k < rows.part.values.size(); ++k) {
      const std::size_t head = k / std::size_t(n), i = k % std::size_t(n);
      rows.whole.values[k] = .5 + random.uniform(k + 100000);
      rows.part.values[k] =
          rows.whole.values[k] * (shares[head] + more * kind[i] + noise * random.normal(k + 500000));
    }
  }
};

TEST(LensImportance, HeadsThatDifferDifferMoreThanChance) {
  const MadeUp apart({.2, .5, .7}, 0, .1), same({.5, .5, .5}, 0, .4);
  const Exchanged a = between_heads(apart.rows, kTokens, 100, 1),
                  s = between_heads(same.rows, kTokens, 100, 1);
  EXPECT_NEAR(a.found, .5, .03);
  EXPECT_LT(a.by_chance, .15);
  EXPECT_GT(s.found, 0) << "the largest less the least is never below 0";
  EXPECT_NEAR(s.found, s.by_chance, .03);
  EXPECT_NEAR(apart.rows.share(1), .5, .02);
}

TEST(LensImportance, KindsOfQueriesThatDifferDifferMoreThanChance) {
  const MadeUp apart({.2, .5}, .2, .1), same({.2, .5}, 0, .1);
  const Exchanged a = between_kinds(apart.rows, apart.kind, kTokens, 100, 1),
                  s = between_kinds(same.rows, same.kind, kTokens, 100, 1);
  EXPECT_NEAR(a.found, .2, .02);
  EXPECT_LT(a.by_chance, .03);
  EXPECT_NEAR(s.found, s.by_chance, .015);
}

TEST(LensImportance, RowsAddUpToTheSharesOfTheirHeads) {
  const Moved m("sinusoidal");
  const Sample sample = letters(5);
  const Written parts = written(m.look(), sample);
  const auto about_position = [](std::size_t a, std::size_t b) { return a == 1 || b == 1; };
  const auto all = [](std::size_t, std::size_t) { return true; };
  const RowParts rows = row_parts(m.look(), 0, {parts.word, parts.position}, kTokens, about_position),
                 whole = row_parts(m.look(), 0, {parts.word, parts.position}, kTokens, all);
  const auto shares = term_shares(m.look(), 0, {parts.word, parts.position}, kTokens);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    double wanted = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b)
        wanted += about_position(a, b) * shares[std::size_t(h)].at(std::int64_t(a), std::int64_t(b));
    }
    EXPECT_NEAR(rows.share(h), wanted, 1e-9);
    EXPECT_NEAR(whole.share(h), 1, 1e-9);
    EXPECT_NEAR(rows.whole.at(h, 0), 0, 1e-12) << "a query that sees one key has nothing to weigh";
  }
}

TEST(LensImportance, WhatCannotBeComparedIsRefused) {
  const MadeUp m({.2, .5}, .2, .1, 5);
  EXPECT_TRUE(refuses([&] { between_heads(m.rows, kTokens + 1, 3, 1); }));
  EXPECT_TRUE(refuses([&] { between_heads(m.rows, kTokens, 0, 1); }));
  EXPECT_TRUE(refuses([&] { between_kinds(m.rows, std::vector<bool>(5 * kTokens), kTokens, 3, 1); }));
  EXPECT_TRUE(refuses([&] { between_kinds(m.rows, std::vector<bool>(7), kTokens, 3, 1); }));
  const Moved model("sinusoidal");
  EXPECT_TRUE(refuses([&] { row_parts(model.look(), 0, {}, kTokens, {}); }));
}

}  // namespace
}  // namespace gnomon
