// The door of the kernels: attention with its terms, rotations, products, rows.
#include <algorithm>
#include <cmath>

#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/kernels/rotate.h"
#include "tests/support/door.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

// Attention with every term, forward and backward; whatever is wrong is changed in it before it runs.
struct Attention {
  AttendShape s{.B = 2, .H = 2, .queries = 6, .keys = 6, .K = 4, .D = 4, .scale = 0.5f, .causal = true};
  // Room for a channel beside, which a change may ask for.
  Floats numbers = normals(2 * 6 * 2 * 4 + 64, 1), results[4], lse = Floats(64);
  Heads<const float> q, k, v, dout;
  Heads<float> out, dq, dk, dv;
  Terms terms, dterms;
  std::vector<std::uint8_t> padding = std::vector<std::uint8_t>(64);

  // Everything that is more than a sum over arrays; a network mixes the heads.
  void add_rules() {
    terms.curve_rate = {0.5f}, terms.curve_by_token = normals(6, 8), terms.curve_knots = {0.2f, 0.7f};
    terms.curve_slope = normals(2 * 3, 9), terms.curve_intercept = normals(2 * 3, 10);
    for (float& x : terms.curve_by_token) x = std::abs(x);
    terms.tilt = normals(2, 11), terms.tilt_query = normals(2 * 2 * 6, 12),
    terms.tilt_key = normals(2 * 2 * 6, 13);
    terms.profile_width = 3;
    terms.profile_query = normals(2 * 2 * 6 * 3, 22), terms.profile = normals(2 * 6 * 3, 23);
    terms.forget_width = 3;
    terms.forget_query = normals(2 * 2 * 6 * 3, 14), terms.forget_key = normals(2 * 2 * 6 * 3, 15);
    terms.counted = normals(3 * 4, 16);
    terms.mix_up = normals(5 * 4, 17), terms.mix_up_bias = normals(5, 18),
    terms.mix_down = normals(2 * 5, 19);
    terms.mix_down_bias = normals(2, 20), terms.mix_size = normals(2, 21), terms.mix_rate = {0.5f, 2};
  }
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
      add_rules();
    }
    dterms = terms.zeros();
    s.padding = padding.data();
  }
  void forward() { attend(s, q, k, v, terms, out, lse.data()); }
  void backward() {
    attend_backward(s, {q, k, v, {out.data, out.batch, out.token, out.head}, lse.data(), dout}, terms,
                    {dq, dk, dv, &dterms});
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
      {"places is", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 4, double(kMost)}; }},
      {"places is", [](Attention& a) { a.terms.places = {0, 1, 2, 3, 4, double(kLeast)}; }},
      {"attention needs -5..5", [](Attention& a) { a.s.causal = false; }},
      {"places is 1.5", [](Attention& a) { a.terms.places = {0, 1.5, 2, 3, 4, 5}; }},
      {"places is nan", [](Attention& a) { a.terms.places = {0, kNaN, 2, 3, 4, 5}; }},
      {"far_from", [](Attention& a) { a.terms.far_from = 2; }},
      {"stick-breaking weights need a causal mask",
       [](Attention& a) { a.terms = Terms{}, a.terms.weights = Weighting::stick, a.s.causal = false; }},
      {"far_from", [](Attention& a) { a.terms.far_from = kNaN; }},
      {"terms.counted has 7", [](Attention& a) { a.terms.counted = Floats(7); }},
      {"terms.counted has 4", [](Attention& a) { a.terms.counted = Floats(4); }},
      {"terms.curve_rate", [](Attention& a) { a.terms.curve_rate.resize(2); }},
      {"terms.curve_", [](Attention& a) { a.terms.curve_rate = {1}, a.terms.curve_by_token.resize(5); }},
      {"terms.tilt", [](Attention& a) { a.terms.tilt.push_back(1); }},
      {"terms.forget_query", [](Attention& a) { a.terms.forget_query.resize(5); }},
      {"terms.profile_query has 5", [](Attention& a) { a.terms.profile_query.resize(5); }},
      {"terms.profile has 5", [](Attention& a) { a.terms.profile.resize(5); }},
      {"profile_width is -1", [](Attention& a) { a.terms.profile_width = -1; }},
      {"forget_width is -1", [](Attention& a) { a.terms.forget_width = -1; }},
      {"terms.mix_", [](Attention& a) { a.terms.mix_down.push_back(1); }},
  };
  const Wrong backward[] = {
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
      {"dterms.tilt has", [](Attention& a) { a.dterms.tilt.resize(3); }},
      {"dterms.counted has", [](Attention& a) { a.dterms.counted.resize(3); }},
  };
  for (const bool by_rows : {false, true}) {
    for (const Wrong& w : both) {
      Attention a(by_rows), b(by_rows);
      w.change(a), w.change(b);
      refused(w.words, [&] { a.forward(); });
      refused(w.words, [&] { b.backward(); });
    }
    for (const Wrong& w : backward) {
      Attention a(by_rows);
      a.forward();
      w.change(a);
      refused(w.words, [&] { a.backward(); });
    }
  }
  Attention falling(true);
  falling.terms.curve_knots = {0.7f, 0.2f};
  refused("curve_knots must not decrease; found 0.7, then 0.2", [&] { falling.forward(); });
  Attention narrow(true);
  narrow.terms.mix_rate.pop_back();
  refused("terms.mix_rate has 1", [&] { narrow.forward(); });
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
      a.terms = Terms{}, a.dterms = Terms{};
      if (by_rows) a.terms.counted = Floats(8);
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
          a.terms.places[std::size_t(dice.below(6))] = double(dice.number());
      }
    }
    worked += answered([&] { a.forward(); });
    worked += answered([&] { a.backward(); });
  }
  EXPECT_GT(worked, 1000);  // the door is not shut
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
  refused("x is null", [&] { rotate(r, rows, 1, static_cast<float*>(nullptr)); });
  refused("sign is 0", [&] { rotate(r, rows, 0, x.data()); });
  rotate(r, {std::int64_t{1} << 30, std::int64_t{1} << 30, 0, 0, 0, 0}, 1,
         static_cast<float*>(nullptr));  // no heads: at once
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
  const Floats bias = {1, 2};
  c.assign(64, 7);
  matmul({.M = 2, .N = 2, .K = 0, .ldc = 3}, a.data(), b.data(), c.data(), bias.data());
  EXPECT_EQ(std::vector<float>(c.begin(), c.begin() + 6), (std::vector<float>{1, 2, 7, 1, 2, 7}));
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
    refused("activate: n is", [&] { activate(Activation::gelu, n, x.data(), y.data()); });
    refused("activate_backward: n is",
            [&] { activate_backward(Activation::silu, n, x.data(), y.data(), y.data()); });
    refused("gate: N is", [&] { gate({Activation::silu, n, 4, 8, 4}, x.data(), y.data()); });
    refused("gate_backward: C is", [&] {
      gate_backward({Activation::silu, 1, n, 8, 4}, x.data(), y.data(), x.data());
    });
    refused("soft_cap: n is", [&] { soft_cap(n, 1, x.data()); });
    refused("add: n is", [&] { add(n, x.data(), y.data(), y.data()); });
    refused("scale: n is", [&] { scale(n, 1, x.data()); });
    refused("sum_of_squares: n is", [&] { sum_of_squares(n, x.data()); });
    refused("add_column_sums: N is", [&] { add_column_sums({n, 8}, x.data(), y.data()); });
    refused("add_column_sums: C is", [&] { add_column_sums({8, n}, x.data(), y.data()); });
  }
  refused("rows of x are 7", [&] { add_column_sums({8, 8, 7}, x.data(), y.data()); });
  refused("x is null", [&] { activate(Activation::gelu, 1, nullptr, y.data()); });
  refused("rows of x are 7", [&] { gate({Activation::silu, 2, 4, 7, 4}, x.data(), y.data()); });
  refused("cap is 0", [&] { soft_cap(1, 0, x.data()); });
}

}  // namespace
}  // namespace gnomon
