// Rows for tests of the one call, and the encodings that act in it.
#pragma once

#include <string>
#include <vector>

#include "gnomon/encodings/encoding.h"
#include "gnomon/nn/attention.h"
#include "tests/support/support.h"

namespace gnomon {

constexpr std::int64_t kB = 2, kHeads = 4, kGroups = 2, kSize = 16, kTokens = 37;

struct Rows {
  Floats q, k, v, x;
  explicit Rows(std::int64_t T = kTokens, std::int64_t groups = kGroups)
      : q(normals(kB * kHeads * T * kSize, 1)),
        k(normals(kB * groups * T * kSize, 2)),
        v(normals(kB * groups * T * kSize, 3)),
        x(normals(kB * T * kHeads * kSize, 4)),
        T_(T),
        groups_(groups) {}
  AttentionInput input(std::span<const float> w) const {
    AttentionInput in;
    in.q = heads_first<const void>(q.data(), Number::float32, {kB, kHeads, T_, kSize});
    in.k = heads_first<const void>(k.data(), Number::float32, {kB, groups_, T_, kSize});
    in.v = heads_first<const void>(v.data(), Number::float32, {kB, groups_, T_, kSize});
    in.x = heads_first<const void>(x.data(), Number::float32, {kB, 1, T_, kHeads * kSize});
    in.w = w;
    return in;
  }

 private:
  std::int64_t T_, groups_;
};
inline View out_view(Floats& out, std::int64_t T) {
  out.assign(std::size_t(kB * kHeads * T * kSize), 0.0f);
  return heads_first<void>(out.data(), Number::float32, {kB, kHeads, T, kSize});
}
// Tokens from..from+n of a view.
inline ConstView some(ConstView x, std::int64_t from, std::int64_t n) {
  x.data = static_cast<const float*>(x.data) + from * x.steps[2];
  x.extents[2] = n;
  return x;
}
inline AttentionConfig grouped() {
  return {.heads = kHeads, .kv_heads = kGroups, .head_dim = kSize, .length = 64};
}
inline Floats moved_start(const Attention& a) {
  Floats w = a.initial(1);
  const Floats noise = normals(std::int64_t(w.size()), 9, 0.1);
  for (std::size_t n = 0; n < w.size(); ++n) w[n] += noise[n];
  return w;
}

// Every encoding that acts inside attention; and those whose frequencies follow the context, with contexts that outgrow them.
inline std::vector<std::string> inside_attention() {
  std::vector<std::string> all;
  for (const Entry* entry : encodings()) {
    if (entry->acts != 0 && !(entry->acts & (kInput | kPositions))) all.emplace_back(entry->name);
  }
  for (const char* spec : {"dynamic_ntk(factor=4, original=8)", "dynamic_yarn(original=8)",
                           "longrope(short=1.25, long=8, original=8)"})
    all.emplace_back(spec);
  return all;
}

}  // namespace gnomon
