#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "gnomon/nn/layer.h"
#include "gnomon/spec/scheme.h"

namespace gnomon::bench {

// Random numbers of a normal distribution; the same name gives the same ones.
Floats normals(std::int64_t n, std::string_view name, double deviation = 1);

// Attention of a layer with one encoding, forward and backward: its maps, terms and input vectors, without the projections.
class AttentionRun {
 public:
  struct Sizes {
    std::int64_t B, heads, head_dim;
    Precision precision = Precision::float32;
  };
  // `encoding`: text such as "rope" or "t5(buckets=16)". Throws Error(usage) as make_encoding() does.
  AttentionRun(std::string_view encoding, const Sizes& sizes, const Placement& place);
  AttentionRun(const AttentionRun&) = delete;
  void run();
  // The rows as they were at first. Steps that work in place have turned them; those that scale would do so again and again.
  void restore();

  const Encoding& encoding() const { return *encoding_; }
  // Numbers that the encoding keeps beside what `none` keeps, after run(), in MiB.
  double extra_megabytes() const;
  // Largest difference of the fast path from the definition, of what attention returns and of position vectors. B is 1.
  double error();

 private:
  Content content() const;
  Placement place_;
  const Shape shape_;
  const std::unique_ptr<Encoding> encoding_;
  const AttentionShape layer_;
  Floats w_, dw_, x_, projections_, qkv_, dreturned_, dreturned_now_, dqkv_, dx_, dprojections_, e_;
  LayerScheme positions_;
  LayerActivations a_;
  std::int64_t table_numbers_ = 0;
};

}  // namespace gnomon::bench
