// What a trained model does with position, measured in this process.
#include "gnomon/models/inspect/inspect.h"

#include <nanobind/stl/string.h>

#include <chrono>

#include "bindings.h"
#include "gnomon/pages/inspect.h"

namespace gnomon::python {
namespace {

// Whether Python was interrupted. Passes ask before every layer; the interpreter's lock, for which another thread may have to be
// waited for, is taken now and then.
class Interruptions {
 public:
  bool operator()() {
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_ = Clock::now();
};

// `tell` is called with a sentence before every part, or None. Returns the JSON and the page.
nb::tuple inspected(const InspectFiles& files, const InspectOptions& options, const nb::object& tell) {
  InspectHooks hooks{.stop = Interruptions()};
  if (!tell.is_none())
    hooks.tell = [&](const std::string& sentence) {
      const nb::gil_scoped_acquire lock;
      tell(sentence);
    };
  std::string json, page;
  {
    const nb::gil_scoped_release others_go_on;
    Inspected in =
        inspect({path_of_model(files.model, HubPart::weights), files.text, files.ids}, options, hooks);
    in.model = files.model;  // as given
    json = pages::inspect_json(in), page = pages::inspect_page(in);
  }
  return nb::make_tuple(json, page);
}

}  // namespace

void bind_inspect(nb::module_& m) {
  nb::class_<InspectOptions>(m, "InspectOptions")
      .def(nb::init<>())
      .def_rw("window", &InspectOptions::window)
      .def_rw("windows", &InspectOptions::windows)
      .def_rw("longest", &InspectOptions::longest)
      .def_rw("beyond", &InspectOptions::beyond)
      .def_rw("each_head", &InspectOptions::each_head);
  m.def(
      "inspect",
      [](const std::string& model, const std::string& text, bool ids, const InspectOptions& options,
         const nb::object& tell) {
        return inspected({model, text, ids}, options, tell);
      },
      nb::arg("model"), nb::arg("text"), nb::arg("ids"), nb::arg("options"), nb::arg("tell").none());
}

}  // namespace gnomon::python
