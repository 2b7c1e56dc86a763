#include "gnomon/kernels/terms.h"

#include <algorithm>

namespace gnomon {

bool any_array_over(const Terms& t, Dim dim) {
  return std::any_of(kTermArrays.begin(), kTermArrays.end(),
                     [&](const TermArray& a) { return a.over(dim) && !(t.*a.at).empty(); });
}
TermExtents term_extents(const AttendShape& s, const Terms& t, const TermArray& a) {
  const auto extent = [&](Dim dim) -> std::int64_t {
    switch (dim) {
      case Dim::none:
        return 1;
      case Dim::sequences:
        return s.B;
      case Dim::heads:
        return s.H;
      case Dim::both:
        return 2 * s.H;
      case Dim::rows:
        return std::int64_t((t.*a.at).size()) > s.keys ? s.B : 1;
      case Dim::queries:
        return s.queries;
      case Dim::tokens:
      case Dim::keys:
        return s.keys;
      case Dim::distances:
        return t.distances;
      case Dim::K:
        return s.K;
      case Dim::D:
        return s.D;
      case Dim::own:
        return kTermKinds[a.kind].own(s, t);
    }
    return 1;
  };
  TermExtents extents{};
  std::transform(a.dims.begin(), a.dims.end(), extents.begin(), extent);
  return extents;
}

bool Terms::over_distances() const { return any_array_over(*this, Dim::distances); }
Terms Terms::zeros() const {
  Terms t;
  t.first_distance = first_distance, t.distances = distances;
  for (const TermKind& kind : kTermKinds) {
    if (kind.width) t.*kind.width = this->*kind.width;
  }
  for (const TermArray& a : kTermArrays) (t.*a.at).resize((this->*a.at).size());
  return t;
}
void Terms::add(const Terms& other) {
  for (const TermArray& a : kTermArrays) {
    for (std::size_t i = 0; i < (this->*a.at).size(); ++i) (this->*a.at)[i] += (other.*a.at)[i];
  }
}

SharedGradients::SharedGradients(std::int64_t B, std::int64_t H, std::int64_t tokens, Terms& total)
    : H_(H), tokens_(tokens), total_(total), per_sequence_(std::size_t(B)), per_head_(std::size_t(B * H)) {
  for (const TermArray& a : kTermArrays) {
    const std::size_t size = (total.*a.at).size();
    if (a.of == TermOf::head) {
      for (Terms& t : per_sequence_) (t.*a.at).resize(size);
    }
    if (size == 0 || a.of == TermOf::head || a.of == TermOf::head_of_sequence) continue;
    for (Terms& t : per_head_) (t.*a.at).resize(a.of == TermOf::tokens ? std::size_t(tokens) : size);
  }
}
void SharedGradients::collect() {
  const auto add_to = [](float* sum, const Floats& part) {
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  };
  for (const TermArray& a : kTermArrays) {
    Floats& sum = total_.*a.at;
    if (sum.empty()) continue;
    for (const Terms& t : per_sequence_) add_to(sum.data(), t.*a.at);
    for (std::size_t n = 0; n < per_head_.size(); ++n) {
      const bool rows = a.of == TermOf::tokens && std::int64_t(sum.size()) > tokens_;
      add_to(sum.data() + (rows ? std::int64_t(n) / H_ * tokens_ : 0), per_head_[n].*a.at);
    }
  }
}

}  // namespace gnomon
