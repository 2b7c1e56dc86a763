#pragma once
#include <string>
#include <string_view>

#include "gnomon/nn/model.h"
#include "gnomon/nn/taps.h"

namespace gnomon {

// The taps of a pass under a prefix of their names: what the parts of the pass ask. Internal to nn.
class TapsAt {
 public:
  TapsAt() = default;
  TapsAt(const Taps* taps, std::string prefix) : taps_(taps), prefix_(std::move(prefix)) {}
  TapsAt under(std::string_view more) const {
    return taps_ ? TapsAt(taps_, prefix_ + std::string(more)) : TapsAt();
  }
  explicit operator bool() const { return taps_; }
  bool wants(std::string_view name) const { return find(name); }
  // Whether the tap, if there is one, has rewritten the value.
  bool show(std::string_view name, float* data, std::vector<std::int64_t> shape,
            std::vector<std::int64_t> steps) const;
  // Rows (B,T,width), row_step(width) apart.
  bool show_rows(std::string_view name, Floats& rows, std::int64_t B, std::int64_t T,
                 std::int64_t width) const;

 private:
  const Tap* find(std::string_view name) const;
  const Taps* taps_ = nullptr;
  std::string prefix_;
};

std::vector<std::string> tap_names(const Architecture& a, const Scheme& scheme);
// Throws Error(usage) for a name that is none.
void check_taps(const Taps& taps, const Architecture& a, const Scheme& scheme);

}  // namespace gnomon
