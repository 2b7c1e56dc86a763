#include "cli/inspect.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/readable.h"
#include "gnomon/pages/inspect.h"

namespace gnomon::cli {
namespace {

void print(const Inspected& in) {
  fmt::print("{}: {}{}{}, {} parameters, {}, {}, {}\n\n", printable(in.model), printable(in.family),
             in.component.empty() ? "" : " ", in.component, grouped(double(in.parameters)),
             counted(std::size_t(in.layers), "layer"), counted(std::size_t(in.heads), "head"), in.spec);
  for (const std::string& sentence : pages::inspect_words(in)) fmt::print("{}\n", wrapped(sentence));
  for (const auto& left : in.found.left_out)
    fmt::print("{}\n", wrapped(text("Left out: ", left.part, ": ", left.why)));
}

}  // namespace

std::optional<Inspected> inspect_or_stop(const InspectFiles& files, const InspectOptions& options,
                                         bool quiet) {
  InspectHooks hooks;
  if (!quiet) hooks.tell = tell;
  hooks.stop = [] { return interruptions() > 0; };
  try {
    return gnomon::inspect(files, options, hooks);
  } catch (const Stopped&) {
    tell("interrupted; nothing was written");
    return {};
  }
}

int inspect(const InspectCommand& o) {
  if (o.text.empty() == o.ids.empty())
    throw Error(Fault::usage, "inspect: give exactly one of --text and --ids");
  const bool ids = !o.ids.empty();
  const std::string path = model_path(o.model, HubPart::weights, o.download);
  const Patient until_it_stops;
  const Component part = component_named(o.component);
  auto in = inspect_or_stop({path, ids ? o.ids : o.text, ids, part}, o.options, o.quiet);
  if (!in) return 128 + last_signal();
  in->model = o.model;  // as typed
  if (!o.out.empty()) {
    write_file(o.out, pages::inspect_page(*in));
    if (!o.quiet) tell(text("page: ", o.out));
  }
  o.json ? fmt::print("{}", pages::inspect_json(*in)) : print(*in);
  return 0;
}

}  // namespace gnomon::cli
