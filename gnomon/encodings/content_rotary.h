#pragma once
#include <vector>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {

// Rotations whose angles follow from the content: pair n of head h in q and in k of token t turns by φ(h,t,n) radians, which
// its member computes from the inputs x of the layer. Each layer has its own parameters. Only x up to token t may count, so
// the mask holds.
class ContentRotary : public Encoding, public MapPart {
 public:
  ContentRotary(const Shape& shape, const RotaryWindow& window) : Encoding(shape), window_(window) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override;
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override;
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override;

 protected:
  // Definition: φ of all pairs of head h at token t.
  virtual std::vector<double> angles(const Scene& s, std::int64_t h, std::int64_t t) const = 0;
  // φ (tokens,H,pairs) of all tokens of the content, and from its gradient those of parameters and x.
  virtual std::vector<double> angles(const Batch& b) const = 0;
  virtual void angles_backward(const Batch& b, const std::vector<double>& dphi,
                               const BatchGrad& grad) const = 0;

  std::int64_t pairs() const { return window_.pairs(); }
  std::int64_t channels() const { return window_.channels; }
  std::int64_t turning() const { return shape_.H * window_.pairs(); }  // pairs of all heads

 private:
  const RotaryWindow window_;
};

// How many tokens before token t of its sequence, at most `most`, belong to it: positions rise from each to the next. They
// begin anew in a new document and after padding.
std::int64_t tokens_before(const Positions& p, std::int64_t t, std::int64_t most);

// Adds the gradient of rows that a product read to that of x.
void add_to_input(const Linear& product, const Floats& dx, const BatchGrad& grad);

// φ of a sequence, whose rows hold what each token adds: running sums, token by token, in place. And from the gradient of the
// sums to that of what is added.
struct Sums {
  std::int64_t sequences, tokens, width;
};
void accumulate(const Sums& shape, std::vector<double>& rows);
void accumulate_backward(const Sums& shape, std::vector<double>& rows);

}  // namespace gnomon
