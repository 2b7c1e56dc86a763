#include "bindings.h"

namespace gnomon::python {
namespace {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::usage:
      return "usage";
    case Fault::input:
      return "input";
    case Fault::resource:
      return "resource";
    case Fault::busy:
      return "busy";
    case Fault::lost:
      return "lost";
    case Fault::bug:
      break;
  }
  return "bug";
}

// What is cut within a character, or was never UTF-8, is told with that byte escaped.
nb::str str(std::string_view s) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "backslashreplace"));
}

}  // namespace

// Every Error of the library is raised as gnomon.errors.Error, which is made in Python. It is looked up when it is needed:
// an interpreter may end and begin again, and a reference kept here would outlive it.
void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      const ErrorDetails& d = e.details();
      nb::list suggestions;
      for (const std::string& s : d.suggestions) suggestions.append(str(s));
      const nb::object type = nb::module_::import_("gnomon.errors").attr("Error");
      const nb::object made = type(str(e.what()), str(name_of(e.fault())), str(d.place), str(d.found),
                                   str(d.allowed), suggestions);
      PyErr_SetObject(type.ptr(), made.ptr());
    }
  });
}

}  // namespace gnomon::python
