// Rotation of the value path. K = V = R_n c, o = R_(−m) Σ p R_n c: the rotated and shared keys and values of DeepSeek-V4
// 2026 (https://github.com/linkedin/Liger-Kernel/pull/1387, NVIDIA NeMo's documentation); rotary embedding as in Su et al. 2021.
//
// Hugging Face transformers, modeling_deepseek_v4.py: side=trailing, pairing=adjacent, on layers with a window.
//
//   q, k and v turn by p·θ_i, what attention returns turns back by −p_i·θ_i:   o_i = Σ_j p_ij R_(p_j − p_i) v_j
//
// So values carry the relative position too. Acts on q, k, v and the output. No parameters. With v = k the keys in the cache
// serve as values.
#include <cmath>

#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class RopeValue final : public Rotary, public ValueMapPart {
 public:
  RopeValue(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_value", options, shape)), theta_(options.number("theta")) {}
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

  void map_value(const Scene& s, Role role, std::int64_t h, std::int64_t t,
                 std::vector<double>& row) const override {
    if (role == Role::v) return map_row(s, Role::k, h, t, row);
    for (std::int64_t n = 0; n < window().pairs(); ++n) {
      const Angle back(-s.positions[t], std::pow(theta_, -2.0 * double(n) / double(window().channels)));
      multiply_pair(window(), n, back.cos(), back.sin(), row);
    }
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    steps.push_back(
        {Role::q | Role::k | unsigned(Role::v) | unsigned(Role::out), rotation(b.positions, Role::q)});
  }

 private:
  const double theta_;
};

}  // namespace

extern const Entry rope_value_entry;
const Entry rope_value_entry =
    entry<RopeValue>({.name = "rope_value",
                      .title = "Rotary embedding of q, k and v, turned back after attention",
                      .paper = "https://arxiv.org/abs/2104.09864",
                      .formula = "o_i = sum_j p_ij R(p_j - p_i) v_j",
                      .pitfall = "a library that rotates q and k alone cannot express it: it needs a "
                                 "rotation by -p in the forward pass",
                      .year = 2026,
                      .relative = true,
                      .options = rotary_options()});

}  // namespace gnomon
