#include "gnomon/lens/rotary_use.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

using Complex = std::complex<double>;

// The rotation of a layer: its frequencies, and which channels of a head make a pair.
struct HeadRotation {
  std::vector<double> w;
  bool halves;
};
HeadRotation rotation_of(const Architecture& c, std::int64_t layer) {
  const Scheme scheme = make_scheme(c);
  const auto& active = scheme.in_layer(layer);
  const auto require = [&](bool ok, std::string_view why) {
    if (!ok) throw Error(Fault::usage, text("'", c.position.print(), "': ", why));
  };
  require(!active.empty(), text("layer ", layer, " has no rotation"));
  require(active.size() == 1 && c.position.attention.size() == 1,
          "pairs can be shown only if every layer has the same rotation and no other encoding");
  const Named& named = c.position.attention.front();
  HeadRotation r{scheme.attention[active[0]].encoding->frequencies(), false};
  require(!r.w.empty(), "it has no rotation");
  require(std::int64_t(r.w.size()) * 2 == c.attention.head_dim, "it does not rotate whole heads");
  r.halves = named.option("pairing") == OptionValue("halves");
  return r;
}

// q·conj(k) of every query, key and pair of one head, over √D: [pair](T,T) without the turn by position.
struct Pairs {
  const Architecture& c;
  const HeadRotation& rotation;
  const Matrix& qkv;
  std::int64_t head;

  Complex at(std::int64_t t, bool key, std::size_t i) const {
    const AttentionRule& rule = c.attention;
    const std::int64_t D = rule.head_dim, n = std::int64_t(i);
    const std::int64_t first = key ? rule.q_width() + head / (rule.heads / rule.kv_heads) * D : head * D;
    return rotation.halves ? Complex(qkv.at(t, first + n), qkv.at(t, first + n + D / 2))
                           : Complex(qkv.at(t, first + 2 * n), qkv.at(t, first + 2 * n + 1));
  }
  Complex product(std::int64_t p, std::int64_t q, std::size_t i) const {
    return at(p, false, i) * std::conj(at(q, true, i));
  }
  Matrix logits(std::size_t i) const {
    Matrix l(qkv.rows, qkv.rows);
    for (std::int64_t p = 0; p < l.rows; ++p) {
      for (std::int64_t q = 0; q < l.columns; ++q) {
        const Complex turned = product(p, q, i) * std::polar(1.0, double(p - q) * rotation.w[i]);
        l.at(p, q) = turned.real() * c.attention.scale_of_product();
      }
    }
    return l;
  }
  // Of every pair; throws unless they add up to the logits that the definition gives.
  std::vector<Matrix> all(const Trained& m, const AttentionMaps& truth) const {
    std::vector<Matrix> out;
    for (std::size_t i = 0; i < rotation.w.size(); ++i) out.push_back(logits(i));
    must_add_up(m, out, truth.logits[std::size_t(head)], "pairs of channels");
    return out;
  }
};

}  // namespace

std::vector<double> pair_frequencies(const Trained& m, std::int64_t layer) {
  return rotation_of(m.model.architecture(), layer).w;
}

TurnsSeen turns_within(std::span<const double> frequencies, std::int64_t T) {
  TurnsSeen t{};
  for (const double w : frequencies) {
    const double wavelength = 2 * std::numbers::pi / w;
    ++(wavelength <= double(T) ? t.full : wavelength <= 4 * double(T) ? t.partial : t.constant);
  }
  return t;
}

std::vector<Matrix> pair_logits(const Trained& m, std::int64_t layer, const Matrix& h, std::int64_t head) {
  const AttentionMaps truth = attention_maps(m, layer, h);
  if (head < 0 || head >= m.model.architecture().attention.heads)
    throw Error(Fault::usage,
                text("pair_logits: head ", head, " of ", m.model.architecture().attention.heads));
  const HeadRotation rotation = rotation_of(m.model.architecture(), layer);
  const Matrix qkv = projected_rows(m, layer, h);
  return Pairs{m.model.architecture(), rotation, qkv, head}.all(m, truth);
}

std::vector<std::vector<PairUse>> rotary_use(const Trained& m, std::int64_t layer, const Matrix& stream,
                                             std::int64_t T) {
  const Architecture& c = m.model.architecture();
  const HeadRotation rotation = rotation_of(c, layer);
  const std::size_t pairs = rotation.w.size(), heads = std::size_t(c.attention.heads);
  const std::int64_t windows = windows_of(stream, T, 2, "rotary_use");
  std::vector<std::vector<PairUse>> use(heads, std::vector<PairUse>(pairs, PairUse{}));
  std::vector<std::vector<Complex>> angle(heads, std::vector<Complex>(pairs));
  std::vector<double> variance(heads), raw(heads);
  double count = 0;
  for (std::int64_t s = 0; s < windows; ++s) {
    const Matrix h = stream.block(s * T, T), qkv = projected_rows(m, layer, h);
    const AttentionMaps truth = attention_maps(m, layer, h);
    for (std::size_t k = 0; k < heads; ++k) {
      const Pairs here{c, rotation, qkv, std::int64_t(k)};
      std::vector<Matrix> parts = here.all(m, truth);
      Matrix total(T, T);
      for (std::size_t i = 0; i < pairs; ++i) {
        raw[k] += squares(parts[i]);
        parts[i] = row_centred(parts[i], c.causal);
        total = sum(total, parts[i]);
        for (std::int64_t p = 0; p < T; ++p) {
          for (std::int64_t q = 0; q <= (c.causal ? p : T - 1); ++q) {
            const Complex z = here.product(p, q, i);
            use[k][i].bound += std::abs(z);
            angle[k][i] += z / std::max(std::abs(z), 1e-12);
            count += i == 0 && k == 0;
          }
        }
      }
      variance[k] += squares(total);
      for (std::size_t i = 0; i < pairs; ++i) {
        for (std::size_t n = 0; n < total.values.size(); ++n)
          use[k][i].share += parts[i].values[n] * total.values[n];
      }
    }
  }
  for (std::size_t k = 0; k < heads; ++k) {
    for (std::size_t i = 0; i < pairs; ++i) {
      PairUse& u = use[k][i];
      u = {u.bound / count, share(u.share, variance[k], raw[k], "rotary_use: the logits of a row"),
           std::abs(angle[k][i]) / count};
    }
  }
  return use;
}

}  // namespace gnomon
