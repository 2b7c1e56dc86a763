// A table of positions beside the words that it is added to: of an encoder whose tables are made by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/lens/inspection.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

TEST(Inspection, TermsOfAnEncoderAddUpBehindItsNorm) {
  const Encoder encoder;
  const auto shares = look_at_terms(encoder.look(), letters(4));  // throws where the terms are not the logits
  ASSERT_EQ(shares.size(), std::size_t(kHeads));
  for (const TermsLook& head : shares) {
    double sum = 0;
    for (const double v : head.shares.values) sum += v;
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_GT(std::abs(head.shares.at(1, 1)), 1e-4);  // positions do something here
    EXPECT_GT(head.half_widths.at(1, 1), 0);
  }
}

// With a matrix between the words and the stream, before positions are added or after the norm.
TEST(Inspection, TermsOfNarrowWordsAddUp) {
  for (const Widened widened : {Widened::words, Widened::embedding}) {
    Architecture a = Encoder::architecture();
    a.narrow = {6, widened, true};
    const Model model(a);
    Floats w = model.initial(3);
    const Random random(4, "moved");
    for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.3f * float(random.normal(n));
    for (const TermsLook& head : look_at_terms({model, w}, letters(4))) {
      double sum = 0;
      for (const double v : head.shares.values) sum += v;
      EXPECT_NEAR(sum, 1, 1e-6);
      EXPECT_GT(std::abs(head.shares.at(1, 1)), 1e-4);
    }
    const TableLook table = look_at_table({model, w});
    EXPECT_EQ(table.words, a.vocabulary);
    // Words that were widened by a larger matrix are longer beside the same positions.
    const Param& widen = model.param("embed.widen.weight");
    for (std::int64_t n = 0; n < widen.spec.size(); ++n) w[std::size_t(widen.offset + n)] *= 3;
    const TableLook wider = look_at_table({model, w});
    if (widened == Widened::words) {
      EXPECT_GT(wider.word_length, 2 * table.word_length);
    } else {
      EXPECT_EQ(wider.word_length, table.word_length);
    }
  }
}

TEST(Inspection, ATableThatIsOrthogonalToTheWordsIsSeenToBe) {
  Encoder encoder;
  const auto fill = [&](const std::string& name, auto&& value) {
    const Param& p = encoder.model.param(name);
    const std::int64_t rows = p.spec.shape.front();
    for (std::int64_t n = 0; n < p.spec.size(); ++n)
      encoder.w[std::size_t(p.offset + n)] = float(value(n / (p.spec.size() / rows), n % kWidth));
  };
  const Random random(6, "tables");
  // Words in the first half of the channels, positions in the second, ten times shorter.
  fill("embed.word", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? random.normal(std::uint64_t(r * kWidth + c)) : 0.0;
  });
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? 0.0 : 0.1 * random.normal(std::uint64_t(1000000 + r * kWidth + c));
  });
  const TableLook apart = look_at_table(encoder.look());
  EXPECT_NEAR(apart.within, 0, 1e-9);
  EXPECT_NEAR(apart.chance, 0.5, 1e-9);
  EXPECT_NEAR(apart.norms.raw, 0.1, 0.02);
  EXPECT_NEAR(apart.recall, 1, 1e-9);  // what is orthogonal to all words moves no neighbour
  EXPECT_NEAR(apart.identity, 1, 1e-9);
  EXPECT_NEAR(apart.size_of_cosine, 0, 1e-9);
  EXPECT_LT(apart.channels, -0.5);  // positions vary where words do not
  EXPECT_EQ(apart.word_components, std::llround(apart.chance * double(kWidth)));
  EXPECT_NEAR(apart.position_length / apart.word_length, apart.norms.raw, 1e-9);
  EXPECT_NEAR(apart.entries.deviation, std::sqrt(0.5), 0.05);  // half of the entries are normal, the others 0
  EXPECT_NEAR(apart.entries.within_two, 1 - 0.0455 / 2, 0.02);
  for (std::size_t p = 0; p < apart.plane.positions.size(); ++p) {  // words along x, positions along y
    EXPECT_NEAR(apart.plane.words[p % apart.plane.words.size()].second, 0, 1e-9);
    EXPECT_NEAR(apart.plane.positions[p].first, 0, 1e-9);
    EXPECT_NEAR(apart.plane.cloud[p].second, apart.plane.positions[p].second, 1e-9);
  }
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? 3 * random.normal(std::uint64_t(1000000 + r * kWidth + c)) : 0.0;
  });
  const TableLook loud = look_at_table(encoder.look());
  EXPECT_NEAR(loud.within, 1, 1e-9);
  EXPECT_LT(loud.recall, 0.5);
  EXPECT_LT(loud.identity, 0.9);
  // Words in one channel, positions most in the same and a little in another: the plane has both.
  fill("embed.word", [&](std::int64_t r, std::int64_t c) { return c == 2 ? double(r % 5) - 2 : 0.0; });
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c == 2 ? 5.0 * double(r) : c == 5 ? 0.5 * double(r % 4) : 0.0;
  });
  const TablePlane plane = look_at_table(encoder.look()).plane;
  const auto first = plane.positions[0], third = plane.positions[3];
  EXPECT_NEAR(std::abs(third.second - first.second), 1.5, 1e-9);  // not 15, which is along x
  // A small step along x stands apart where the others take none, however far they are spread along y.
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c == 2 ? (r == 3 ? 0.5 : 0.0) : c == 5 ? 5.0 * double(r % 4) : 0.0;
  });
  const TablePlane one = look_at_table(encoder.look()).plane;
  const double P = double(one.positions.size());
  EXPECT_EQ(one.apart, 3);
  EXPECT_GT(one.apart_by, std::sqrt(P - 1) - 1e-9);  // of one among P that are equal
}

// A table larger than is looked at in one piece: the last word, and one between, are seen as the first ones are.
TEST(Inspection, EveryWordOfALargeTableIsLookedAt) {
  Architecture a = Encoder::architecture();
  a.vocabulary = 5003;
  const Model model(a);
  Floats w = model.initial(5);
  const Param& words = model.param("embed.word");
  for (std::int64_t n = 0; n < words.spec.size(); ++n) w[std::size_t(words.offset + n)] *= 10;
  const TableLook before = look_at_table({model, w});
  EXPECT_EQ(before.words, 5003);
  for (const std::int64_t row : {std::int64_t{4}, std::int64_t{4097}, std::int64_t{5002}}) {
    Floats changed = w;
    changed[std::size_t(words.offset + row * kWidth + 1)] = 77;
    EXPECT_EQ(look_at_table({model, changed}).entries.largest, 77) << row;
  }
  // By a loop over all pairs: how often the nearest word to the sum is the own one.
  const Matrix rows = parameter({model, w}, "embed.word"),
               places = parameter({model, w}, "position.input.table");
  int kept = 0;
  for (std::int64_t n = 0; n < kWordsAsked; ++n) {
    const std::int64_t own = n * rows.rows / kWordsAsked;
    const auto place = places.row((n * 7919 + 1) % places.rows);
    std::int64_t best = -1;
    double most = -HUGE_VAL;
    for (std::int64_t v = 0; v < rows.rows; ++v) {
      double product = 0, size = 0;
      for (std::int64_t c = 0; c < rows.columns; ++c)
        product += (rows.at(own, c) + place[std::size_t(c)]) * rows.at(v, c),
            size += rows.at(v, c) * rows.at(v, c);
      if (product / std::sqrt(size) > most) most = product / std::sqrt(size), best = v;
    }
    kept += best == own;
  }
  EXPECT_NEAR(before.identity, double(kept) / double(kWordsAsked), 1e-9);
}

}  // namespace
}  // namespace gnomon
