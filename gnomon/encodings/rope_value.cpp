// Rotation of the value path. K = V = R_n c, o = R_(−m) Σ p R_n c: the rotated and shared keys and values of DeepSeek-V4
// 2026 (https://github.com/linkedin/Liger-Kernel/pull/1387, NVIDIA NeMo's documentation); rotary embedding as in Su et al. 2021.
//
// Hugging Face transformers, modeling_deepseek_v4.py: side=trailing, pairing=adjacent, and on layers with compressed keys YaRN's
// frequencies (yarn.cpp) with attention_factor=1.
//
//   q, k and v turn by p·θ_i, what attention returns turns back by −p_i·θ_i:   o_i = Σ_j p_ij R_(p_j − p_i) v_j
//
// With factor = 1 the frequencies are theta^(−2i/r). So values carry the relative position too. Acts on q, k, v and the output. No parameters. With v = k the keys in the cache
// serve as values.
#include <cmath>

#include "gnomon/encodings/ramp.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class RopeValue final : public Rotary, public ValueMapPart {
 public:
  RopeValue(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_value", options, shape)),
        yarn_(yarn_rule(options, shape, window())),
        factor_(options.number("factor")) {}
  std::vector<double> frequencies() const override {
    return factor_ == 1 ? geometric_frequencies(yarn_.theta, window().channels)
                        : yarn_frequencies(yarn_, factor_);
  }

  void map_value(const Scene& s, Role role, std::int64_t h, std::int64_t t,
                 std::vector<double>& row) const override {
    if (role == Role::v) return map_row(s, Role::k, h, t, row);
    const auto theta = frequencies();
    const double factor = yarn_attention_factor(yarn_, factor_);
    for (std::int64_t n = 0; n < window().pairs(); ++n) {
      const Angle back(-s.positions[t], theta[std::size_t(n)]);
      multiply_pair(window(), n, factor * back.cos(), factor * back.sin(), row);
    }
  }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    Rotary::map(b, own, steps);
    steps.push_back({Role::v | Role::out, rotation(b.positions, Role::q)});
  }

 protected:
  double scale(Role, double, const Reach&, std::int64_t) const override {
    return yarn_attention_factor(yarn_, factor_);
  }
  double softmax_scale(const Reach&) const override { return yarn_softmax_scale(yarn_, factor_); }
  bool scales_softmax() const override { return yarn_.softmax_mscale > 0; }

 private:
  const YarnRule yarn_;
  const double factor_;
};

}  // namespace

extern const Entry rope_value_entry;
const Entry rope_value_entry = entry<RopeValue>(
    {.name = "rope_value",
     .aliases = {"vo_rope"},
     .title = "Rotary embedding of q, k and v; the output of attention is rotated back",
     .paper = "https://arxiv.org/abs/2104.09864",
     .formula = "o_i = sum_j p_ij R(p_j - p_i) v_j",
     .latex = R"(o_i = \sum_j a_{ij}\, R(p_j - p_i)\, v_j, \quad a \;\text{the weights of attention})",
     .pitfall =
         "libraries that rotate only q and k cannot express it: the forward pass needs a rotation by -p",
     .year = 2026,
     .relative = true,
     .options = rotary_options(yarn_options({factor_option("1"), original_option()}))});

}  // namespace gnomon
