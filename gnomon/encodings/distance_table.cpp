#include "gnomon/encodings/distance_table.h"

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

std::vector<OptionSpec> DistanceTable::options() {
  return {{.name = "length",
           .help = "the table covers distances below this, in tokens; 0 = the training window",
           .standard = "0",
           .least = 0,
           .most = 1 << 20,
           .whole = true}};
}
DistanceTable::DistanceTable(const Options& options, const Shape& shape, std::string_view owner,
                             bool keys_too)
    : Encoding(shape),
      owner_(owner),
      length_(options.whole("length") ? options.whole("length") : shape.length),
      keys_too_(keys_too) {}

std::vector<ParamSpec> DistanceTable::params() const {
  return {{"table", {2 * length_ - 1, shape_.D}, 0, 0.02, false}};
}

double DistanceTable::cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const double *q = &s.q[(h * s.T() + i) * shape_.D], *k = &s.k[(h * s.T() + j) * shape_.D];
  const double* row = &s.w[row_of(s.positions[i] - s.positions[j]) * shape_.D];
  double sum = 0;
  for (std::int64_t d = 0; d < shape_.D; ++d) sum += (q[d] + (keys_too_ ? k[d] : 0)) * row[d];
  return sum / std::sqrt(double(shape_.D));
}

void DistanceTable::lower(const Batch& b, Terms& t) const {
  const float root = std::sqrt(float(shape_.D));
  make_over_distances(t, t.query_cross, shape_.H, shape_.D);
  if (keys_too_) make_over_distances(t, t.key_cross, shape_.H, shape_.D);
  each(t, [&](std::int64_t at, std::int64_t index) {
    t.query_cross[at] += b.w[index] / root;
    if (keys_too_) t.key_cross[at] += b.w[index] / root;
  });
}
void DistanceTable::lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const {
  const float root = std::sqrt(float(shape_.D));
  each(g, [&](std::int64_t at, std::int64_t index) {
    grad.w[index] += (g.query_cross[at] + (keys_too_ ? g.key_cross[at] : 0.0f)) / root;
  });
}

std::int64_t DistanceTable::row_of(double delta) const {
  if (std::abs(delta) < double(length_)) return std::int64_t(delta) + length_ - 1;
  throw Error(Fault::usage, text(owner_, ": distance ", shortest(delta), " has no row; allowed are ",
                                 1 - length_, " to ", length_ - 1));
}
// f(index in an array over distances, index in the table)
template <class Body>
void DistanceTable::each(const Terms& t, const Body& f) const {
  for (std::int64_t n = 0; n < shape_.H * t.distances; ++n) {
    const std::int64_t row = row_of(double(t.first_distance + n % t.distances));
    for (std::int64_t d = 0; d < shape_.D; ++d) f(n * shape_.D + d, row * shape_.D + d);
  }
}

}  // namespace gnomon
