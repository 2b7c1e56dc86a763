#pragma once
// What every function that web/gnomon.js calls has in common. It returns 0 and leaves a text; or it returns the number of a Fault and
// leaves that error as JSON. The text stays until the next call. Texts that come in are pairs of pointer and length.
#include <functional>
#include <map>
#include <new>
#include <string>
#include <string_view>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

#define GNOMON_WEB(name) extern "C" __attribute__((export_name("gnomon_web_" #name))) int gnomon_web_##name

namespace gnomon::web {

int said(std::string text);
int refused(const Error& e);

template <class Body>
int answered(const Body& body) {
  try {
    return said(body());
  } catch (const Error& e) {
    return refused(e);
  } catch (const std::bad_alloc&) {
    return refused(Error(Fault::resource, "out of memory"));
  } catch (const std::exception& e) {
    return refused(Error(Fault::bug, text("this is a bug in gnomon: ", e.what())));
  }
}

// Numbers by name, each with its standard.
using Settings = std::map<std::string, double, std::less<>>;
// Those of a JSON object, over the standards. Throws Error(usage) for a name that is none, and for what is no number.
Settings settings_of(std::string_view json, Settings standards);
// Throws Error(usage) for a number that is not whole.
std::int64_t whole(const Settings& settings, std::string_view name);

}  // namespace gnomon::web
