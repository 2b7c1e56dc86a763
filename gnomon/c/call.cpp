#include "gnomon/c/call.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"

namespace gnomon::c {
namespace {

// Of this thread. Where there is no memory for the words, `plain` has fewer.
struct LastError {
  std::string words;
  const char* plain = nullptr;
};
LastError& last() noexcept {
  thread_local LastError error;
  return error;
}

gnomon_status failed(gnomon_status status, const char* words, const char* otherwise) noexcept {
  last().plain = nullptr;
  try {
    last().words = words;
  } catch (...) {
    last().plain = otherwise;
  }
  return status;
}

}  // namespace

gnomon_status failure() noexcept {
  constexpr const char* kNoMemory = "out of memory";
  try {
    throw;
  } catch (const Error& e) {
    return failed(gnomon_status(e.fault()), e.what(), "out of memory while writing the error message");
  } catch (const std::bad_alloc&) {
    return failed(GNOMON_RESOURCE, kNoMemory, kNoMemory);
  } catch (const std::exception& e) {
    return failed(GNOMON_BUG, e.what(), "an unknown error");
  } catch (...) {
    return failed(GNOMON_BUG, "an unknown error", "an unknown error");
  }
}

void refuse_null(std::string_view name) { throw Error(Fault::usage, text(name, " is null")); }
void refuse_size(std::string_view name, std::size_t found, std::size_t allowed) {
  throw Error(Fault::usage, text(name, ": size is ", found, "; allowed is ", allowed, ", the size in gnomon ",
                                 gnomon_version(), "; GNOMON_..._INIT sets it"));
}

char* given_text(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

}  // namespace gnomon::c

const char* gnomon_last_error(void) {
  const auto& error = gnomon::c::last();
  return error.plain ? error.plain : error.words.c_str();
}
void gnomon_text_free(char* text) { std::free(text); }
