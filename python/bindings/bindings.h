#pragma once
#include "arrays.h"
#include "gnomon/hub/cache.h"
#include "scheme.h"

// The parts of the module gnomon._core, which the package's Python files dress up.
namespace gnomon::python {

void bind_errors(nb::module_& m);     // gnomon.Error
void bind_scheme(nb::module_& m);     // one spec, its numbers by definition
void bind_rows(nb::module_& m);       // rotations of rows of q, k, v
void bind_attention(nb::module_& m);  // attention, forward, backward, with a cache
void bind_plan(nb::module_& m);       // what attention executes, as arrays
void bind_documents(nb::module_& m);  // the registry, and what files of models say, as JSON
void bind_inspect(nb::module_& m);    // what a trained model does with position, as JSON and a page

// The path of a model that a caller gives by a path or by its name at the Hub. Throws Error(resource) if there is neither.
std::string path_of_model(const std::string& given, HubPart part);

}  // namespace gnomon::python
