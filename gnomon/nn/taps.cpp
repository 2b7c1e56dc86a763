// Values of a pass by name. Their order is that of the pass.
#include <algorithm>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/taps_at.h"

namespace gnomon {
namespace {

constexpr std::string_view kLayer = "layers.N.";
// With cross attention, after resid_mid.
constexpr std::string_view kOfCross[] = {"cross.read",     "cross.q",       "cross.k",
                                         "cross.v",        "cross.logits",  "cross.weights",
                                         "cross.attended", "cross.written", "resid_cross"};
constexpr std::string_view kOfLayer[] = {"resid_pre",           "attention.read",       "attention.q",
                                         "attention.k",         "attention.v",          "attention.q_mapped",
                                         "attention.k_mapped",  "attention.v_mapped",   "attention.logits",
                                         "attention.weights",   "attention.attended",   "attention.written",
                                         "resid_mid",           "feed_forward.read",    "feed_forward.up",
                                         "feed_forward.hidden", "feed_forward.written", "resid_post"};

// "layers.3.resid_mid" as "layers.N.resid_mid", and its layer; −1: of no layer.
struct Pattern {
  std::string name;
  std::int64_t layer;
};
Pattern pattern_of(std::string_view name) {
  constexpr std::string_view start = "layers.";
  const std::size_t from = start.size(), dot = name.find('.', from);
  if (name.substr(0, from) != start || dot == std::string_view::npos) return {std::string(name), -1};
  const std::string_view digits = name.substr(from, dot - from);
  const bool number =
      !digits.empty() && digits.size() < 10 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      (digits.size() == 1 || digits[0] != '0');
  if (!number) return {std::string(name), -1};
  return {std::string(kLayer) + std::string(name.substr(dot + 1)), integer(digits, "layer")};
}

}  // namespace

std::int64_t TapValue::size() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape_) n *= extent;
  return n;
}
template <class Body>
void TapValue::each_row(const Body& f) const {
  const std::int64_t width = shape_.back();
  for (std::int64_t n = 0; n < size() / std::max<std::int64_t>(width, 1); ++n) {
    std::int64_t at = 0, rest = n;
    for (std::size_t axis = shape_.size() - 1; axis-- > 0;) {
      at += rest % shape_[axis] * steps_[axis];
      rest /= shape_[axis];
    }
    f(n * width, data_ + at, width);
  }
}
Floats TapValue::read() const {
  Floats all;
  all.resize(std::size_t(size()));
  each_row([&](std::int64_t n, const float* row, std::int64_t width) {
    std::copy_n(row, width, all.begin() + n);
  });
  return all;
}
void TapValue::write(std::span<const float> values) {
  check_size("tap", name_, values.size(), size());
  each_row(
      [&](std::int64_t n, float* row, std::int64_t width) { std::copy_n(values.begin() + n, width, row); });
  written_ = true;
}

const Tap* TapsAt::find(std::string_view name) const {
  if (!taps_) return nullptr;
  const auto found = taps_->find(prefix_ + std::string(name));
  return found == taps_->end() ? nullptr : &found->second;
}
bool TapsAt::show(std::string_view name, float* data, std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> steps) const {
  const Tap* tap = find(name);
  if (!tap) return false;
  TapValue value(prefix_ + std::string(name), data, std::move(shape), std::move(steps));
  (*tap)(value);
  return value.written();
}
bool TapsAt::show_rows(std::string_view name, Floats& rows, std::int64_t B, std::int64_t T,
                       std::int64_t width) const {
  return show(name, rows.data(), {B, T, width}, {T * row_step(width), row_step(width), 1});
}

namespace {
// Names within a layer: with experts, without them, or what either has.
std::vector<std::string> of_layer(const Architecture& a, bool plain, bool experts) {
  std::vector<std::string> all;
  for (const std::string_view name : kOfLayer) {
    const bool inside = name == "feed_forward.up" || name == "feed_forward.hidden";
    if (!inside || plain) all.emplace_back(name);
    if (a.cross && name == "resid_mid") all.insert(all.end(), std::begin(kOfCross), std::end(kOfCross));
    if (name == "feed_forward.read" && experts) all.emplace_back("feed_forward.router");
  }
  return all;
}
std::vector<std::string> before_layers(const Scheme& scheme) {
  std::vector<std::string> all{"words"};
  if (scheme.input) all.emplace_back("positions");
  all.emplace_back("embedded");
  return all;
}
std::vector<std::string> after_layers(const Architecture& a) {
  std::vector<std::string> all{"last"};
  if (a.head.form == HeadForm::transform) all.emplace_back("transformed");
  if (a.head.form != HeadForm::none) all.emplace_back("logits");
  return all;
}
// "layers.N." stands for each layer.
std::vector<std::string> patterns_of(const Architecture& a, const Scheme& scheme) {
  std::vector<std::string> all = before_layers(scheme);
  const Experts& e = a.feed_forward.experts;
  for (const std::string& name : of_layer(a, !e || !a.feed_forward.others.layers.empty(), bool(e)))
    all.push_back(std::string(kLayer) + name);
  for (const std::string& name : after_layers(a)) all.push_back(name);
  return all;
}
}  // namespace

std::vector<std::string> tap_names(const Architecture& a, const Scheme& scheme) {
  std::vector<std::string> all = before_layers(scheme);
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const bool experts = bool(a.feed_forward_in(l).experts);
    for (const std::string& name : of_layer(a, !experts, experts))
      all.push_back(text("layers.", l, ".", name));
  }
  for (const std::string& name : after_layers(a)) all.push_back(name);
  return all;
}

void check_taps(const Taps& taps, const Architecture& a, const Scheme& scheme) {
  const std::vector<std::string> patterns = patterns_of(a, scheme);
  const std::vector<std::string_view> allowed(patterns.begin(), patterns.end());
  for (const auto& [name, tap] : taps) {
    const Pattern pattern = pattern_of(name);
    if (std::find(allowed.begin(), allowed.end(), pattern.name) == allowed.end() ||
        name.find(".N.") != name.npos)
      throw unknown("tap", name, allowed);
    if (pattern.layer >= a.layers) {
      throw Error(Fault::usage, text("tap '", name, "': the model has layers 0 to ", a.layers - 1, "; found ",
                                     pattern.layer));
    }
    if (!tap)
      throw Error(Fault::usage,
                  text("tap '", name, "' is an empty function; allowed is a function that can be called"));
  }
}

}  // namespace gnomon
