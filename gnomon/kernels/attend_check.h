#pragma once
#include <type_traits>

#include "gnomon/core/check.h"
#include "gnomon/kernels/attend.h"

namespace gnomon {

// What attention asks of its arguments: O(1), but for places, which are looked at once each. All throw Error(usage).

// The numbers of the shape by themselves.
void check_shape(const AttendShape& shape);

// Rows (B,H,tokens,width). Those that may be written do not overlap; those that are only read may, as keys do that
// heads share.
struct HeadRows {
  std::int64_t tokens, width;
};
template <class T>
void check_heads(const AttendShape& s, std::string_view name, Heads<T> x, const HeadRows& rows) {
  check_rows("attend", {name, x.data, rows.width, {{{s.B, x.batch}, {rows.tokens, x.token}, {s.H, x.head}}}},
             !std::is_const_v<T>);
}

// The shape, and terms whose arrays reach as far as it does.
void check_terms(const AttendShape& shape, const Terms& terms);
// What the caller asks of the logits.
void check_extras(const AttendShape& shape, const Terms& terms, const Extras& extras);
void check_extras_gradients(const AttendShape& shape, const Extras& extras, const ExtrasGrad& grad);
// Gradients of terms: of the shapes of what they are the gradient of, or absent.
void check_gradients(const Terms& terms, const AttendGrad& grad);

}  // namespace gnomon
