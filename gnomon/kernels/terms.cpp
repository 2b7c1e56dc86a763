#include "gnomon/kernels/terms.h"

#include <algorithm>

namespace gnomon {

bool Terms::over_distances() const {
  return !(by_distance.empty() && query_cross.empty() && key_cross.empty() && profile.empty() &&
           value.empty());
}
Terms Terms::zeros() const {
  Terms t;
  t.first_distance = first_distance, t.distances = distances;
  t.profile_width = profile_width, t.forget_width = forget_width;
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
