// What every function of gnomon.h is made of: nothing that C++ throws leaves it, and what it is given is looked at first.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>

#include "gnomon/c/gnomon.h"

namespace gnomon::c {

// The status of the exception that is being handled; its message becomes gnomon_last_error().
gnomon_status failure() noexcept;

template <class F>
gnomon_status call(F&& f) noexcept {
  try {
    std::forward<F>(f)();
    return GNOMON_OK;
  } catch (...) {
    return failure();
  }
}

[[noreturn]] void refuse_null(std::string_view name);
[[noreturn]] void refuse_size(std::string_view name, std::size_t found, std::size_t allowed);

template <class T>
T& need(std::string_view name, T* pointer) {
  if (!pointer) refuse_null(name);
  return *pointer;
}

// A struct as this version knows it: a copy, so that when a struct grows, callers with one of its former sizes get the usual
// values for what they lack, here and nowhere else. Until then there is one size, and others are refused.
template <class T>
T known(std::string_view name, const T* given) {
  const std::size_t size = need(name, given).size;
  if (size != sizeof(T)) refuse_size(name, size, sizeof(T));
  return *given;
}

// A text that is given to the caller, who ends it by gnomon_text_free().
char* given_text(std::string_view text);

}  // namespace gnomon::c
