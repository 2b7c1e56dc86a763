#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "gnomon/core/error.h"

namespace gnomon {

// What parse_json() (json-inl.h) throws: an Error(input) about a byte of a document that is not JSON.
class MalformedJson : public Error {
 public:
  MalformedJson(std::string_view where, std::size_t byte, std::string_view why)
      : Error(Fault::input, text(where, ": byte ", byte, ": ", why)), byte_(byte), why_(why) {}
  std::size_t byte() const { return byte_; }  // from 0
  const std::string& why() const { return why_; }

 private:
  std::size_t byte_;
  std::string why_;
};

}  // namespace gnomon
