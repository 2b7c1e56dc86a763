#pragma once
#include <functional>
#include <span>
#include <vector>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// An encoding of a layer and its parameters, in double.
struct Defined {
  const Encoding* encoding;
  std::span<const double> w;
};

// The attention of a layer by the formulas of its encodings, in double, stage by stage as a plan runs (spec/plan.h):
// rows are mapped, scored, terms added, keys hidden, and rows of logits become weights. Slow; what fast paths are compared
// with, and what pages and lenses show. It refers to the arrays of the scene, whose `w` is not looked at.
class Definition final : private Scores {
 public:
  Definition(const Shape& shape, const std::vector<Defined>& encodings, const Scene& scene);
  // Of one encoding, whose parameters are scene.w.
  Definition(const Encoding& encoding, const Scene& scene)
      : Definition(encoding.shape(), {Defined{&encoding, scene.w}}, scene) {}

  // The logit of query i and key j in head h, whether it is seen or not; without position q_i·k_j/√D.
  double logit(std::int64_t h, std::int64_t i, std::int64_t j) const;
  // Whether query i sees key j: the masks of the encodings, the causal mask of the shape, and Weighting::stick, where no query
  // sees itself.
  bool sees(std::int64_t i, std::int64_t j) const override;
  // How logits become weights. For all but softmax, ln_weight is the logarithm of the weight itself; else the logit.
  Weighting weights() const { return weights_; }
  // Beside the masks, keys with hidden(key) are not seen.
  using Hidden = std::function<bool(std::int64_t key)>;
  double ln_weight(std::int64_t h, std::int64_t i, std::int64_t j, const Hidden& hidden = {}) const;
  // What attention returns for query i: (D). 0 where it sees no key.
  std::vector<double> output(std::int64_t h, std::int64_t i, const Hidden& hidden = {}) const;

 private:
  template <class Part>
  struct At {
    const Part* part;
    Scene scene;  // with the parameters of its encoding
  };
  template <class Part>
  std::vector<At<Part>> parts_of(const std::vector<Defined>& encodings) const;

  double score(std::int64_t h, std::int64_t i, std::int64_t j) const override;
  const double* query(std::int64_t h, std::int64_t i) const override { return row(q_, h, i); }
  const double* row(const std::vector<double>& rows, std::int64_t h, std::int64_t t) const {
    return &rows[std::size_t((h * scene_.T() + t) * width_)];
  }
  void map_rows(Role role, bool far, std::span<const double> from, std::vector<double>& to);

  const Shape shape_;
  const Scene scene_;
  const std::vector<At<MapPart>> maps_;
  const std::vector<At<ValueMapPart>> value_maps_;
  const std::vector<At<BiasPart>> biases_;
  const std::vector<At<CrossPart>> crosses_;
  const std::vector<At<ValuePart>> values_;
  const std::vector<At<MaskPart>> masks_;
  const std::vector<At<RulePart>> rules_;
  const std::vector<At<FarPart>> far_;
  const std::vector<At<CarryPart>> carries_;
  double scale_;
  Weighting weights_ = Weighting::softmax;
  std::int64_t width_ = 0;             // of mapped rows
  std::vector<double> q_, k_;          // (H,T,width), mapped
  std::vector<double> far_q_, far_k_;  // for far pairs; empty: there are none
  std::vector<double> operators_;      // of carries_
};

}  // namespace gnomon
