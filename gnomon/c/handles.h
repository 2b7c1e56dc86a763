// The objects behind the handles of gnomon.h, and its structs as those of C++.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gnomon/c/call.h"
#include "gnomon/nn/attention.h"

// Attention and what it lends. Whoever keeps something of it shares it, so that handles may be freed in any order.
struct gnomon_attention {
  std::shared_ptr<const gnomon::Attention> attention;
  std::string spec;
  std::vector<std::string> names;     // of its encodings
  std::vector<std::int64_t> offsets;  // of its arrays of parameters
};

struct gnomon_saved {
  std::shared_ptr<const gnomon::Attention> attention;
  gnomon::Projections<const float> projections;  // the kept pass refers to them
  std::shared_ptr<const gnomon::Attention::Saved> saved;
};

struct gnomon_cache {
  gnomon::KeyCache keys;
};

namespace gnomon::c {

// `name` is that of the view, for messages.
View view_of(std::string_view name, const gnomon_view& view);
inline ConstView const_view_of(std::string_view name, const gnomon_view& view) {
  return read_only(view_of(name, view));
}
Placement placement_of(const gnomon_places& places);  // not known() yet
std::span<const float> parameters_of(const float* data, std::int64_t count);
std::span<float> parameter_gradients_of(float* data, std::int64_t count);

// The input of a call, with what it refers to beside the caller's arrays. It does not move.
struct Input {
  explicit Input(const gnomon_attention_input* given);
  Input(const Input&) = delete;
  std::optional<Placement> places;
  Projections<const float> projections;
  AttentionInput in;
};

template <class T>
PairRows<T> pairs_of(const gnomon_pairs& p) {
  return {static_cast<T*>(p.data), p.batch, p.head, p.query};
}

}  // namespace gnomon::c
