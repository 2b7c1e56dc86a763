#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {

#define ENCODING(name) extern const Entry name##_entry;
#include "gnomon/encodings/list.def"
#undef ENCODING

std::span<const Entry* const> encodings() {
  static const Entry* const all[] = {
#define ENCODING(name) &name##_entry,
#include "gnomon/encodings/list.def"
#undef ENCODING
  };
  return all;
}

const Entry& find_encoding(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry* entry : encodings()) {
    if (entry->name == name) return *entry;
    names.push_back(entry->name);
  }
  throw Error(Fault::usage, unknown("encoding", name, names));
}

std::string site_names(unsigned acts) {
  constexpr std::string_view names[] = {"input", "qk", "logits", "cross", "value", "rows"};
  std::vector<std::string_view> present;
  for (unsigned bit = 0; bit < std::size(names); ++bit) {
    if (acts >> bit & 1) present.push_back(names[bit]);
  }
  return present.empty() ? "none" : join(present, ", ");
}

std::int64_t ParamSpec::size() const {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

std::vector<double> positions_from(double first, std::int64_t tokens) {
  std::vector<double> p(tokens);
  for (std::int64_t t = 0; t < tokens; ++t) p[t] = first + double(t);
  return p;
}

std::int64_t Encoding::param_count() const {
  std::int64_t n = 0;
  for (const auto& param : params()) n += param.size();
  return n;
}

double Encoding::plain_logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const std::int64_t D = shape_.D;
  const double *q = &s.q[(h * s.T() + i) * D], *k = &s.k[(h * s.T() + j) * D];
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += q[d] * k[d];
  return sum / std::sqrt(double(D));
}
double Encoding::logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  return plain_logit(s, h, i, j);
}

Terms terms_for(Positions positions, bool causal) {
  const std::int64_t T = std::int64_t(positions.size());
  for (std::int64_t t = 1; t < T; ++t) {
    if (positions[t] - positions[t - 1] != 1) {
      throw Error(Fault::usage, text("positions must follow each other by 1; found ",
                                     shortest(positions[t - 1]), " and then ", shortest(positions[t])));
    }
  }
  Terms terms;
  terms.first_distance = causal ? 0 : 1 - T;
  terms.distances = T - terms.first_distance;
  return terms;
}

void add_by_distance(Terms& t, std::int64_t H, const std::function<double(std::int64_t, std::int64_t)>& f) {
  t.by_distance.resize(H * t.distances);
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t r = 0; r < t.distances; ++r)
      t.by_distance[h * t.distances + r] += float(f(h, t.first_distance + r));
  }
}

}  // namespace gnomon
