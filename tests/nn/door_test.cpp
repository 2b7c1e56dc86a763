// The door of shapes, placements, encodings, models and texts.
#include "tests/support/door.h"

#include <cmath>
#include <cstdio>
#include <locale>
#include <set>

#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"
#include "gnomon/spec/scheme.h"
#include "tests/support/turn.h"

namespace gnomon {
namespace {

TEST(DoorShape, AbsurdShapesAreRefusedByEveryEncoding) {
  const std::pair<const char*, std::int64_t Shape::*> fields[] = {
      {"C", &Shape::C}, {"H", &Shape::H}, {"D", &Shape::D}, {"length", &Shape::length}};
  for (const Entry* entry : encodings()) {
    for (const auto& [name, field] : fields) {
      for (const std::int64_t x :
           {std::int64_t{0}, std::int64_t{-1}, kLeast, std::int64_t{1} << 31, kAbove[0], kAbove[1], kMost}) {
        Shape shape{16, 2, 8, 32, true};
        shape.*field = x;
        const std::string words = text("shape: ", name, " is ", x);
        refused(words, [&] { make_encoding(entry->name, shape); });
        refused(words, [&] { make_scheme(Spec::parse(entry->name), shape); });
      }
    }
  }
  refused("H·D", [] { make_encoding("rope", Shape{16, 1 << 16, 1 << 16, 32, true}); });
}

TEST(DoorShape, RandomShapesAreAnswered) {
  Dice dice("shape");
  for (const Entry* entry : encodings()) {
    for (int n = 0; n < 60; ++n) {
      Shape shape{16, 2, 8, 32, dice.below(2) > 0};
      std::int64_t Shape::*const fields[] = {&Shape::C, &Shape::H, &Shape::D, &Shape::length};
      for (std::int64_t changes = dice.below(2) + 1; changes > 0; --changes) {
        const std::int64_t small = dice.below(9) + 1;
        shape.*fields[dice.below(4)] = dice.below(2) ? dice.number() : small;
      }
      answered([&] {
        const auto encoding = make_encoding(entry->name, shape);
        encoding->param_count();
        if (encoding->axes() != 1) return;
        if (const auto* input = part<InputPart>(*encoding)) input->tables(Placement::consecutive(0, 4));
        if (encoding->param_count() == 0 && part<MapPart>(*encoding))
          turn_of(*encoding, Placement::consecutive(0, 4));
      });
    }
  }
}

TEST(DoorPlacement, SizesAndNumbersAreBounded) {
  const auto lengths = [](auto... x) { return std::vector<std::int64_t>{x...}; };
  const std::int64_t huge = std::int64_t{1} << 40;
  refused("positions:", [&] { Placement::grid(lengths(huge, huge)); });
  refused("positions:", [&] { Placement::grid(lengths(1 << 20, 1 << 20)); });
  refused("extent of a grid is -1", [&] { Placement::grid(lengths(-1, 4)); });
  refused("found -5 tokens", [] { Placement::consecutive(0, -5); });
  refused("tokens", [] { Placement::consecutive(0, kMost); });
  refused("nan is not a number", [] { Placement::consecutive(std::nan(""), 5); });
  refused("beyond 2^53", [] { Placement::consecutive(1e300, 5); });
  refused("nan is not a number", [] { Placement::of(std::vector<double>{0, std::nan("")}); });
  refused("rows is -2", [] { Placement::of(std::vector<double>{0, 1}, -2); });
  refused("rows is", [] { Placement::of(std::vector<double>{0, 1}, kMost, 4); });
  refused("axes is 5", [] { Placement::of(std::vector<double>(5), 1, 5); });
  for (const std::int64_t x : {std::int64_t{-1}, huge, kMost, kLeast}) {
    refused("positions:", [&] { Placement::packed(lengths(3, x)); });
    refused("positions:", [&] { Placement::ragged(lengths(3, x)); });
    refused("positions:", [&] { Placement::left_padded(lengths(3, x)); });
  }
  refused("positions:", [] { Placement::ragged(std::vector<std::int64_t>(1 << 14, 1 << 14)); });

  Placement p = Placement::consecutive(0, 4);
  p.rows = 0;
  refused("rows is 0", [&] { p.T(); });
  refused("rows is 0", [&] { terms_for(p, true); });
  p = Placement::consecutive(0, 4), p.document = {0, 0};
  refused("document has 2", [&] { terms_for(p, true); });
  p = Placement::consecutive(0, 4), p.padding = {1};
  refused("padding has 1", [&] { terms_for(p, true); });
  p = Placement::consecutive(0, 4), p.values[1] = std::nan("");
  refused("nan is not a number", [&] { terms_for(p, true); });
  const std::vector<double> values(4);
  refused("rows is 0", [&] { Positions(values, 0, 1); });
  refused("axes is 0", [&] { Positions(values, 1, 0); });
  refused("row is 2", [&] { Positions(values, 2, 1).row(2); });
}

TEST(DoorEncodings, WhatEncodingsShareIsChecked) {
  const auto see = [](const Positions&, std::int64_t, std::int64_t) { return true; };
  const Placement four = Placement::consecutive(0, 4);
  Terms terms = terms_for(four, true);
  terms.first_key = {0, 0, 0};
  refused("3 numbers", [&] { limit_keys(terms, four, see); });
  terms.first_key.assign(8, 0), terms.end_key.assign(12, 4);
  refused("12 numbers", [&] { limit_keys(terms, four, see); });
  Terms wide = terms_for(four, true);
  wide.distances = kAbove[1];
  refused("arrays over distances", [&] { make_over_distances(wide, wide.by_distance, 2, 1); });
  refused("C is 8192", [] { make_encoding("rotated", Shape{8192, 2, 8, 32, true}); });
}

struct Small {
  Architecture config;
  Model model;
  Session session;
  Floats w, gradient, losses = Floats(8), logits = Floats(8 * kVocabulary);
  std::vector<std::int32_t> inputs = std::vector<std::int32_t>(8, 65),
                            targets = std::vector<std::int32_t>(8, 66);
  explicit Small(std::string_view spec)
      : config(config_of(spec)), model(config), session(model), w(model.initial(1)), gradient(w.size()) {}
  static Architecture config_of(std::string_view spec) {
    return make_block("gpt", sizes(), Spec::parse(spec));
  }
  static BlockSizes sizes() { return {.layers = 1, .width = 8, .heads = 2, .feed_forward = 1, .length = 4}; }
  Tokens tokens() const { return {2, 4, inputs, targets}; }
};

TEST(DoorModel, SizesAndSymbolsAreChecked) {
  Small s("rope");
  const auto loss = [&](const Tokens& t) { s.session.loss(t, s.w, s.losses, s.gradient); };
  loss(s.tokens());
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, kLeast, kAbove[0], kAbove[1], kMost}) {
    Tokens t = s.tokens();
    t.B = x;
    refused(text("model: B is ", x), [&] { loss(t); });
    t = s.tokens(), t.T = x;
    refused(text("model: T is ", x), [&] { s.session.logits(t, s.w, s.logits); });
    Trainer trainer(s.config, {}, 1);
    refused(text("model: T is ", x), [&] { trainer.train(t); });
  }
  Tokens t = s.tokens();
  t.inputs = t.inputs.first(7);
  refused("inputs has 7", [&] { loss(t); });
  t = s.tokens(), t.targets = t.targets.first(7);
  refused("targets has 7", [&] { loss(t); });
  t = s.tokens();
  const std::span<float> losses = s.losses, gradient = s.gradient, logits = s.logits;
  const std::span<const float> w = s.w;
  refused("losses has 7", [&] { s.session.loss(t, w, losses.first(7)); });
  refused("gradient has 9", [&] { s.session.loss(t, w, losses, gradient.first(9)); });
  refused("w has 9", [&] { s.session.loss(t, w.first(9), losses); });
  refused("logits has 9", [&] { s.session.logits(t, w, logits.first(9)); });
  for (const std::int32_t byte :
       {-1, 256, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    s.inputs[5] = byte;
    refused(text("input 5 is ", byte), [&] { loss(s.tokens()); });
    refused(text("input 5 is ", byte), [&] { s.session.logits(s.tokens(), w, logits); });
    s.inputs[5] = 65;
    if (byte == kUnscored) continue;
    s.targets[3] = byte;
    refused(text("target 3 is ", byte), [&] { loss(s.tokens()); });
    refused(text("target 3 is ", byte), [&] { s.session.loss(s.tokens(), w, losses); });
    s.targets[3] = 66;
  }
  Placement p = Placement::consecutive(0, 4);
  t.placement = &p;
  loss(t);
  p.rows = 0;
  refused("rows is 0", [&] { loss(t); });
  p = Placement::consecutive(0, 5);
  refused("placement has rows=", [&] { loss(t); });
  p = Placement::consecutive(0, 4), p.values[2] = std::nan("");
  refused("nan is not a number", [&] { loss(t); });
  p = Placement::consecutive(0, 4), p.padding = {0, 0};
  refused("padding has 2", [&] { loss(t); });
}

TEST(DoorModel, AbsurdConfigurationsAreRefused) {
  std::int64_t BlockSizes::*const fields[] = {&BlockSizes::layers, &BlockSizes::width, &BlockSizes::heads,
                                              &BlockSizes::length};
  for (const auto field : fields) {
    for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, kLeast, kAbove[0], kAbove[1], kMost}) {
      BlockSizes sizes = Small::sizes();
      sizes.*field = x;
      refused("model.", [&] { Model{make_block("gpt", sizes, Spec::parse("rope"))}; });
    }
  }
  for (const double x : {0.0, -1.0, 0.5, 65.0, 1e300, std::nan("")}) {
    BlockSizes sizes = Small::sizes();
    sizes.feed_forward = x;
    refused("model.feed_forward", [&] { Model{make_block("gpt", sizes, Spec::parse("rope"))}; });
  }
  const BlockSizes most{.layers = 1000, .width = 1 << 16, .heads = 256, .feed_forward = 64};
  refused("the number of parameters", [&] { Model{make_block("gpt", most, Spec::parse("rope"))}; });
}

TEST(DoorModel, RandomTokensAreAnswered) {
  Dice dice("tokens");
  for (const char* spec : {"rope", "learned+t5", "sinusoidal+cope"}) {
    Small s(spec);
    for (int n = 0; n < 400; ++n) {
      Tokens t = s.tokens();
      Placement p = Placement::consecutive(0, 4);
      std::span<float> losses = s.losses, gradient = s.gradient;
      s.inputs.assign(8, 65), s.targets.assign(8, 66);
      for (std::int64_t changes = dice.below(2) + 1; changes > 0; --changes) {
        switch (dice.below(7)) {
          case 0:
            t.B = dice.number();
            break;
          case 1:
            t.T = dice.number();
            break;
          case 2:
            s.inputs[std::size_t(dice.below(8))] = std::int32_t(dice.number());
            break;
          case 3:
            s.targets[std::size_t(dice.below(8))] = std::int32_t(dice.number());
            break;
          case 4:
            losses = losses.first(std::size_t(dice.below(9)));
            break;
          case 5:
            (dice.below(2) ? p.rows : p.axes) = dice.number(), t.placement = &p;
            break;
          default:
            p.values[std::size_t(dice.below(4))] = double(dice.number()), t.placement = &p;
        }
      }
      answered([&] { s.session.loss(t, s.w, losses, gradient); });
      answered([&] { s.session.logits(t, s.w, s.logits); });
    }
  }
}

// Digits in groups, as std::locale("de_DE") has them.
struct Grouped final : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(DoorText, TheLocaleOfTheHostChangesNothing) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const std::string whole = text("steps = ", 2000), part = text(0.5), near = shortest(1234567.25);
  const double read = number("1234.5", "a number");
  std::locale::global(before);
  EXPECT_EQ(whole, "steps = 2000");
  EXPECT_EQ(part, "0.5");
  EXPECT_EQ(near, "1234567.25");
  EXPECT_EQ(read, 1234.5);
}

TEST(DoorText, ErrorsQuoteNothingThatATerminalObeys) {
  EXPECT_EQ(std::string(Error(Fault::usage, "'\x1b[31mred\x07' \n\t\x7f").what()),
            "'\\x1b[31mred\\x07' \\n\\t\\x7f");
  EXPECT_EQ(printable("δ = i − j, 100 €"), "δ = i − j, 100 €");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b"
            "31m");                                                  // CSI as one character
  EXPECT_EQ(printable("a\xFFz\x9B\xC3"), "a\\xffz\\x9b\\xc3");       // no UTF-8
  EXPECT_EQ(printable("\xC2\xA9 \xE2\x82"), "\xC2\xA9 \\xe2\\x82");  // © and a character that ends too early
  refused("\\x1b[31m", [] { Spec::parse("\x1b[31m"); });
}

std::string utf8(char32_t c) {
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
  if (c < 0x10000) return {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  return {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
          char(0x80 | (c & 63))};
}

// Every character there is. Unicode 15: Cc is U+0000 to U+001F and U+007F to U+009F; of the property Bidi_Control are twelve.
TEST(DoorText, WhatAScreenObeysIsWrittenOut) {
  const std::set<char32_t> turning{0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C,
                                   0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069};
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;  // surrogates: not in UTF-8
    const std::string raw = utf8(c), around = "a" + raw + "é";
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0), whole = c == '\n' || c == '\t';
    char hex[16];
    std::snprintf(hex, sizeof hex, "\\u%04x", unsigned(c));
    ASSERT_EQ(printable(around) != around, control || turning.contains(c)) << hex;
    ASSERT_EQ(printable(around).find(raw) == std::string::npos, control || turning.contains(c)) << hex;
    ASSERT_EQ(without_unprintables(around),
              (control || turning.contains(c)) && !whole ? "a" + std::string(hex) + "é" : around)
        << hex;
  }
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "x\xD8\x9C\x7F\xC2\x85"),
            "\\u202ex\\u061c\\x7f\\u0085");
  EXPECT_EQ(without_unprintables("\xE2\x80"), "\xE2\x80");  // a character that ends too early
  EXPECT_EQ(without_unprintables(""), "");
}

}  // namespace
}  // namespace gnomon
