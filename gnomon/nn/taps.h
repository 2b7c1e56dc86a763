#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/array.h"

namespace gnomon {

// Every value between the tokens and the logits of a forward pass has a name, and can be read or rewritten on its way.
// B sequences of T tokens; N is a layer, from 0. In brackets the hook of TransformerLens (2022,
// https://github.com/TransformerLensOrg/TransformerLens) at the same place.
//
//   words                          (B,T,width of words)  rows of the word table, with word_scale, widened where words are [hook_embed]
//   positions                      (1 or B,T,width)      position vectors, of a spec that has some [hook_pos_embed]
//   embedded                       (B,T,width)           words, positions and types joined; a norm may follow, and a matrix
//                                                        that widens them: then of the narrow width
//   layers.N.resid_pre             (B,T,width)           the residual stream: what enters the layer [hook_resid_pre]
//   layers.N.attention.read        (B,T,width)           after the norm before attention [ln1.hook_normalized]
//   layers.N.attention.q           (B,heads,T,head dim)  as projected, with biases and norms [hook_q]
//   layers.N.attention.k, .v       (B,kv heads,T,head dim)                                  [hook_k, hook_v]
//   layers.N.attention.q_mapped, .k_mapped, .v_mapped    as attention reads them, after the encodings' steps: wider by the
//                                                        channels that they add [hook_rot_q, hook_rot_k]
//   layers.N.attention.logits      (B,heads,T,T)         all that becomes weights, −∞ where a query sees no key; where no
//                                                        softmax follows, logarithms of weights [hook_attn_scores]
//   layers.N.attention.weights     (B,heads,T,T)         [hook_pattern]
//   layers.N.attention.attended    (B,heads,T,head dim)  what the output projection reads [hook_z]
//   layers.N.attention.written     (B,T,width)           what attention adds to the stream [hook_attn_out]
//   layers.N.resid_mid             (B,T,width)           the stream after attention [hook_resid_mid]
//   layers.N.cross.read            (B,T,width)           of cross attention, whose keys are an encoder's rows; so all to written
//   layers.N.cross.q, .k, .v       as of attention; k and v (B,kv_heads,rows,head dim)
//   layers.N.cross.logits, .weights                      (B,heads,T,rows)
//   layers.N.cross.attended, .written                    as of attention
//   layers.N.resid_cross           (B,T,width)           the stream after cross attention
//   layers.N.feed_forward.read     (B,T,width)           [ln2.hook_normalized]
//   layers.N.feed_forward.up       (B,T,up width)        before the activation; of a gate, gate and up [mlp.hook_pre]
//   layers.N.feed_forward.hidden   (B,T,hidden)          [mlp.hook_post]
//   layers.N.feed_forward.router   (B,T,experts)         of experts, instead of the two before: the router's logits
//   layers.N.feed_forward.written  (B,T,width)           [hook_mlp_out]
//   layers.N.resid_post            (B,T,width)           the stream after the layer, with its words and its scale [hook_resid_post]
//   last                           (B,T,width)           what the head reads
//   transformed                    (B,T,width)           after the transform of BERT's head
//   logits                         (B,T,vocabulary)
class TapValue {
 public:
  TapValue(std::string name, float* data, std::vector<std::int64_t> shape, std::vector<std::int64_t> steps)
      : name_(std::move(name)), data_(data), shape_(std::move(shape)), steps_(std::move(steps)) {}
  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size() const;
  Floats read() const;  // dense, the last index runs fastest
  // The pass goes on with these, dense. Throws Error(usage) for another size. (Weights are 0 or more, and need not sum to 1;
  // for others the pass throws Error(usage).)
  void write(std::span<const float> values);
  bool written() const { return written_; }

 private:
  template <class Body>
  void each_row(const Body& f) const;
  std::string name_;
  float* data_;
  std::vector<std::int64_t> shape_, steps_;  // the last step is 1
  bool written_ = false;
};

// By name. A tap may throw: the pass is given up, and nothing but scratch has changed.
using Tap = std::function<void(TapValue&)>;
using Taps = std::map<std::string, Tap, std::less<>>;

}  // namespace gnomon
