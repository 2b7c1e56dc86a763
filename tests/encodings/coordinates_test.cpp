// Encodings of tokens with several coordinates: tokens that stand nowhere, documents, sequences of their own, what is refused,
// and pairs of channels with two angles.
#include <gtest/gtest.h>

#include "gnomon/core/error.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/spec/scheme.h"
#include "tests/laws/laws.h"

namespace gnomon {
namespace {

constexpr std::int64_t kHeads = 2, kSize = 16;
Shape shape_of(bool causal) { return {kHeads * kSize, kHeads, kSize, 64, causal}; }

// The class token first, between rows and last; the others on 3 rows of 4 columns from (5, 7) on.
Placement with_class_tokens() {
  std::vector<double> all{-1, -1};
  for (int n = 0; n < 12; ++n) {
    all.push_back(5 + n / 4), all.push_back(7 + n % 4);
    if (n == 6) all.push_back(-1), all.push_back(0);
  }
  all.push_back(-1), all.push_back(-1);
  return Placement::of(all, 1, 2);
}

TEST(WindowTable, AClassTokenHasBiasesOfItsOwn) {
  for (const bool causal : {true, false}) {
    const auto e = make_encoding("window_table(rows=3, columns=4, class=on)", shape_of(causal));
    Case c(shape_of(causal), *e, with_class_tokens());
    expect_laws({{e.get(), &c.w}}, c);
    expect_laws({{e.get(), &c.w}}, c, {.tile = 5});
    // Each of the three is read, and by nobody else: its change moves the pairs of its kind alone.
    const std::int64_t first = 5 * 7 * kHeads, T = c.T();
    const auto kind = [&](std::int64_t t) { return c.place.values[std::size_t(2 * t)] == -1; };
    for (std::int64_t n = 0; n < 3; ++n) {
      Case moved = c;
      moved.w[std::size_t(first + n * kHeads)] += 1;
      const Definition was(*e, c.scene()), is(*e, moved.scene());
      for (std::int64_t pair = 0; pair < T * T; ++pair) {
        const std::int64_t i = pair / T, j = pair % T;
        const std::int64_t own = kind(i) && kind(j) ? 2 : kind(i) ? 0 : kind(j) ? 1 : -1;
        EXPECT_NEAR(is.logit(0, i, j) - was.logit(0, i, j), own == n ? 1 : 0, 1e-12) << i << ' ' << j;
      }
    }
  }
}

TEST(RopeDino, WhatIsNoPatchDoesNotTurn) {
  const auto e = make_encoding("rope_dino(rows=3, columns=4, pairing=halves)", shape_of(false));
  const Placement place = Placement::of(std::vector<double>{-1, -1, 1, 2, -1, 3}, 1, 2);
  Case c(shape_of(false), *e, place);
  expect_laws({{e.get(), &c.w}}, c);
  for (const std::int64_t t : {0, 1, 2}) {
    std::vector<double> row(c.q.begin(), c.q.begin() + kSize);
    const auto before = row;
    part<MapPart>(*e)->map_row(c.scene(), Role::q, 0, t, row);
    EXPECT_EQ(row == before, t != 1);
  }
}

TEST(Coordinates, DocumentsDoNotSeeEachOther) {
  const std::vector<double> grid{0, 0, 0, 0, 0, 1, 1, 0, 2, 2, 2, 0, 0, 3, 1, 1, 4, 0};
  for (const char* spec : {"window_table(rows=3, columns=4)", "box_buckets(rule=layoutlmv3)",
                           "box_buckets(rule=udop, scale=off)", "vjepa2"}) {
    const auto e = make_encoding(spec, shape_of(false));
    Placement place = e->axes() == 2
                          ? Placement::of(std::vector<double>{0, 0, 0, 1, 1, 0, 2, 3, 0, 2, 1, 1}, 1, 2)
                          : Placement::of(grid, 1, 3);
    place.document = {0, 0, 0, 1, 1, 1};
    Case c(shape_of(false), *e, place);
    expect_laws({{e.get(), &c.w}}, c);
  }
}

// At D = 16 the two channels of a pair have different angles.
TEST(VJepa2, ItsGradientIsThatOfMatricesThatAreNoRotations) {
  const auto e = make_encoding("vjepa2", shape_of(true));
  Case c(shape_of(true), *e, 11, 3);
  expect_laws({{e.get(), &c.w}}, c);
  std::vector<double> row(kSize, 1), at_zero = row;
  part<MapPart>(*e)->map_row(c.scene(), Role::q, 0, 5, row);
  double sum = 0;
  for (const double x : row) sum += x * x;
  EXPECT_GT(std::abs(sum - double(kSize)), 0.1);  // lengths change
  EXPECT_EQ(std::vector<double>(row.begin() + 12, row.end()), std::vector<double>(4, 1));
}

// --- The term by code

struct Attended {
  AttendShape s;
  Floats q, k, v, out, lse, dout, dq, dk, dv;
  Terms terms, dterms;
  explicit Attended(std::int64_t B) {
    const std::int64_t T = 7, n = B * kHeads * T * kSize;
    s = {.B = B,
         .H = kHeads,
         .queries = T,
         .keys = T,
         .K = kSize,
         .D = kSize,
         .scale = 0.25f,
         .causal = false};
    q = normals(n, 1), k = normals(n, 2), v = normals(n, 3), dout = normals(n, 4);
    out = dq = dk = dv = Floats(std::size_t(n)), lse = Floats(std::size_t(B * kHeads * T));
    terms.code_ranges = {{-2, 5}, {0, 3}};
    terms.by_code = normals(kHeads * 8, 5);
  }
  void run() {
    const std::int64_t head = s.keys * kSize, sequence = kHeads * head;
    const auto read = [&](const Floats& x) { return Heads<const float>{x.data(), sequence, kSize, head}; };
    const auto rows = [&](Floats& x) { return Heads<float>{x.data(), sequence, kSize, head}; };
    dterms = terms.zeros();
    attend(s, read(q), read(k), read(v), terms, rows(out), lse.data());
    attend_backward(s, {read(q), read(k), read(v), read(out), lse.data(), read(dout)}, terms,
                    {rows(dq), rows(dk), rows(dv), &dterms});
  }
};

TEST(ByCode, EverySequenceHasItsOwnCodes) {
  Attended both(2);
  for (int n = 0; n < 2 * 2 * 7; ++n) {
    both.terms.code_of_query.push_back(double(n * 5 % 11) / 2);
    both.terms.code_of_key.push_back(double(n * 3 % 13) / 2);
  }
  both.run();
  Floats out, dq, dtable(both.terms.by_code.size());
  for (int b = 0; b < 2; ++b) {
    Attended one(1);
    const auto half = [&](const auto& x) {
      const auto size = std::ptrdiff_t(x.size() / 2);
      return std::decay_t<decltype(x)>(x.begin() + b * size, x.begin() + (b + 1) * size);
    };
    one.q = half(both.q), one.k = half(both.k), one.v = half(both.v), one.dout = half(both.dout);
    one.terms.code_of_query = half(both.terms.code_of_query),
    one.terms.code_of_key = half(both.terms.code_of_key);
    one.run();
    out.insert(out.end(), one.out.begin(), one.out.end()), dq.insert(dq.end(), one.dq.begin(), one.dq.end());
    for (std::size_t n = 0; n < dtable.size(); ++n) dtable[n] += one.dterms.by_code[n];
  }
  EXPECT_EQ(out, both.out);
  EXPECT_EQ(dq, both.dq);
  for (std::size_t n = 0; n < dtable.size(); ++n) EXPECT_NEAR(dtable[n], both.dterms.by_code[n], 1e-6);
}

// Beyond the ends the entries at the ends, whole parts toward 0.
TEST(ByCode, DifferencesAreCutAndEndAtTheirRange) {
  const double differences[] = {-1e15, -3, -2.9, -0.9, 0.9, 1, 1e15};
  const int first[] = {0, 0, 0, 2, 2, 3, 4}, second[] = {0, 0, 0, 0, 0, 1, 2};
  for (int n = 0; n < 7; ++n) {
    Attended a(1), plain(1);
    a.terms.code_of_query = plain.terms.code_of_query = std::vector<double>(14, differences[n]);
    a.terms.code_of_key = plain.terms.code_of_key = std::vector<double>(14, 0);
    a.run(), plain.run();
    for (int entry = 0; entry < 8; ++entry) {
      Attended moved = plain;
      moved.terms.by_code[std::size_t(entry)] += 1;
      moved.run();
      const bool read = entry == first[n] || entry == 5 + second[n];
      EXPECT_NEAR(moved.lse[0] - plain.lse[0], read ? 1 : 0, 1e-5) << differences[n] << " entry " << entry;
    }
  }
}

void refused(const std::string& words, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing refused: " << words;
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

TEST(ByCode, ArraysThatDoNotFitAreRefused) {
  const auto with = [](const std::string& words, const std::function<void(Attended&)>& change) {
    Attended a(2);
    a.terms.code_of_query = a.terms.code_of_key = std::vector<double>(14, 0);
    change(a);
    refused(words, [&] { a.run(); });
  };
  with("code_of_query has 14 numbers and terms.code_of_key 13",
       [](Attended& a) { a.terms.code_of_key.pop_back(); });
  with("code_of_key 28", [](Attended& a) { a.terms.code_of_key.resize(28); });
  with("a code of by_code is nan", [](Attended& a) { a.terms.code_of_query[3] = std::nan(""); });
  with("0 entries", [](Attended& a) { a.terms.code_ranges[1].count = 0; });
  with("terms.by_code has 15", [](Attended& a) { a.terms.by_code.pop_back(); });
  with("each query must be one of them", [](Attended& a) { a.s.first = 1; });
}

TEST(Coordinates, WhatDoesNotFitIsRefused) {
  const auto made = [](const std::string& spec) { return make_encoding(spec, shape_of(true)); };
  const auto placed = [&](const std::string& spec, const Placement& place) {
    const auto e = made(spec);
    const Floats w(std::size_t(e->param_count()));
    const Acting acting{e.get(), w.data()};
    compile(std::span(&acting, 1), place, true);
  };
  refused("rows 0 to 3 of a sequence; allowed are 3", [&] {
    placed("window_table(rows=3, columns=4)", Placement::of(std::vector<double>{0, 0, 3, 1}, 1, 2));
  });
  refused("columns -1 to 3", [&] {
    placed("window_table(rows=3, columns=4)", Placement::of(std::vector<double>{0, -1, 1, 3}, 1, 2));
  });
  refused("coordinate 0.5", [&] {
    placed("window_table", Placement::of(std::vector<double>{0, 0.5}, 1, 2));
  });
  refused("2 axes", [&] {
    placed("box_buckets(rule=udop)", Placement::of(std::vector<double>{0, 1}, 1, 2));
  });
  refused("both look up tables by coordinates",
          [] { make_scheme(Spec::parse("window_table+box_buckets(rule=udop)"), shape_of(true)); });
  refused("both change channel 0 of q and k",
          [] { make_scheme(Spec::parse("vjepa2+rope(pairing=halves, channels=4)"), shape_of(true)); });
  refused("steps=1/2/3", [&] { made("box_buckets(rule=udop, steps=1/2/3)"); });
  refused("distance", [&] { made("box_buckets(rule=layoutlmv3, plane_distance=16)"); });
  refused("multiples of 4", [&] { made("rope_dino(channels=6)"); });
  refused("min_period=1, max_period=0", [&] { made("rope_dino(min_period=1)"); });
  refused("min_period=2, max_period=1", [&] { made("rope_dino(min_period=2, max_period=1)"); });
  refused("k=9", [&] { made("riflex(k=9)"); });
  refused("window_mlp: rows 0 to 3 of a sequence; allowed are 3", [&] {
    placed("window_mlp(rows=3, columns=4)", Placement::of(std::vector<double>{0, 0, 3, 1}, 1, 2));
  });
  refused("trained=1/2/3", [&] { made("window_mlp(trained=1/2/3)"); });
  refused("reach", [&] { made("peg(reach=16)"); });
  refused("sections=4/3", [&] { made("riflex(sections=4/3)"); });
  refused("bases=5/6/7", [&] { made("rope_axial(bases=5/6/7)"); });
  refused("bases=5/6 with index=continued", [&] { made("rope_axial(bases=5/6, index=continued)"); });
}

// Distances in units of the trained window: a larger window has the biases of the same network, where distances are as many of
// those units.
TEST(WindowMlp, ALargerWindowHasTheNumbersOfTheTrainedOne) {
  const auto trained = make_encoding("window_mlp(rows=3, columns=5, hidden=7)", shape_of(false)),
             larger = make_encoding("window_mlp(rows=9, columns=8, trained=3/5, hidden=7)", shape_of(false)),
             squeezed = make_encoding("window_mlp(rows=9, columns=8, hidden=7)", shape_of(false));
  const Placement place = Placement::grid(std::vector<std::int64_t>{3, 5});
  Case c(shape_of(false), *trained, place);
  for (double& x : c.w) x *= 3;
  const Definition was(*trained, c.scene()), same(*larger, c.scene()), other(*squeezed, c.scene());
  double apart = 0;
  for (std::int64_t n = 0; n < 15 * 15; ++n) {
    EXPECT_EQ(was.logit(1, n / 15, n % 15), same.logit(1, n / 15, n % 15));
    apart = std::max(apart, std::abs(was.logit(1, n / 15, n % 15) - other.logit(1, n / 15, n % 15)));
  }
  EXPECT_GT(apart, 0.01);
}

// Two images one after the other, the second cut in the middle of a row: neither reads the other.
TEST(Peg, ImagesOfASequenceAreApart) {
  const Placement both =
      Placement::of(std::vector<double>{0, 0, 0, 1, 1, 0, 1, 1, 2, 1, 0, 0, 0, 1, 0, 2, 1, 1}, 1, 2);
  for (const bool causal : {true, false}) {
    const auto e = make_encoding("peg", shape_of(causal));
    Case c(shape_of(causal), *e, both);
    expect_laws({{e.get(), &c.w}}, c);
    Case moved = c;
    for (std::int64_t n = 0; n < 5 * kHeads * kSize; ++n) moved.x[std::size_t(n)] += 1;
    for (std::int64_t t = 0; t < 9; ++t) {
      const auto* peg = part<InputPart>(*e);
      EXPECT_EQ(peg->input(c.scene(), t, 3) == peg->input(moved.scene(), t, 3), t >= 5) << t;
    }
  }
}

// HunyuanVideo's: the fourth of eight pairs has the period 50, which is nearest to the repeat at frame 48; within that period
// nothing changes, and with always=on it does.
TEST(Riflex, ItsPairIsTheOneThatRepeats) {
  const Shape shape{128, 1, 128, 33, true};
  const std::string video = "sections=8/28/28, theta=256, pairing=adjacent";
  const auto frequencies = [&](const std::string& more) {
    return make_encoding("riflex(" + video + more + ")", shape)->frequencies();
  };
  const auto plain = make_encoding("rope_axial(index=reset, " + video + ")", shape)->frequencies();
  auto slow = plain;
  slow[3] = 0.9 * 2 * std::acos(-1.0) / 66;
  EXPECT_EQ(frequencies(", repeats=48"), slow);
  EXPECT_EQ(frequencies(", k=4"), slow);
  EXPECT_EQ(frequencies(", k=4, factor=1.5"), plain);
  EXPECT_NE(frequencies(", k=4, factor=1.5, always=on"), plain);
}

}  // namespace
}  // namespace gnomon
