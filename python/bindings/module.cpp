#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gnomon/core/parallel.h"

NB_MODULE(_core, m) {
  using namespace gnomon::python;
  m.attr("__version__") = GNOMON_VERSION;
  bind_errors(m);
  bind_scheme(m);
  bind_rows(m);
  bind_attention(m);
  bind_plan(m);
  bind_documents(m);
  m.def(
      "set_threads", [](int n) { gnomon::set_thread_count(n); }, nb::arg("n"));
  m.def("threads", gnomon::thread_count);
}
