#include "gnomon/models/resolve/numbers.h"

#include "gnomon/encodings/encoding.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

void read_rotation(const Turns& turns, Numbers& n) {
  n.inv_freq = turns.frequencies;
  n.backward = !n.inv_freq.empty() && n.inv_freq.front() < 0;
  for (double& f : n.inv_freq) f = n.backward ? -f : f;
  n.attention_factor = turns.factor;
  n.softmax_factor *= turns.softmax_factor;
  n.rotary_dim = turns.window.channels;
  n.first = turns.window.first;
  n.pairing = turns.window.pairing;
}

// b(i − j = 1), which is the slope of a bias without parameters that grows with distance.
std::vector<double> slopes_of(const Encoding& encoding, std::int64_t heads) {
  const BiasPart* bias = part<BiasPart>(encoding);
  std::vector<double> slopes;
  if (!bias || encoding.param_count() != 0) return slopes;
  const double two[] = {0, 1};
  const Scene scene{two, {}, {}, {}};
  for (std::int64_t h = 0; h < heads; ++h) slopes.push_back(-bias->bias(scene, h, 1, 0));
  return slopes;
}

}  // namespace

Numbers numbers_of(const LayerPosition& layer, double length) {
  Numbers n;
  const Shape shape{layer.heads * layer.head_dim, layer.heads, layer.head_dim, 1, layer.causal};
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, shape);
    if (const auto* map = part<TurnPart>(*encoding)) read_rotation(map->turns_at(length), n);
    if (const auto* terms = part<TermsPart>(*encoding)) n.softmax_factor *= terms->content_scale();
    if (auto slopes = slopes_of(*encoding, layer.heads); !slopes.empty()) n.slopes = std::move(slopes);
  }
  return n;
}

namespace {

// The coordinate that moves a pair: a token away from 0 on this axis alone shows it.
std::int64_t axis_of(const Encoding& encoding, const LayerPosition& layer, std::int64_t low) {
  const std::int64_t axes = encoding.axes();
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    std::vector<double> place(std::size_t(axes), 0.0), row(std::size_t(layer.head_dim), 0.0);
    place[std::size_t(axis)] = 0.3, row[std::size_t(low)] = 1;
    part<MapPart>(encoding)->map_row(Scene{Positions(place, 1, axes), {}, {}, {}}, Role::q, 0, 0, row);
    if (row[std::size_t(low)] != 1) return axis;
  }
  return 0;
}

}  // namespace

std::vector<TurnedPair> pairs_of(const LayerPosition& layer) {
  std::vector<TurnedPair> pairs;
  const Shape shape{layer.heads * layer.head_dim, layer.heads, layer.head_dim, 1, layer.causal};
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, shape);
    const auto* map = part<TurnPart>(*encoding);
    if (!map) continue;
    const Turns turns = map->turns_at(1);
    for (std::int64_t n = 0; n < turns.window.pairs(); ++n) {
      const std::int64_t low = turns.window.low(n);
      pairs.push_back(
          {low, turns.window.high(n), axis_of(*encoding, layer, low), turns.frequencies[std::size_t(n)]});
    }
  }
  return pairs;
}

}  // namespace gnomon
