// What position makes of rows of q, k, v or of what attention returns, forward and backward.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gnomon/nn/alone.h"

namespace gnomon::python {
namespace {

Role role_of(const std::string& name) {
  if (name == "q") return Role::q;
  if (name == "k") return Role::k;
  if (name == "v") return Role::v;
  if (name == "out") return Role::out;
  throw Error(Fault::usage, "role: found " + name + "; allowed are q, k, v and out",
              {"role", name, "q, k, v, out", {}});
}

struct At {
  Placement places;
  Alone alone;
  At(const BoundScheme& s, const Dense<double>& positions, const Dense<float>& w)
      : places(placement_of(positions, s.axes())), alone{s.attention(), places, span_of(w)} {}
  At(const At&) = delete;
};

// rows (B,heads,tokens,channels + added), in place.
void map_rows(const BoundScheme& s, const std::string& role, const Dense<double>& positions,
              const Dense<float>& w, const Write& rows) {
  const At at(s, positions, w);
  const View to = write("rows", rows);
  const nb::gil_scoped_release unlocked;
  gnomon::map_rows(at.alone, role_of(role), to);
}
// found: rows as map_rows found them; d: of what it left, in place; dw is added to.
void map_rows_backward(const BoundScheme& s, const std::string& role, const Dense<double>& positions,
                       const Dense<float>& w, const Read& found, const Write& d, const DenseOut<float>& dw) {
  const At at(s, positions, w);
  const ConstView before = read("found", found);
  const View to = write("d", d);
  const nb::gil_scoped_release unlocked;
  gnomon::map_rows_backward(at.alone, role_of(role), {before, to, span_of(dw)});
}

}  // namespace

void bind_rows(nb::module_& m) {
  // What is written must be the caller's own array, not a copy of another type.
  m.def("map_rows", map_rows, nb::arg("scheme"), nb::arg("role"), nb::arg("positions"), nb::arg("w"),
        nb::arg("rows").noconvert());
  m.def("map_rows_backward", map_rows_backward, nb::arg("scheme"), nb::arg("role"), nb::arg("positions"),
        nb::arg("w"), nb::arg("found"), nb::arg("d").noconvert(), nb::arg("dw").noconvert());
}

}  // namespace gnomon::python
