// Maps that follow the context: cached keys are turned on to it, sequence by sequence, or are not kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "gnomon/core/error.h"
#include "gnomon/nn/decode.h"
#include "tests/nn/attention_rows.h"

namespace gnomon {
namespace {

double last_place(const Positions& row) { return *std::max_element(row.values.begin(), row.values.end()); }

// Frequencies and factor of the whole context, in an encoding that is of no family.
class Stretched : public Encoding, public TurnPart {
 public:
  using Encoding::Encoding;
  Turns turns_at(double length) const override {
    Turns t{{Pairing::adjacent, 2, shape_.D - 4}, {}, 1 + length / 64};
    for (std::int64_t n = 0; n < t.window.pairs(); ++n) t.frequencies.push_back(double(n + 1) / (4 + length));
    return t;
  }
  void map_row(const Scene& s, Role, std::int64_t, std::int64_t t, std::vector<double>& row) const override {
    const Turns turns = turns_at(last_place(s.positions) + 1);
    for (std::int64_t n = 0; n < turns.window.pairs(); ++n) {
      double &x = row[std::size_t(turns.window.low(n))], &y = row[std::size_t(turns.window.high(n))];
      const std::complex<double> z = std::complex(x, y) * factor(turns, n, s.positions[t]);
      x = z.real(), y = z.imag();
    }
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    const std::int64_t T = b.positions.T();
    Rotate r = turns_at(1).window.empty(1, b.tokens());
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      const Turns turns = turns_at(last_place(b.positions.row(t / T)) + 1);
      for (std::int64_t n = 0; n < r.pairs; ++n) {
        const std::complex<double> z = factor(turns, n, b.positions[t]);
        r.cos[std::size_t(t * r.pairs + n)] = float(z.real());
        r.sin[std::size_t(t * r.pairs + n)] = float(z.imag());
      }
    }
    steps.push_back({Role::q | Role::k, std::move(r)});
  }

 private:
  static std::complex<double> factor(const Turns& turns, std::int64_t pair, double place) {
    return std::polar(turns.factor, place * turns.frequencies[std::size_t(pair)]);
  }
};

// The same map by an encoding that does not say how it turns; and one that claims that its keys stay as they are.
class Silent : public Encoding, public MapPart {
 public:
  explicit Silent(const Shape& shape) : Encoding(shape), as_(shape) {}
  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    as_.map_row(s, role, h, t, row);
  }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    as_.map(b, own, steps);
  }

 private:
  const Stretched as_;
};
class Claiming final : public Silent {
 public:
  using Silent::Silent;
  bool keeps_keys() const override { return true; }
};

const Shape kShape{kHeads * kSize, kHeads, kSize, 64, true};
KeyCache cache_for(const Encoding& e) {
  const Encoding* const all[] = {&e};
  return make_cache({kB, kHeads, kSize, kSize, 64}, all, "made up");
}

// What the last of the tokens 0..T−1 reads in head h of sequence b, by the definition of the map, in double.
std::vector<double> read_by_definition(const MapPart& map, const Rows& rows, std::int64_t head,
                                       std::int64_t T) {
  std::vector<double> places, out(kSize), weights;
  for (std::int64_t t = 0; t < T; ++t) places.push_back(double(t));
  const auto mapped = [&](const Floats& from, Role role, std::int64_t t) {
    const auto at = from.begin() + (head * kTokens + t) * kSize;
    std::vector<double> row(at, at + kSize);
    map.map_row({places, {}, {}, {}}, role, 0, t, row);
    return row;
  };
  const std::vector<double> q = mapped(rows.q, Role::q, T - 1);
  double sum = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    const std::vector<double> k = mapped(rows.k, Role::k, t);
    double score = 0;
    for (std::int64_t d = 0; d < kSize; ++d) score += q[std::size_t(d)] * k[std::size_t(d)];
    weights.push_back(std::exp(score / std::sqrt(double(kSize)))), sum += weights.back();
  }
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t d = 0; d < kSize; ++d)
      out[std::size_t(d)] +=
          weights[std::size_t(t)] / sum * double(rows.v[std::size_t((head * kTokens + t) * kSize + d)]);
  }
  return out;
}

// The largest difference of a row that was decoded token by token from what the definition says of it.
double decoded_apart(const Encoding& e, const MapPart& map) {
  const Rows rows(kTokens, kHeads);
  KeyCache cache = cache_for(e);
  const Acting acting[] = {{&e, nullptr}};
  const AttendShape shape{kB, kHeads, 1, 1, kSize, kSize, float(1 / std::sqrt(double(kSize))), true};
  double apart = 0;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    AttentionInput token = rows.input({});
    token.q = some(token.q, t, 1), token.k = some(token.k, t, 1), token.v = some(token.v, t, 1);
    Floats out;
    decode({shape, acting}, token, cache, out_view(out, 1));
    for (std::int64_t head = 0; head < kB * kHeads; ++head) {
      const std::vector<double> want = read_by_definition(map, rows, head, t + 1);
      for (std::int64_t d = 0; d < kSize; ++d)
        apart = std::max(apart, std::abs(out[std::size_t(head * kSize + d)] - want[std::size_t(d)]));
    }
  }
  return apart;
}

TEST(ContextMap, OfNoFamilyIsTurnedOn) {
  const Stretched stretched(kShape);
  EXPECT_LT(decoded_apart(stretched, stretched), 1e-5);
  // The control: with keys as they were made it would read something else.
  const Claiming claiming(kShape);
  EXPECT_GT(decoded_apart(claiming, claiming), 0.05);
}

TEST(ContextMap, ThatDoesNotSayHowItTurnsHasNoCache) {
  const Silent silent(kShape);
  try {
    cache_for(silent);
    FAIL() << "keys were kept";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    EXPECT_NE(std::string(e.what()).find("'made up' has no key cache"), std::string::npos) << e.what();
  }
}

// Sequences of a batch have contexts of their own, whatever stands in the padding: each is what it is alone. Sequence 1 is 15 tokens
// shorter, padded on the left, or on the right of its first call.
constexpr std::int64_t kPrompt = 20, kShorter = 15;
struct Padded {
  std::vector<double> places;
  std::vector<std::uint8_t> padding;
  explicit Padded(bool left) : padding(std::size_t(kB * kTokens)) {
    for (std::int64_t n = 0; n < kB * kTokens; ++n) {
      const std::int64_t t = n % kTokens;
      const bool shorter = n >= kTokens, none = left ? t < kShorter : t >= kPrompt - kShorter && t < kPrompt;
      const std::int64_t real = left || t >= kPrompt ? std::max<std::int64_t>(0, t - kShorter) : t;
      places.push_back(double(shorter ? real : t));
      padding[std::size_t(n)] = shorter && none;
    }
  }
};
// The tokens before `end` of a sequence that are none of the padding, alone: the last row of each head.
Floats alone(const Attention& a, const Rows& rows, const Padded& padded, std::int64_t b, std::int64_t end) {
  std::vector<std::int64_t> real;
  for (std::int64_t t = 0; t < end; ++t)
    if (!padded.padding[std::size_t(b * kTokens + t)]) real.push_back(t);
  const std::int64_t T = std::int64_t(real.size());
  const auto of = [&](const Floats& all) {
    Floats some;
    for (std::int64_t head = b * kHeads; head < (b + 1) * kHeads; ++head) {
      for (const std::int64_t t : real) {
        const auto row = all.begin() + (head * kTokens + t) * kSize;
        some.insert(some.end(), row, row + kSize);
      }
    }
    return some;
  };
  const Floats q = of(rows.q), k = of(rows.k), v = of(rows.v);
  Floats out(q.size()), last;
  AttentionInput in;
  const auto view = [&](const Floats& x) {
    return heads_first<const void>(x.data(), Number::float32, {1, kHeads, T, kSize});
  };
  in.q = view(q), in.k = view(k), in.v = view(v);
  a.forward(in, heads_first<void>(out.data(), Number::float32, {1, kHeads, T, kSize}));
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const auto row = out.begin() + (h * T + T - 1) * kSize;
    last.insert(last.end(), row, row + kSize);
  }
  return last;
}

TEST(ContextMap, EverySequenceHasItsOwnContext) {
  AttentionConfig config = grouped();
  config.kv_heads = kHeads;
  const Rows rows(kTokens, kHeads);
  for (const char* spec : {"rope", "dynamic_ntk(factor=4, original=8)", "dynamic_yarn(original=8)",
                           "longrope(short=1.25, long=8, original=8)"}) {
    for (const bool left : {true, false}) {
      SCOPED_TRACE(text(spec, left ? ", padded on the left" : ", padded on the right"));
      const Attention a(spec, config);
      const Padded padded(left);
      KeyCache cache = a.cache(kB, 64);
      for (std::int64_t t = 0, n = kPrompt; t < kTokens; t += n, n = 1) {
        AttentionInput in = rows.input({});
        in.q = some(in.q, t, n), in.k = some(in.k, t, n), in.v = some(in.v, t, n);
        std::vector<double> here;
        std::vector<std::uint8_t> none;
        for (std::int64_t b = 0; b < kB; ++b) {
          for (std::int64_t m = 0; m < n; ++m) {
            here.push_back(padded.places[std::size_t(b * kTokens + t + m)]);
            none.push_back(padded.padding[std::size_t(b * kTokens + t + m)]);
          }
        }
        const Placement places = Placement::of(here, kB);
        in.places = &places, in.padding = none.data();
        Floats out;
        a.decode(in, cache, out_view(out, n));
        for (std::int64_t b = 0; t > 0 && b < kB; ++b) {
          const Floats want = alone(a, rows, padded, b, t + n);
          for (std::int64_t i = 0; i < kHeads * kSize; ++i)
            ASSERT_NEAR(out[std::size_t(b * kHeads * kSize + i)], want[std::size_t(i)], 1e-5)
                << "token " << t << " of sequence " << b << ", number " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gnomon
