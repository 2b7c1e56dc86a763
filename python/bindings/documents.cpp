// The registry and what files of models say, as JSON.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>

#include "bindings.h"
#include "gnomon/encodings/search.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/pages/check.h"
#include "gnomon/pages/encodings.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/extend.h"
#include "gnomon/pages/lint.h"

namespace gnomon::python {
namespace {

using Strings = std::vector<std::string>;
std::vector<std::string> strings(std::span<const std::string_view> all) { return {all.begin(), all.end()}; }

Config config_of(const std::string& path, const std::string& json) {
  return json.empty() ? Config::open(path_of_model(path, HubPart::settings)) : Config::parse(json, path);
}
// `json` not empty: it is the file, and `path` names it.
Explanation explained(const std::string& path, const std::string& json, const std::string& reader) {
  const Config config = config_of(path, json);
  return explain(config, reader_named(reader, config));
}
nb::tuple differ(const Explanation& a, const Explanation& b, const Strings& ignore) {
  std::vector<Quantity> expected;
  for (const std::string& word : ignore) expected.push_back(quantity_named(word));
  const Differences found = differences_of_files(a, b, expected);
  return nb::make_tuple(found.same(), pages::differences_json(a, b, found));
}
// `paths` empty: of the configuration `json`, to which no file of exceptions belongs.
// `programs`: the versions of transformers and vLLM.
LintRun linted(const Strings& paths, const std::string& json, const LintChoice& choice,
               const std::string& exceptions, const Strings& programs) {
  const LintPrograms readers{programs.at(0), programs.at(1)};
  if (!paths.empty()) {
    std::vector<Path> models;
    for (const std::string& path : paths) models.emplace_back(path_of_model(path, HubPart::headers));
    return lint_paths({models, "", choice, exceptions, readers});
  }
  const LintFile file = text_for_lint(json, "config.json", readers);
  return {{{"config.json", file.context->type(), lint(file, choice), {}}}, {}, {}};
}
std::string lint_of(const Strings& paths, const std::string& json, const Strings& only, const Strings& ignore,
                    const std::string& exceptions, const Strings& programs) {
  return pages::lint_json(linted(paths, json, {only, ignore}, exceptions, programs));
}

CheckOptions options_of(const std::string& spec, double theta, const std::vector<double>& positions) {
  return {spec, theta, positions};
}
std::string check_file(const std::string& path, const std::string& spec, double theta,
                       const std::vector<double>& positions) {
  const Dump dump = read_dump(path);
  return pages::check_json(dump, check(dump, options_of(spec, theta, positions)), -1);
}
// arrays: name, float32 numbers, relative error of one rounding to the type that they had.
std::string check_arrays(const nb::list& arrays, const std::string& spec, double theta,
                         const std::vector<double>& positions) {
  std::vector<DumpedArray> all;
  for (const auto item : arrays) {
    const auto t = nb::cast<nb::tuple>(item);
    const auto a = nb::cast<Dense<float>>(t[1]);
    DumpedArray one{nb::cast<std::string>(t[0]), {}, {a.data(), a.data() + a.size()}, nb::cast<double>(t[2])};
    for (std::size_t n = 0; n < a.ndim(); ++n) one.shape.push_back(std::int64_t(a.shape(n)));
    all.push_back(std::move(one));
  }
  const Dump dump = dump_of(std::move(all), "the arrays");
  return pages::check_json(dump, check(dump, options_of(spec, theta, positions)), -1);
}

}  // namespace

// A model is fetched by huggingface_hub, which the package does not need for anything else. Settings are small; whoever wants them
// alone need not fetch the weights.
std::string path_of_model(const std::string& given, HubPart part) {
  const auto advice = [&](const HubName& name) {
    const std::string revision = name.revision == "main" ? "" : text(", revision=\"", name.revision, "\"");
    const bool one = !name.file.empty(), settings = part == HubPart::settings && !one;
    return text("huggingface_hub.", one ? "hf_hub_download" : "snapshot_download", "(\"", name.repo, "\"",
                one ? text(", \"", name.file, "\"") : "", revision,
                settings ? ", allow_patterns=\"*.json\"" : "",
                "), or give the path of a folder or file that you have");
  };
  return model_path(given, hub_places(std::getenv), part, advice);
}

void bind_documents(nb::module_& m) {
  m.def("encodings_json", [] { return pages::encodings_json(search_encodings("")); });
  m.def("encoding_json", [](const std::string& name) { return pages::encoding_json(name); });
  m.def(
      "search",
      [](const std::string& words, const std::vector<std::string>& sites, std::optional<bool> relative,
         std::optional<bool> causal_only, std::optional<bool> extrapolates, std::optional<bool> learned) {
        EncodingFilter filter{0, relative, causal_only, extrapolates, learned};
        for (const std::string& site : sites) filter.acts |= site_named(site);
        Strings names;
        for (const Entry* e : search_encodings(words, filter)) names.emplace_back(e->name);
        return names;
      },
      nb::arg("words"), nb::arg("sites"), nb::arg("relative").none(), nb::arg("causal_only").none(),
      nb::arg("extrapolates").none(), nb::arg("learned").none());
  m.def("combinations", [] {
    Strings all;
    for (const CombinationEntry* c : combinations()) all.emplace_back(c->name);
    return all;
  });
  m.def("canonical", [](const std::string& spec) { return Spec::parse(spec).print(); });
  m.def("readers", [] { return strings(reader_names()); });
  nb::class_<Explanation>(m, "Explanation")
      .def_prop_ro("json", [](const Explanation& e) { return pages::explain_json(e, -1); })
      .def_prop_ro("page", [](const Explanation& e) { return pages::explain_page(e); });
  m.def("explain", explained, nb::call_guard<nb::gil_scoped_release>());
  m.def("differences", differ);
  m.def("lint", lint_of, nb::call_guard<nb::gil_scoped_release>());
  m.def("lint_rules", pages::lint_rules_json);
  m.def(
      "extend",
      [](const std::string& path, const std::string& json, const std::string& to, bool force) {
        if (!force) {
          const Strings file = json.empty() ? Strings{config_of(path, json).where()} : Strings{};
          refuse_lint_errors(linted(file, json, {}, "", {"", ""}).files.front());
        }
        return pages::extend_json(plan_extension(config_of(path, json), to), -1);
      },
      nb::call_guard<nb::gil_scoped_release>());
  m.def("check_file", check_file, nb::call_guard<nb::gil_scoped_release>());
  m.def("check_arrays", check_arrays);
}

}  // namespace gnomon::python
