#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <string_view>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/view.h"
#include "gnomon/encodings/positions.h"

// Arrays of the caller, of whatever library that speaks DLPack, as the core sees them: without a copy.
namespace gnomon::python {

namespace nb = nanobind;
using Read = nb::ndarray<nb::ro, nb::device::cpu>;
using Write = nb::ndarray<nb::device::cpu>;
template <class T>
using Dense = nb::ndarray<const T, nb::ro, nb::c_contig, nb::device::cpu>;
template <class T>
using DenseOut = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using Numpy = nb::ndarray<T, nb::numpy, nb::c_contig>;

// As NumPy and PyTorch name it: "float64".
inline std::string name_of(const nb::dlpack::dtype& type) {
  const auto is = [&](nb::dlpack::dtype_code code) { return type.code == std::uint8_t(code); };
  if (is(nb::dlpack::dtype_code::Bool)) return "bool";
  const std::string_view kind = is(nb::dlpack::dtype_code::Float)     ? "float"
                                : is(nb::dlpack::dtype_code::Bfloat)  ? "bfloat"
                                : is(nb::dlpack::dtype_code::Complex) ? "complex"
                                : is(nb::dlpack::dtype_code::UInt)    ? "uint"
                                : is(nb::dlpack::dtype_code::Int)     ? "int"
                                                                      : "unknown";
  return text(kind, int(type.bits));
}
// Throws Error(usage) for other number types than float32, bfloat16 and float16.
inline Number number_of(std::string_view name, const nb::dlpack::dtype& type) {
  if (type == nb::dtype<float>()) return Number::float32;
  if (type.bits == 16 && type.lanes == 1) {
    if (type.code == std::uint8_t(nb::dlpack::dtype_code::Bfloat)) return Number::bfloat16;
    if (type.code == std::uint8_t(nb::dlpack::dtype_code::Float)) return Number::float16;
  }
  const std::string found = "numbers of type " + name_of(type);
  throw Error(Fault::usage, text(name, ": found ", found, "; allowed are float32, bfloat16 and float16"),
              {std::string(name), found, "float32, bfloat16 and float16", {}});
}

// An array of four extents, (B,heads,tokens,channels).
template <class View, class Array>
View view_of(std::string_view name, const Array& a) {
  if (a.ndim() != 4) {
    const std::string found = text(a.ndim(), " extents");
    throw Error(Fault::usage, text(name, ": found ", found, "; allowed are 4, (B, heads, tokens, channels)"),
                {std::string(name), found, "4, (B, heads, tokens, channels)", {}});
  }
  View view{a.data(), number_of(name, a.dtype()), {}, {}};
  for (std::size_t n = 0; n < 4; ++n) view.extents[n] = std::int64_t(a.shape(n)), view.steps[n] = a.stride(n);
  return view;
}
inline ConstView read(std::string_view name, const Read& a) { return view_of<ConstView>(name, a); }
inline View write(std::string_view name, const Write& a) { return view_of<View>(name, a); }

template <class Array>
auto span_of(const Array& a) {
  return std::span(a.data(), a.size());
}

// (T), (rows,T) or (rows,T,n) numbers, n = 1 or the axes of the encodings that read them. Throws Error(usage).
inline Placement placement_of(const Dense<double>& positions, std::int64_t axes) {
  if (positions.ndim() < 1 || positions.ndim() > 3)
    throw Error(Fault::usage,
                text("positions: found ", positions.ndim(),
                     " extents; allowed are (tokens), (sequences, tokens) and (sequences, tokens, axes)"));
  if (positions.ndim() == 3 && positions.shape(2) != 1 && std::int64_t(positions.shape(2)) != axes) {
    const std::string found = text(positions.shape(2), " axes");
    const std::string allowed = axes == 1 ? "1" : text("1 and ", axes);
    throw Error(Fault::usage, text("positions: found ", found, "; allowed for this encoding: ", allowed),
                {"positions", found, allowed, {}});
  }
  const auto values = span_of(positions);
  return Placement::of(std::vector<double>(values.begin(), values.end()),
                       positions.ndim() > 1 ? std::int64_t(positions.shape(0)) : 1,
                       positions.ndim() > 2 ? std::int64_t(positions.shape(2)) : 1);
}

// A new array of NumPy's that owns its numbers.
template <class T>
Numpy<T> numpy(std::vector<std::size_t> shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  T* data = new T[size]();
  return Numpy<T>(data, shape.size(), shape.data(),
                  nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}
template <class T, class From>
Numpy<T> numpy(const From& values, std::vector<std::size_t> shape) {
  Numpy<T> out = numpy<T>(std::move(shape));
  std::copy(values.begin(), values.end(), out.data());
  return out;
}
template <class T, class From>
Numpy<T> numpy(const From& values) {
  return numpy<T>(values, {values.size()});
}

}  // namespace gnomon::python
