// RoPE on a part of the heads. x-transformers 2.31, x_transformers.py, rotate_num_heads.
//
//   heads=n: pair i of q and k at position p turns by p·theta^(−2i/r) in the last n heads;   the others carry no position
//   still=a/b: all heads turn but these. DoPE (https://arxiv.org/abs/2511.09146) so stills, without training, heads that it
//   finds by the entropy of their queries or keys
//
// As many heads of k as of q. Acts on q and k. No parameters.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

// Whether each head turns.
std::vector<bool> turning_heads(const Options& options, std::int64_t H) {
  const std::int64_t named = options.whole("heads"), last = named ? named : (H + 1) / 2;
  const std::vector<double> still = options.numbers("still");
  const bool lists = still != std::vector<double>{-1};
  if (lists && named) throw Error(Fault::usage, "rope_heads: heads and still are given; give only one");
  if (last > H) throw Error(Fault::usage, text("rope_heads: found heads=", last, "; allowed are up to ", H));
  std::vector<bool> turns;
  for (std::int64_t h = 0; h < H; ++h) turns.push_back(lists || h >= H - last);
  for (const double h : lists ? still : std::vector<double>{}) {
    if (h < 0 || h >= double(H))
      throw Error(Fault::usage, text("rope_heads: found head ", h, " in still; allowed are 0 to ", H - 1));
    turns[std::size_t(h)] = false;
  }
  return turns;
}

class RopeHeads final : public Encoding, public MapPart {
 public:
  RopeHeads(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_(rotary_window("rope_heads", options, shape)),
        theta_(geometric_frequencies(options.number("theta"), window_.channels)),
        turns_(turning_heads(options, shape.H)) {}
  bool keeps_keys() const override { return true; }
  std::vector<double> frequencies() const override { return theta_; }

  void map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    for (std::int64_t n = 0; turns_[std::size_t(h)] && n < window_.pairs(); ++n) {
      const Angle angle(s.positions[t], theta_[std::size_t(n)]);
      multiply_pair(window_, n, angle.cos(), angle.sin(), row);
    }
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    Rotate r = window_.empty(shape_.H, b.tokens());
    for (std::int64_t n = 0; n < std::int64_t(r.cos.size()); ++n) {
      const std::int64_t pair = n % r.pairs, t = n / r.pairs % r.tokens, h = n / r.pairs / r.tokens;
      const Angle angle(turns_[std::size_t(h)] ? b.positions[t] : 0, theta_[std::size_t(pair)]);
      r.cos[n] = float(angle.cos()), r.sin[n] = float(angle.sin());
    }
    steps.push_back({Role::q | Role::k, std::move(r)});
  }

 private:
  const RotaryWindow window_;
  const std::vector<double> theta_;
  const std::vector<bool> turns_;
};

}  // namespace

extern const Entry rope_heads_entry;
const Entry rope_heads_entry = entry<RopeHeads>(
    {.name = "rope_heads",
     .aliases = {"rotate_num_heads", "partial_heads", "dope"},
     .title = "Rotary embedding on a part of the heads",
     .paper = "https://github.com/lucidrains/x-transformers",
     .formula = "pair i of the last n heads turns by p*theta^(-2i/r)",
     .latex =
         R"((q, k)_{\text{pair } i} \;\text{of the last}\; n \;\text{heads turns by}\; p\, \theta^{-2i/r})",
     .pitfall = "the last heads rotate, not the first; grouped keys would need the same split",
     .year = 2026,
     .relative = true,
     .options =
         rotary_options({{.name = "heads",
                          .help = "number of heads that rotate, the last ones; 0 = half of them, rounded up",
                          .standard = "0",
                          .least = 0,
                          .most = 4096,
                          .whole = true},
                         {.name = "still",
                          .help = "heads that do not rotate, such as 0/5, counted from 0; -1 = by `heads`",
                          .standard = "-1",
                          .least = -1,
                          .most = 4096,
                          .whole = true,
                          .list = true}})});

}  // namespace gnomon
