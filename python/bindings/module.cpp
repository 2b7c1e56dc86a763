#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gnomon/core/check.h"
#include "gnomon/core/parallel.h"

namespace {

void set_threads(std::int64_t n) {
  gnomon::check_extents("set_threads", {{"n", n, 1, 1 << 16}});
  gnomon::set_thread_count(int(n));
}

}  // namespace

NB_MODULE(_core, m) {
  using namespace gnomon::python;
  // After an uncaught exception the interpreter keeps the frames of its traceback, and what they hold, until it ends. That is
  // no leak, and nobody who reads the traceback is helped by a list of it.
  nb::set_leak_warnings(false);
  m.attr("__version__") = GNOMON_VERSION;
  bind_errors(m);
  bind_scheme(m);
  bind_rows(m);
  bind_attention(m);
  bind_plan(m);
  bind_documents(m);
  bind_inspect(m);
  m.def("set_threads", set_threads, nb::arg("n"));
  m.def("threads", gnomon::thread_count);
}
