#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/nn/attention_inside.h"
#include "gnomon/spec/scheme.h"

namespace gnomon::python {

// A spec made for one layer of a model: its attention, what joins the words, its samplers.
class BoundScheme {
 public:
  // `width` of the vectors beside the words; `layer` chooses among [layers]. Throws Error(usage).
  BoundScheme(std::string_view spec, const AttentionConfig& config, std::int64_t layer);

  const Spec& spec() const { return spec_; }
  const Attention& attention() const { return attention_; }
  const Shape& shape() const { return shape_; }
  const Encoding* input() const { return input_.get(); }
  const std::vector<std::unique_ptr<Encoding>>& samplers() const { return samplers_; }
  // The encodings inside attention.
  const std::vector<gnomon::Scheme::InAttention>& inside() const {
    return attention_.inside().scheme.attention;
  }
  // What of the spec attention by itself does not do, in words; empty: nothing.
  std::vector<std::string> beside_attention() const;
  // The most coordinates of a position that one of them reads, and which content of a layer (kReads...).
  std::int64_t axes() const;
  unsigned reads() const;

 private:
  Spec spec_;
  Attention attention_;
  Shape shape_;
  std::unique_ptr<Encoding> input_;
  std::vector<std::unique_ptr<Encoding>> samplers_;
};

}  // namespace gnomon::python
