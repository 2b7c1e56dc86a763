// The library's door: every wrong call is an Error(usage) that names the place, what was found and what is allowed; none
// reaches out of bounds, aborts or hangs. Under `asan` the random calls show that those it lets through stay inside.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <locale>
#include <numeric>

#include "gnomon/checkpoint/safetensors.h"
#include "gnomon/combine/spec.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/kernels/stored.h"
#include "gnomon/nn/train.h"
#include "tests/unit/support.h"

namespace gnomon {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBelow[] = {-1, kLeast};
constexpr std::int64_t kAbove[] = {std::int64_t{1} << 40, std::int64_t{1} << 62, kMost};
const float kNaN = std::numeric_limits<float>::quiet_NaN();

// The call throws Error(usage), and the message has these words.
template <class Call>
void refused(std::string_view words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "accepted, where the error has '" << words << "'";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(words), std::string_view::npos)
        << e.what() << "\nlacks " << words;
  }
}
// The call returns, or throws Error; anything else fails the test or ends the process.
template <class Call>
bool answered(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return false;
  }
}

// Random choices: what may be wrong with a number, and where.
class Dice {
 public:
  explicit Dice(std::string_view stream) : random_(1, stream) {}
  std::int64_t below(std::int64_t n) { return std::int64_t(random_.below(count_++, std::uint64_t(n))); }
  std::int64_t number() {
    const std::int64_t numbers[] = {0,
                                    -1,
                                    1,
                                    (std::int64_t{1} << 31) - 1,
                                    std::int64_t{1} << 31,
                                    std::int64_t{1} << 40,
                                    std::int64_t{1} << 62,
                                    kLeast,
                                    kMost};
    return numbers[below(std::size(numbers))];
  }
  // Steps beyond the array are the caller's to avoid: these are 0 and 1, or steps that no array has.
  std::int64_t step() {
    const std::int64_t steps[] = {0, -1, 1, std::int64_t{1} << 62, kLeast, kMost};
    return steps[below(std::size(steps))];
  }

 private:
  const Random random_;
  std::uint64_t count_ = 0;
};

struct Nothing final : RowRule {
  std::int64_t param_count() const override { return 3; }
  void forward(const QueryRow&, LogitRows) const override {}
  void backward(const QueryRow&, LogitRows, LogitRows, const RuleGrad&) const override {}
};

// Attention with every term, forward and backward; whatever is wrong is changed in it before it runs.
struct Attention {
  AttendShape s{.B = 2, .H = 2, .queries = 6, .keys = 6, .K = 4, .D = 4, .scale = 0.5f, .causal = true};
  // Room for a channel beside, which a change may ask for.
  Floats numbers = normals(2 * 6 * 2 * 4 + 64, 1), results[4], lse = Floats(64);
  Heads<const float> q, k, v, dout;
  Heads<float> out, dq, dk, dv;
  Terms terms, dterms;
  std::vector<Floats> drules;
  std::vector<std::uint8_t> padding = std::vector<std::uint8_t>(64);

  explicit Attention(bool by_rows) {
    q = k = v = dout = {numbers.data(), 48, 8, 4};
    for (Floats& r : results) r.resize(numbers.size());
    out = {results[0].data(), 48, 8, 4}, dq = {results[1].data(), 48, 8, 4};
    dk = {results[2].data(), 48, 8, 4}, dv = {results[3].data(), 48, 8, 4};
    terms.distances = 6;
    terms.by_distance = normals(2 * 6, 2), terms.by_query = normals(2 * 2 * 6, 3);
    terms.by_key = normals(2 * 2 * 6, 4), terms.query_cross = normals(2 * 6 * 4, 5);
    terms.key_cross = normals(2 * 6 * 4, 6), terms.value = normals(2 * 6 * 4, 7);
    terms.first_key = {0, 0, 0, 1, 1, 1}, terms.end_key = {3, 3, 3, 6, 6, 6};
    if (by_rows) {
      terms.places = {0, 0, 1, 3, 4, 5, 0, 1, 2, 3, 4, 5};
      terms.rules.push_back(std::make_shared<Nothing>());
      drules.emplace_back(3);
    }
    dterms = terms.zeros();
    s.padding = padding.data();
  }
  void forward() { attend(s, q, k, v, terms, out, lse.data()); }
  void backward() {
    attend_backward(s, {q, k, v, {out.data, out.batch, out.token, out.head}, lse.data(), dout}, terms,
                    {dq, dk, dv, &dterms, &drules});
  }
};

struct ShapeField {
  const char* name;
  std::int64_t AttendShape::*field;
};
constexpr ShapeField kShapeFields[] = {{"B", &AttendShape::B},
                                       {"H", &AttendShape::H},
                                       {"queries", &AttendShape::queries},
                                       {"keys", &AttendShape::keys},
                                       {"K", &AttendShape::K},
                                       {"D", &AttendShape::D},
                                       {"beside", &AttendShape::beside},
                                       {"query_tile", &AttendShape::query_tile},
                                       {"key_tile", &AttendShape::key_tile}};

TEST(DoorAttend, ExtentsAreWithinBounds) {
  for (const bool by_rows : {false, true}) {
    for (const auto& [name, field] : kShapeFields) {
      for (const auto& numbers :
           {std::span<const std::int64_t>(kBelow), std::span<const std::int64_t>(kAbove)}) {
        for (const std::int64_t x : numbers) {
          Attention a(by_rows);
          a.s.*field = x;
          refused(text("attend: ", name, " is ", x), [&] { a.forward(); });
          refused(text("attend: ", name, " is ", x), [&] { a.backward(); });
        }
      }
    }
    Attention more(by_rows);
    more.s.queries = 7;
    refused("queries is 7; allowed are 0 to 6", [&] { more.forward(); });
  }
}

TEST(DoorAttend, OneChangeEachIsRefused) {
  struct Wrong {
    const char* words;
    void (*change)(Attention&);
  };
  const Wrong both[] = {
      {"scale", [](Attention& a) { a.s.scale = kNaN; }},
      {"scale", [](Attention& a) { a.s.scale = 0; }},
      {"scale", [](Attention& a) { a.terms.content_scale = kNaN; }},
      {"q is null", [](Attention& a) { a.q.data = nullptr; }},
      {"k is null", [](Attention& a) { a.k.data = nullptr; }},
      {"v is null", [](Attention& a) { a.v.data = nullptr; }},
      {"out is null", [](Attention& a) { a.out.data = nullptr; }},
      {"rows of k are -8 numbers apart", [](Attention& a) { a.k.token = -8; }},
      {"last number of v", [](Attention& a) { a.v.token = std::int64_t{1} << 62; }},
      {"distances is -1", [](Attention& a) { a.terms.distances = -1; }},
      {"first_distance", [](Attention& a) { a.terms.first_distance = kLeast; }},
      {"terms.by_distance has 11", [](Attention& a) { a.terms.by_distance.pop_back(); }},
      {"terms.by_query has 23", [](Attention& a) { a.terms.by_query.pop_back(); }},
      {"terms.by_key has 23", [](Attention& a) { a.terms.by_key.pop_back(); }},
      {"terms.query_cross has 47", [](Attention& a) { a.terms.query_cross.pop_back(); }},
      {"terms.key_cross has 47", [](Attention& a) { a.terms.key_cross.pop_back(); }},
      {"terms.value has 47", [](Attention& a) { a.terms.value.pop_back(); }},
      {"terms.first_key has 5", [](Attention& a) { a.terms.first_key.pop_back(); }},
      {"terms.end_key has 7", [](Attention& a) { a.terms.end_key.push_back(6); }},
      {"terms.places has 2",
       [](Attention& a) {
         a.terms.places = {0, 1};
       }},
      {"attention needs", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 4, 6}; }},
      {"attention needs", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 2, 5}; }},
      {"places is", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 4, kMost}; }},
      {"places is", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 4, kLeast}; }},
      {"attention needs -5..5", [](Attention& a) { a.s.causal = false; }},
      {"rules is null", [](Attention& a) { a.terms.rules.push_back(nullptr); }},
  };
  const Wrong backward[] = {
      {"dq overlap", nullptr},
      {"dq is null", [](Attention& a) { a.dq.data = nullptr; }},
      {"dk is null", [](Attention& a) { a.dk.data = nullptr; }},
      {"dv is null", [](Attention& a) { a.dv.data = nullptr; }},
      {"dout is null", [](Attention& a) { a.dout.data = nullptr; }},
      {"rows of dk are 3", [](Attention& a) { a.dk.head = 3; }},
      {"dterms.by_distance has 8", [](Attention& a) { a.dterms.by_distance.resize(8); }},
      {"dterms.by_query has 1", [](Attention& a) { a.dterms.by_query.resize(1); }},
      {"dterms.by_key has 25", [](Attention& a) { a.dterms.by_key.resize(25); }},
      {"dterms.query_cross has 1", [](Attention& a) { a.dterms.query_cross.resize(1); }},
      {"dterms.key_cross has 1", [](Attention& a) { a.dterms.key_cross.resize(1); }},
      {"dterms.value has 1", [](Attention& a) { a.dterms.value.resize(1); }},
      {"dterms are for 5 distances", [](Attention& a) { a.dterms.distances = 5; }},
      {"distances from 1 on", [](Attention& a) { a.dterms.first_distance = 1; }},
      {"drules has", [](Attention& a) { a.drules.emplace_back(3); }},
  };
  for (const bool by_rows : {false, true}) {
    for (const Wrong& w : both) {
      Attention a(by_rows), b(by_rows);
      w.change(a), w.change(b);
      refused(w.words, [&] { a.forward(); });
      refused(w.words, [&] { b.backward(); });
    }
    for (const Wrong& w : backward) {
      if (!w.change) continue;
      Attention a(by_rows);
      a.forward();
      w.change(a);
      refused(w.words, [&] { a.backward(); });
    }
  }
  Attention short_rule(true);
  short_rule.drules[0].resize(2);
  refused("drules[0] has 2", [&] { short_rule.backward(); });
  Attention overlapping(false);
  overlapping.out.token = 7;
  refused("rows of out are 7 numbers apart and overlap", [&] { overlapping.forward(); });
  Attention no_lse(false);
  refused("lse is null",
          [&] { attend(no_lse.s, no_lse.q, no_lse.k, no_lse.v, no_lse.terms, no_lse.out, nullptr); });
}

TEST(DoorAttend, KeysThatHeadsShareMayOverlap) {
  Attention each(false), shared(false);
  for (std::int64_t n = 0; n < 96; n += 8) std::copy_n(&each.numbers[n], 4, &each.numbers[n + 4]);
  std::copy(each.numbers.begin(), each.numbers.end(), shared.numbers.begin());
  shared.k.head = shared.v.head = 0;
  each.forward(), shared.forward();
  EXPECT_EQ(each.results[0], shared.results[0]);
}

TEST(DoorAttend, FirstAndEndKeysLeadNowhereElse) {
  constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max(),
                         kNear = std::numeric_limits<std::int32_t>::min();
  for (const bool by_rows : {false, true}) {
    Attention all(by_rows), open(by_rows);
    all.terms.first_key.clear(), all.terms.end_key.clear();
    open.terms.first_key.assign(6, kNear), open.terms.end_key.assign(6, kFar);
    for (Attention* a : {&all, &open}) a->forward(), a->backward();
    for (int n = 0; n < 4; ++n) EXPECT_EQ(all.results[n], open.results[n]);
    Attention none(by_rows);
    none.terms.first_key.assign(6, kFar), none.terms.end_key.assign(6, kNear);
    none.forward(), none.backward();
    for (std::int64_t n = 0; n < 96; ++n) EXPECT_EQ(none.results[0][n], 0);
    Attention falling(by_rows);
    falling.terms.first_key = {5, 4, 3, 2, 1, 0}, falling.terms.end_key = {6, 5, 4, 3, 2, 1};
    falling.forward(), falling.backward();  // what it sees is not defined; that it stays inside is
  }
}

TEST(DoorAttend, NothingToDoIsDone) {
  for (const bool by_rows : {false, true}) {
    for (const auto& field : {&AttendShape::B, &AttendShape::H, &AttendShape::queries}) {
      Attention a(by_rows);
      a.s.*field = 0;
      a.terms = Terms{}, a.dterms = Terms{}, a.drules.clear();
      if (by_rows) a.terms.rules.push_back(std::make_shared<Nothing>()), a.drules.emplace_back(3);
      a.results[2].assign(a.results[2].size(), 1);
      a.dk.data = a.results[2].data();
      a.forward(), a.backward();
      EXPECT_EQ(a.results[2][0], field == &AttendShape::queries ? 0 : 1);  // dk of keys that nobody asks
    }
  }
}

TEST(DoorAttend, RandomCallsAreAnswered) {
  Dice dice("attend");
  std::int64_t worked = 0;
  for (int n = 0; n < 6000; ++n) {
    Attention a(dice.below(2));
    a.s.causal = dice.below(4) > 0;
    for (std::int64_t changes = dice.below(3) + 1; changes > 0; --changes) {
      Heads<float>* written[] = {&a.out, &a.dq, &a.dk, &a.dv};
      Heads<const float>* read[] = {&a.q, &a.k, &a.v, &a.dout};
      Floats* arrays[] = {&a.terms.by_distance, &a.terms.by_query,     &a.terms.by_key,
                          &a.terms.query_cross, &a.terms.key_cross,    &a.terms.value,
                          &a.dterms.by_query,   &a.dterms.by_distance, &a.dterms.by_key,
                          &a.dterms.key_cross,  &a.dterms.query_cross, &a.dterms.value};
      std::vector<std::int32_t>* keys[] = {&a.terms.first_key, &a.terms.end_key};
      switch (dice.below(10)) {
        case 0:
        case 1:
        case 2:
          a.s.*kShapeFields[dice.below(std::size(kShapeFields))].field = dice.number();
          break;
        case 3:
          read[dice.below(4)]->token = dice.step();
          break;
        case 4:
          read[dice.below(4)]->head = dice.step();
          break;
        case 5:
          written[dice.below(4)]->token = dice.step();
          break;
        case 6:
          arrays[dice.below(12)]->resize(std::size_t(dice.below(60)));
          break;
        case 7:
          (dice.below(2) ? a.terms.first_distance : a.terms.distances) = dice.number();
          break;
        case 8:
          if (auto& x = *keys[dice.below(2)]; !x.empty())
            x[std::size_t(dice.below(std::int64_t(x.size())))] = std::int32_t(dice.number());
          break;
        default:
          if (a.terms.places.empty()) a.terms.places = {0, 1, 2, 3, 4, 5};
          a.terms.places[std::size_t(dice.below(6))] = dice.number();
      }
    }
    worked += answered([&] { a.forward(); });
    worked += answered([&] { a.backward(); });
  }
  EXPECT_GT(worked, 1000);  // the door is not shut
}

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
        refused(words, [&] { make_position(Spec::parse(entry->name), shape); });
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
        if (encoding->axes() == 1) encoding->tables(Placement::consecutive(0, 4));
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
  refused("nan", [] { Placement::consecutive(std::nan(""), 5); });
  refused("2^53", [] { Placement::consecutive(1e300, 5); });
  refused("nan", [] { Placement::of(std::vector<double>{0, std::nan("")}); });
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
  refused("found nan", [&] { terms_for(p, true); });
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
  ModelConfig config;
  Model model;
  Floats w, gradient, losses = Floats(8), logits = Floats(8 * kVocabulary);
  std::vector<std::int32_t> inputs = std::vector<std::int32_t>(8, 65),
                            targets = std::vector<std::int32_t>(8, 66);
  explicit Small(std::string_view spec)
      : config(config_of(spec)), model(config), w(model.initial(1)), gradient(w.size()) {}
  static ModelConfig config_of(std::string_view spec) {
    ModelConfig c;
    c.layers = 1, c.width = 8, c.heads = 2, c.feed_forward = 1, c.length = 4, c.position = Spec::parse(spec);
    return c;
  }
  Tokens tokens() const { return {2, 4, inputs, targets}; }
};

TEST(DoorModel, SizesAndSymbolsAreChecked) {
  Small s("rope");
  const auto loss = [&](const Tokens& t) { s.model.loss(t, s.w, s.losses, s.gradient); };
  loss(s.tokens());
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, kLeast, kAbove[0], kAbove[1], kMost}) {
    Tokens t = s.tokens();
    t.B = x;
    refused(text("model: B is ", x), [&] { loss(t); });
    t = s.tokens(), t.T = x;
    refused(text("model: T is ", x), [&] { s.model.logits(t, s.w, s.logits); });
    refused(text("model: T is ", x), [&] { s.model.observe(t, s.w, s.losses, {}); });
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
  refused("losses has 7", [&] { s.model.loss(t, w, losses.first(7)); });
  refused("losses has 7", [&] { s.model.observe(t, w, losses.first(7), {}); });
  refused("gradient has 9", [&] { s.model.loss(t, w, losses, gradient.first(9)); });
  refused("w has 9", [&] { s.model.loss(t, w.first(9), losses); });
  refused("logits has 9", [&] { s.model.logits(t, w, logits.first(9)); });
  for (const std::int32_t byte :
       {-1, 256, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    s.inputs[5] = byte;
    refused(text("input 5 is ", byte), [&] { loss(s.tokens()); });
    refused(text("input 5 is ", byte), [&] { s.model.logits(s.tokens(), w, logits); });
    s.inputs[5] = 65;
    if (byte == kUnscored) continue;
    s.targets[3] = byte;
    refused(text("target 3 is ", byte), [&] { loss(s.tokens()); });
    refused(text("target 3 is ", byte), [&] { s.model.observe(s.tokens(), w, losses, {}); });
    s.targets[3] = 66;
  }
  Placement p = Placement::consecutive(0, 4);
  t.placement = &p;
  loss(t);
  p.rows = 0;
  refused("rows is 0", [&] { loss(t); });
  p = Placement::consecutive(0, 5);
  refused("for a batch of", [&] { loss(t); });
  p = Placement::consecutive(0, 4), p.values[2] = std::nan("");
  refused("found nan", [&] { loss(t); });
  p = Placement::consecutive(0, 4), p.padding = {0, 0};
  refused("padding has 2", [&] { loss(t); });
}

TEST(DoorModel, AbsurdConfigurationsAreRefused) {
  std::int64_t ModelConfig::*const fields[] = {&ModelConfig::layers, &ModelConfig::width, &ModelConfig::heads,
                                               &ModelConfig::feed_forward, &ModelConfig::length};
  for (const auto field : fields) {
    for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, kLeast, kAbove[0], kAbove[1], kMost}) {
      ModelConfig c = Small::config_of("rope");
      c.*field = x;
      refused("model.", [&] { Model{c}; });
    }
  }
  ModelConfig c = Small::config_of("rope");
  c.layers = 1000, c.width = 1 << 16, c.heads = 256, c.feed_forward = 64;
  refused("the number of parameters", [&] { Model{c}; });
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
      answered([&] { s.model.loss(t, s.w, losses, gradient); });
      answered([&] { s.model.logits(t, s.w, s.logits); });
    }
  }
}

TEST(DoorModel, LogitsThatAreNoNumbersStayInside) {
  Small s("cope");
  std::fill(s.w.begin(), s.w.end(), kNaN);
  EXPECT_TRUE(std::isnan(s.model.loss(s.tokens(), s.w, s.losses, s.gradient)));
}

TEST(DoorKernels, Rotate) {
  Floats x(64), angles(64);
  const Rotation r{Pairing::halves, 2, angles.data(), angles.data()};
  const RowLayout rows{2, 3, 2, 24, 8, 4};
  rotate(r, rows, 1, x.data());
  const std::pair<const char*, std::int64_t RowLayout::*> extents[] = {
      {"B", &RowLayout::B}, {"T", &RowLayout::T}, {"H", &RowLayout::H}};
  for (const auto& [name, field] : extents) {
    for (const std::int64_t n : {std::int64_t{-1}, kLeast, kAbove[0], kMost}) {
      RowLayout wrong = rows;
      wrong.*field = n;
      refused(text("rotate: ", name, " is ", n), [&] { rotate(r, wrong, 1, x.data()); });
      std::vector<BFloat16> halves(64);
      refused(text("rotate_stored: ", name, " is ", n),
              [&] { rotate_stored(r, wrong, 1, 4, halves.data()); });
    }
  }
  RowLayout wrong = rows;
  wrong.head = 3;
  refused("overlap", [&] { rotate(r, wrong, 1, x.data()); });
  wrong = rows, wrong.token = kLeast;
  refused("rows of x are", [&] { rotate(r, wrong, 1, x.data()); });
  refused("pairs is -1", [&] {
    rotate({Pairing::halves, -1, angles.data(), angles.data()}, rows, 1, x.data());
  });
  refused("cos is null", [&] { rotate({Pairing::halves, 2, nullptr, angles.data()}, rows, 1, x.data()); });
  refused("x is null", [&] { rotate(r, rows, 1, nullptr); });
  refused("sign is 0", [&] { rotate(r, rows, 0, x.data()); });
  std::vector<BFloat16> halves(64);
  refused("pairs is 2", [&] { rotate_stored(r, rows, 1, 3, halves.data()); });
  rotate(r, {std::int64_t{1} << 30, std::int64_t{1} << 30, 0, 0, 0, 0}, 1, nullptr);  // no heads: at once
}

TEST(DoorKernels, Stored) {
  std::vector<Float16> x(256);
  Floats lse(64);
  const Heads<Float16> rows{x.data(), 48, 8, 4};
  const Heads<const Float16> read{x.data(), 48, 8, 4};
  for (const auto& [name, field] : kShapeFields) {
    AttendShape s{.B = 2, .H = 2, .queries = 6, .keys = 6, .K = 4, .D = 4, .scale = 0.5f, .causal = true};
    s.*field = -1;
    refused(text("attend: ", name, " is -1"),
            [&] { attend_stored(s, read, read, read, {}, rows, lse.data()); });
    refused(text("attend: ", name, " is -1"), [&] {
      attend_stored_backward<Float16>(s, {read, read, read, read, lse.data(), read}, {},
                                      {rows, rows, rows, nullptr});
    });
  }
}

TEST(DoorKernels, Products) {
  Floats a(64), b(64), c(64);
  for (const auto& [name, field] : {std::pair{"M", &Matmul::M}, {"N", &Matmul::N}, {"K", &Matmul::K}}) {
    for (const std::int64_t x : {std::int64_t{-1}, kLeast, kAbove[1], kMost}) {
      Matmul m{.M = 4, .N = 4, .K = 4};
      m.*field = x;
      refused(text("matmul: ", name, " is ", x), [&] { matmul(m, a.data(), b.data(), c.data()); });
    }
  }
  for (const auto& [name, field] : {std::pair{"a", &Matmul::lda}, {"b", &Matmul::ldb}, {"c", &Matmul::ldc}}) {
    for (const std::int64_t x : {std::int64_t{3}, std::int64_t{-1}, kLeast, kMost}) {
      Matmul m{.M = 4, .N = 4, .K = 4};
      m.*field = x;
      refused(text(" ", name, " "), [&] { matmul(m, a.data(), b.data(), c.data()); });
    }
  }
  refused("a is null", [&] { matmul({.M = 4, .N = 4, .K = 4}, nullptr, b.data(), c.data()); });
  refused("c is null", [&] { matmul({.M = 4, .N = 4, .K = 4}, a.data(), b.data(), nullptr); });
  refused("is -1", [&] { linear({-1, 4, 4}, a.data(), b.data(), nullptr, c.data()); });
  refused("is -4", [&] {
    linear_backward({4, -4, 4}, a.data(), b.data(), c.data(), {a.data(), b.data(), nullptr});
  });
  linear_backward({0, 4, 4}, nullptr, b.data(), nullptr,
                  {nullptr, a.data(), c.data()});  // no rows: nothing to add
  for (const float x : a) EXPECT_EQ(x, 0);
}

TEST(DoorKernels, RowsAndNumbers) {
  Floats x(64), y(64), gain(8), statistics(16);
  const auto norm = [&](const NormShape& s) {
    normalise(s, x.data(), gain.data(), nullptr, y.data(), statistics.data());
  };
  const auto norm_backward = [&](const NormShape& s) {
    normalise_backward(s, x.data(), gain.data(), statistics.data(), y.data(),
                       {x.data(), gain.data(), nullptr});
  };
  for (const NormShape& s : {NormShape{Norm::rms, -1, 8},
                             {Norm::rms, 8, 0},
                             {Norm::rms, 8, -1},
                             {Norm::rms, 8, 8, 7},
                             {Norm::rms, 8, 8, -8},
                             {Norm::rms, kMost, 8},
                             {Norm::rms, 8, kAbove[1]}}) {
    refused("normalise:", [&] { norm(s); });
    refused("normalise_backward:", [&] { norm_backward(s); });
  }
  refused("y is null", [&] {
    normalise({Norm::rms, 8, 8}, x.data(), gain.data(), nullptr, nullptr, statistics.data());
  });

  std::vector<std::int32_t> targets(8);
  Floats losses(8);
  const auto entropy = [&](const CrossEntropy& s) {
    cross_entropy(s, x.data(), targets.data(), losses.data());
  };
  for (const CrossEntropy& s : {CrossEntropy{-1, 8, 0},
                                {8, 0, 0},
                                {8, -1, 0},
                                {8, kAbove[0], 0},
                                {8, 8, 0, 7},
                                {8, 8, kNaN},
                                {8, 8, -1},
                                {kMost, 8, 0}})
    refused("cross_entropy:", [&] { entropy(s); });
  for (const std::int32_t target : {8, -2, std::numeric_limits<std::int32_t>::max()}) {
    targets[7] = target;
    losses.assign(8, 5);
    refused(text("target 7 is ", target, "; allowed are 0 to 7"), [&] { entropy({8, 8, 0}); });
    EXPECT_EQ(losses[0], 5);
  }

  const auto adam = [&](const AdamW& s, std::int64_t n) {
    adamw(s, n, x.data(), x.data(), x.data(), x.data());
  };
  refused("n is -1", [&] { adam({.rate = 1, .t = 1}, -1); });
  refused("n is", [&] { adam({.rate = 1, .t = 1}, kMost); });
  refused("t is 0", [&] { adam({.rate = 1, .t = 0}, 8); });
  refused("rate is nan", [&] { adam({.rate = std::nan(""), .t = 1}, 8); });
  refused("beta1 is 1", [&] { adam({.rate = 1, .beta1 = 1, .t = 1}, 8); });
  refused("beta2 is nan", [&] { adam({.rate = 1, .beta2 = std::nan(""), .t = 1}, 8); });
  refused("w is null", [&] { adamw({.rate = 1, .t = 1}, 8, x.data(), nullptr, x.data(), x.data()); });

  for (const std::int64_t n : {std::int64_t{-1}, kLeast, kMost}) {
    refused("gelu: n is", [&] { gelu(n, x.data(), y.data()); });
    refused("gelu_backward: n is", [&] { gelu_backward(n, x.data(), y.data(), y.data()); });
    refused("add: n is", [&] { add(n, x.data(), y.data(), y.data()); });
    refused("scale: n is", [&] { scale(n, 1, x.data()); });
    refused("sum_of_squares: n is", [&] { sum_of_squares(n, x.data()); });
    refused("add_column_sums: N is", [&] { add_column_sums({n, 8}, x.data(), y.data()); });
    refused("add_column_sums: C is", [&] { add_column_sums({8, n}, x.data(), y.data()); });
  }
  refused("rows of x are 7", [&] { add_column_sums({8, 8, 7}, x.data(), y.data()); });
  refused("x is null", [&] { gelu(1, nullptr, y.data()); });
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
            "\\xc2\\x9b"
            "31m");                                                  // CSI as one character
  EXPECT_EQ(printable("a\xFFz\x9B\xC3"), "a\\xffz\\x9b\\xc3");       // no UTF-8
  EXPECT_EQ(printable("\xC2\xA9 \xE2\x82"), "\xC2\xA9 \\xe2\\x82");  // © and a character that ends too early
  refused("\\x1b[31m", [] { Spec::parse("\x1b[31m"); });
}

TEST(DoorSafetensors, WhatTheFormatCannotHoldIsRefused) {
  const Path path = std::filesystem::temp_directory_path() / "gnomon-door.safetensors";
  const Floats numbers(4);
  const auto write = [&](const std::string& name, std::vector<std::int64_t> shape,
                         const Metadata& metadata = {}) {
    const Tensor tensors[] = {{"first", {4}, numbers}, {name, std::move(shape), numbers}};
    write_safetensors(path, tensors, metadata);
  };
  refused("is not UTF-8 at byte 1", [&] { write("a\xFF", {4}); });
  refused("is not UTF-8", [&] { write("a", {4}, {{"\xC0", "x"}}); });
  refused("is not UTF-8", [&] { write("a", {4}, {{"x", "\xED\xA0\x80"}}); });
  refused("is taken", [&] { write("first", {4}); });
  refused("is taken", [&] { write("__metadata__", {4}); });
  refused("data has 4", [&] { write("a", {5}); });
  refused("an array of", [&] { write("a", {-1, -4}); });
  refused("an array of", [&] { write("a", {kMost, kMost}); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace gnomon
