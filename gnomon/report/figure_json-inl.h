#pragma once
#include "gnomon/files/json-inl.h"
#include "gnomon/report/figure.h"

// A figure as JSON and back, so that an archive can keep it and a page can draw it again. It names a third party, so it is for
// .cpp files only.
namespace gnomon::report {

// {"kind": "lines", ...} with the members of the struct. Numbers to six significant digits, those that colours stand for to a
// hundredth of the largest or less; one that is not finite is null.
StrictJson figure_json(const Figure& figure);
// Throws Error(input) for another kind, a member that is missing or of another type, and sizes that do not agree.
Figure figure_of(const JsonValue& json);

}  // namespace gnomon::report
