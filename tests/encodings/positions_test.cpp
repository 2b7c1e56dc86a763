// Where tokens stand: factories, what attention makes of places that do not follow each other, samplers, and answers
// to positions that an encoding has no value for.
#include "gnomon/encodings/positions.h"

#include <gtest/gtest.h>

#include <set>

#include "gnomon/nn/block.h"
#include "tests/laws/laws.h"
#include "tests/nn/reference_model.h"
#include "tests/support/turn.h"

namespace gnomon {
namespace {

TEST(Positions, FactoriesSayWhereTokensStand) {
  const std::int64_t lengths[] = {3, 1, 2}, extents[] = {2, 3};
  const Placement packed = Placement::packed(lengths);
  EXPECT_EQ(packed.values, (std::vector<double>{0, 1, 2, 0, 0, 1}));
  EXPECT_EQ(packed.document, (std::vector<std::int32_t>{0, 0, 0, 1, 2, 2}));
  const Placement left = Placement::left_padded(lengths), right = Placement::ragged(lengths);
  EXPECT_EQ(left.values, (std::vector<double>{0, 1, 2, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(left.padding, (std::vector<std::uint8_t>{0, 0, 0, 1, 1, 0, 1, 0, 0}));
  EXPECT_EQ(right.values, (std::vector<double>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(right.padding, (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 0, 0, 1}));
  const Placement grid = Placement::grid(extents);
  EXPECT_EQ(grid.values, (std::vector<double>{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2}));
  EXPECT_EQ(grid.T(), 6);
  // One coordinate on a grid of three columns is the same place.
  const Placement counted = Placement::consecutive(0, 6);
  for (std::int64_t t = 0; t < 6; ++t) {
    for (std::int64_t a = 0; a < 2; ++a)
      EXPECT_EQ(coordinate(counted, t, a, {2, 3}), coordinate(grid, t, a, {2, 3}));
  }
}

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
void expect_answer(const std::function<void()>& f, const std::string& part) {
  EXPECT_NE(why(f).find(part), std::string::npos) << why(f);
}

TEST(Positions, ARowIsRepeatedForEachSequence) {
  const std::vector<std::int64_t> lengths{2, 1};
  Placement one = Placement::packed(lengths);
  one.padding = {0, 0, 1};
  const Placement three = one.repeated(3);
  three.check();
  EXPECT_EQ(three.rows, 3);
  for (std::size_t n = 0; n < 9; ++n) {
    EXPECT_EQ(three.values[n], one.values[n % 3]);
    EXPECT_EQ(three.document[n], one.document[n % 3]);
    EXPECT_EQ(three.padding[n], one.padding[n % 3]);
  }
  EXPECT_EQ(one.repeated(1), one);
}

TEST(Positions, ImpossibleOnesAreAnswered) {
  const std::int64_t far[] = {(std::int64_t{1} << 53) + 2}, none[] = {0}, five[] = {1, 1, 1, 1, 1};
  expect_answer([&] { Placement::of(far); }, "beyond 2^53");
  expect_answer([&] { Placement::of(std::vector<double>{0, NAN}); }, "is not a number");
  expect_answer(
      [&] {
        Placement::of(std::vector<double>{0, 1, 2}, 2);
      },
      "allowed are multiples of rows·axes, 2·1");
  expect_answer([&] { Placement::packed(none); }, "document 0 has 0 tokens");
  expect_answer([&] { Placement::grid(five); }, "5 axes");
}

TEST(Encodings, PositionsWithoutAValueAreAnswered) {
  const Shape shape{16, 2, 8, 12, true};
  const auto answer = [&](const std::string& spec, double position) {
    const std::vector<double> one{position};
    return why([&] {
      const auto e = make_encoding(spec, shape);
      Floats w(e->param_count()), out(16);
      const Floats tables = part<InputPart>(*e)->tables(one);
      part<InputPart>(*e)->input({one, tables, w.data()}, out.data());
    });
  };
  EXPECT_NE(answer("learned", 12).find("position 12 is not a row of the table; allowed are 0 to 11"),
            std::string::npos);
  EXPECT_NE(answer("learned", -1).find("position -1"), std::string::npos);
  EXPECT_NE(answer("learned", 1.5).find("position 1.5"), std::string::npos);
  EXPECT_NE(answer("binary(bits=4)", 16).find("allowed are 0 to 15"), std::string::npos);
  EXPECT_NE(answer("permuted", 0.25).find("position 0.25"), std::string::npos);
  EXPECT_NE(answer("random", -3).find("position -3"), std::string::npos);
  EXPECT_NE(answer("axial(columns=4)", 12).find("axial, rows: position 3"), std::string::npos);
  // Fractions have no place in arrays over distances.
  const std::vector<double> half{0, 0.5, 1.5};
  for (const char* spec : {"alibi", "t5", "shaw", "deberta"}) {
    const auto e = make_encoding(spec, shape);
    const Floats w(e->param_count());
    const Floats tables;
    expect_answer(
        [&] {
          Terms terms = terms_for(half, true);
          part<TermsPart>(*e)->lower({half, tables, w.data()}, terms);
        },
        "not whole numbers");
  }
  const auto relative = make_encoding("relative_key(length=4)", shape);
  const Floats w(relative->param_count()), tables;
  expect_answer(
      [&] {
        Terms terms = terms_for(Placement::consecutive(0, 6), true);
        const Placement six = Placement::consecutive(0, 6);
        part<TermsPart>(*relative)->lower({six, tables, w.data()}, terms);
      },
      "has no row; allowed are -3 to 3");
  const Placement two_axes = Placement::of(std::vector<double>{0, 1, 2, 3}, 1, 2);
  expect_answer([&] { turn_of(*make_encoding("mrope", shape), two_axes); },
                "2 axes; allowed are 3 (t, h, w), or 1");
  expect_answer([&] { turn_of(*make_encoding("xpos", shape), Placement::consecutive(0, 200000)); },
                "outside the range of float32");
}

TEST(Encodings, ImpossibleOptionsAreAnswered) {
  const auto answer = [](const std::string& spec, std::int64_t H, std::int64_t D) {
    return why([&] { make_encoding(spec, {H * D, H, D, 64, true}); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  for (const char* name :
       {"proportional", "xpos", "rope_learned", "mrope", "yarn", "llama3", "fope", "rope_value"})
    has(answer(name, 2, 7), "a head of 7 channels cannot be split into pairs; allowed are even numbers");
  has(answer("rope_axial", 2, 6), "multiples of 4");
  has(answer("rope(fraction=0.5, offset=5)", 2, 8), "allowed are offsets up to 4");
  has(answer("rope(side=trailing, offset=2)", 2, 8), "offset must be 0");
  has(answer("ntk", 2, 2), "2 rotated channels give a division by zero");
  for (const char* name : {"t5", "tupe"}) {
    has(answer(std::string(name) + "(buckets=7)", 2, 8), "buckets must be even");
    has(answer(std::string(name) + "(buckets=0)", 2, 8), "found 0");
    has(answer(std::string(name) + "(buckets=32, distance=16)", 2, 8), "distance must exceed 16");
  }
  has(answer("deberta_v2(buckets=31)", 2, 8), "buckets must be even");
  has(answer("deberta_v2(buckets=32, distance=17)", 2, 8), "distance must exceed buckets/2 + 1 = 17");
  has(answer("mrope(sections=2/1/2)", 2, 8),
      "sections=2/1/2 has 3 numbers with the sum 5; allowed are three or four with the sum 4");
  has(answer("rope_axial(sections=1/2)", 2, 8),
      "sections=1/2 has 2 numbers with the sum 3; allowed are two to four with the sum 4");
  has(answer("rope_axial(index=alternating, sections=1/3)", 2, 8),
      "found sections=1/3; allowed are two equal sections");
  has(answer("rope_axial(index=interleaved, sections=1/3)", 2, 8),
      "found sections=1/3; allowed are equal sections");
  has(answer("mrope_interleaved(sections=4/0)", 2, 8), "has 2 numbers with the sum 4");
  has(answer("longrope(short=1/1/1)", 2, 8), "short has 3 factors; allowed are 1, or one per pair: 4");
  has(answer("longrope(long=1/x)", 2, 8), "longrope: option 'long'");
  has(answer("llama3(low=4, high=2)", 2, 8), "high=2 is below low=4");
  has(answer("cope(positions=1)", 2, 8), "allowed is a whole number from 2");
  has(why([] {
        make_scheme(Spec::parse("rope+shaw"), {16, 2, 8, 12, true});
      }),
      "shaw uses q and k as projected");
  has(why([] { make_scheme(Spec::parse("cope+cope"), {16, 2, 8, 12, true}); }), "both count keys by gates");
  has(why([] { make_scheme(Spec::parse("fox"), {16, 2, 8, 12, false}); }), "needs a causal model");
  has(why([] { Spec::parse("[sinusoidal, none]"); }), "write it outside [ ]");
  has(why([] { Spec::parse("[rope"); }), "expected ',' or ']'");
}

// --- Places that do not follow each other: attention against the definition.

const char* const kAnywhere[] = {"none",
                                 "rope",
                                 "alibi",
                                 "t5",
                                 "kerple_log",
                                 "shaw",
                                 "deberta",
                                 "deberta_v2",
                                 "transformer_xl",
                                 "fire",
                                 "cope",
                                 "fox",
                                 "grape_additive",
                                 "dape",
                                 "pope",
                                 "tupe",
                                 "self_extend",
                                 "stick_breaking",
                                 "window(size=4)",
                                 "content_profile(width=3, extent=6)",
                                 "selective_rope(activation=silu, bias=on, gate=head)",
                                 "carope",
                                 "repo",
                                 "gape",
                                 "cable",
                                 "rope_heads",
                                 "log_temperature"};

void expect_anywhere(const Placement& place, bool causal, bool ordered = true) {
  for (const char* spec : kAnywhere) {
    SCOPED_TRACE(spec);
    const Shape shape{16, 2, 8, 64, causal};
    const Entry& entry = find_encoding(std::string_view(spec).substr(0, std::string_view(spec).find('(')));
    if (entry.causal_only && !causal) continue;
    const auto e = make_encoding(spec, shape);
    if ((entry.acts & kMask) && !ordered) {
      Terms terms = terms_for(place, causal);
      const Floats tables;
      expect_answer(
          [&] {
            part<TermsPart>(*e)->lower({place, tables, nullptr}, terms);
          },
          "positions that never decrease");
      continue;
    }
    Case c(shape, *e, place);
    expect_laws({{e.get(), &c.w}}, c);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Attention, SparsePlaces) {
  const std::int64_t rising[] = {1, 2, 5, 6, 9, 20, 21, 22, 30, 31, 40, 47, 60};
  for (const bool causal : {true, false}) expect_anywhere(Placement::of(rising), causal);
}
TEST(Attention, PlacesInNoOrder) {
  const std::int64_t mixed[] = {9, 2, 5, 40, 9, 0, 21, 3, 30, 1};
  expect_anywhere(Placement::of(mixed), true, false);
}
TEST(Attention, PackedDocuments) {
  const std::int64_t lengths[] = {5, 1, 9, 3};
  for (const bool causal : {true, false}) expect_anywhere(Placement::packed(lengths), causal);
}

// A packed document, a padded one and one by itself: the same result for the same text.
TEST(Model, PackingAndPaddingLeaveADocumentWhatItIs) {
  for (const char* spec :
       {"sinusoidal", "rope", "alibi+[shaw, deberta]", "fox", "fire", "tupe", "dynamic_ntk", "pope",
        "transformer_xl", "learned+window(size=3)", "queries_keys(sinusoidal)", "selective_rope",
        "carope+cable", "gape", "log_temperature+lerope"}) {
    SCOPED_TRACE(spec);
    const Model model(make_block(
        "gpt", {.layers = 2, .width = 16, .heads = 2, .feed_forward = 2, .length = 12}, Spec::parse(spec)));
    Session session(model);
    const Floats w = model.initial(3);
    const std::vector<std::int32_t> text{5, 80, 7, 200, 33, 91, 2};
    const auto logits_of = [&](const Placement& place, const std::vector<std::int32_t>& inputs,
                               std::int64_t B) {
      const std::vector<std::int32_t> targets(inputs.size(), 0);
      Tokens tokens{B, std::int64_t(inputs.size()) / B, inputs, targets};
      tokens.placement = &place;
      Floats logits(inputs.size() * kVocabulary);
      session.logits(tokens, w, logits);
      return logits;
    };
    const Placement alone = Placement::consecutive(0, 7);
    const Floats want = logits_of(alone, text, 1);
    const auto expect_at = [&](const Floats& found, std::int64_t token, const char* how) {
      for (std::int64_t n = 0; n < 7 * kVocabulary; ++n)
        ASSERT_NEAR(found[token * kVocabulary + n], want[n], 2e-5) << how << ", number " << n;
    };
    const std::int64_t packed[] = {3, 7, 2}, lengths[] = {7, 10};
    expect_at(logits_of(Placement::packed(packed), {9, 9, 9, 5, 80, 7, 200, 33, 91, 2, 8, 8}, 1), 3,
              "packed");
    const Placement left = Placement::left_padded(lengths), right = Placement::ragged(lengths);
    const std::vector<std::int32_t> other{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    std::vector<std::int32_t> a{0, 0, 0}, b = text;
    a.insert(a.end(), text.begin(), text.end()), b.insert(b.end(), {0, 0, 0});
    a.insert(a.end(), other.begin(), other.end()), b.insert(b.end(), other.begin(), other.end());
    if (std::string(spec) == "dynamic_ntk") continue;  // the length of the batch is part of the encoding
    expect_at(logits_of(left, a, 2), 3, "left-padded");
    expect_at(logits_of(right, b, 2), 0, "ragged");
    // The control: without the documents' borders the text is another one.
    if (std::string(spec).find("window") != std::string::npos) continue;  // refuses positions that fall
    Placement open = Placement::packed(packed);
    open.document.clear();
    const Floats leaked = logits_of(open, {9, 9, 9, 5, 80, 7, 200, 33, 91, 2, 8, 8}, 1);
    float change = 0;
    for (std::int64_t n = 0; n < 7 * kVocabulary; ++n)
      change = std::max(change, std::abs(leaked[3 * kVocabulary + n] - want[n]));
    EXPECT_GT(change, 1e-3f);
  }
}

TEST(Samplers, DoWhatTheirPapersSay) {
  const Shape shape{16, 2, 8, 32, true};
  const Random random(7, "test");
  const auto drawn = [&](const char* spec, std::uint64_t draw, bool training) {
    auto row = Placement::consecutive(0, 20).values;
    part<PlacePart>(*make_encoding(spec, shape))->place(random, draw, training, row);
    return row;
  };
  std::set<std::vector<double>> all;
  double sum = 0;
  for (std::uint64_t draw = 0; draw < 2000; ++draw) {
    const auto row = drawn("randomised(most=100)", draw, draw % 2);
    for (std::size_t t = 1; t < row.size(); ++t) ASSERT_LT(row[t - 1], row[t]);
    ASSERT_GE(row.front(), 0);
    ASSERT_LT(row.back(), 100);
    for (const double p : row) sum += p;
    all.insert(row);
  }
  EXPECT_GT(all.size(), 1990u);
  EXPECT_NEAR(sum / 40000, 49.5, 1);  // uniform over 0..99
  EXPECT_EQ(drawn("randomised(most=100)", 5, true), drawn("randomised(most=100)", 5, true));
  std::set<double> shifts;
  for (std::uint64_t draw = 0; draw < 500; ++draw) {
    const auto row = drawn("shape(most=9)", draw, true);
    for (std::size_t t = 1; t < row.size(); ++t) ASSERT_EQ(row[t] - row[t - 1], 1);
    shifts.insert(row.front());
  }
  EXPECT_EQ(shifts.size(), 10u);
  EXPECT_EQ(drawn("shape(most=9)", 3, false), Placement::consecutive(0, 20).values);
  const auto still = drawn("cape", 1, false);
  EXPECT_NEAR(still.front(), -9.5, 1e-12);
  EXPECT_NEAR(still.back(), 9.5, 1e-12);
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto row = drawn("cape(shift=4, jitter=0.25, scale=1.5)", draw, true);
    for (std::size_t t = 1; t < row.size(); ++t) {
      ASSERT_GT(row[t] - row[t - 1], 0.5 / 1.5 - 1e-9);
      ASSERT_LT(row[t] - row[t - 1], 1.5 * 1.5 + 1e-9);
    }
  }
  EXPECT_NE(drawn("cape", 1, true), drawn("cape", 2, true));
  expect_answer([&] { drawn("randomised(most=19)", 0, true); }, "found 20 tokens; allowed are up to most=19");
}

}  // namespace
}  // namespace gnomon
