// What web/gnomon.js asks of models, files and encodings: the text that the program prints with --json, without the last line's end.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/search.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/lint/lint.h"
#include "gnomon/pages/encodings.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/extend.h"
#include "gnomon/pages/lint.h"
#include "gnomon/pages/show.h"
#include "web/answer.h"

namespace gnomon::web {
namespace {

Config opened(std::string_view path) { return Config::open(Path(path)); }

Shape shape_of(const Settings& s) {
  const std::int64_t heads = whole(s, "heads"), dim = whole(s, "dim");
  if (heads < 1 || dim % heads)
    throw Error(Fault::usage, text("heads: found ", heads, ", which does not divide dim ", dim));
  const Shape shape{dim, heads, dim / heads, whole(s, "length"), whole(s, "causal") != 0};
  pages::check_shown(shape, "");
  return shape.check();
}
const Settings kLookedAt{{"dim", 64},
                         {"heads", 4},
                         {"length", 128},
                         {"causal", 1},
                         {"first", 0},
                         {"compared", kMostCompared},
                         {"work", pages::kMostWork}};
// JSON, or a page with pictures. What is shown points into its scheme.
std::string shown(std::string_view spec, std::string_view given, bool page) {
  const Settings settings = settings_of(given, kLookedAt);
  pages::Shown shown{Spec::parse(spec), shape_of(settings), whole(settings, "first"),
                     whole(settings, "compared"), settings.find("work")->second};
  pages::check_first(shown.first, "");
  const Scheme scheme = make_scheme(shown.spec, shown.shape);
  for (const Standing& s : encodings_in(shown.spec, scheme, std::int64_t(scheme.patterns.size()))) {
    pages::check_work(s, shown.shape.length, "", shown.most_work, shown.most_compared);
    pages::look_at(shown, s, page);
  }
  return page ? pages::show_page(shown) : pages::show_json(shown, 1);
}

// What a spec adds to the words at `length` positions from `first` on, in a model of that many positions: a row of dim numbers
// for each.
nlohmann::json vectors(std::string_view written, Settings settings) {
  const std::int64_t first = whole(settings, "first"), end = first + whole(settings, "length");
  settings["length"] = double(end);
  const Spec spec = Spec::parse(written);
  const Scheme scheme = make_scheme(spec, shape_of(settings));
  if (!scheme.input)
    throw Error(Fault::usage,
                text("spec: found ", written, "; one that adds vectors to the words is needed"));
  if (scheme.input->reads_content())
    throw Error(Fault::usage, text("spec: found ", written,
                                   ", whose vectors depend on the words; one of positions alone is needed"));
  const std::int64_t most = scheme.positions_end().value_or(end);
  if (first < 0 || end > most)
    throw Error(Fault::usage, text("first: found ", first, "; the positions ", first, " to ", end - 1,
                                   " are asked for, and there are 0 to ", most - 1));
  const Standing standing{*spec.input, scheme.input.get(), ""};
  pages::check_work(standing, end - first, "");
  const ShownEncoding added = at_start(standing);
  nlohmann::json rows = nlohmann::json::array();
  for (std::int64_t p = first; p < end; ++p) {
    std::vector<double> row;
    for (std::int64_t c = 0; c < added.encoding.shape().C; ++c) row.push_back(added.input(double(p), c));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace
}  // namespace gnomon::web

using namespace gnomon;
using web::answered;

// `reader` may be empty: that of the file.
GNOMON_WEB(explain)(const char* path, std::size_t path_size, const char* reader, std::size_t reader_size) {
  return answered([&] {
    const Config config = web::opened({path, path_size});
    return pages::explain_json(explain(config, reader_named({reader, reader_size}, config)), 1);
  });
}

GNOMON_WEB(explain_page)
(const char* path, std::size_t path_size, const char* reader, std::size_t reader_size) {
  return answered([&] {
    const Config config = web::opened({path, path_size});
    return pages::explain_page(explain(config, reader_named({reader, reader_size}, config)));
  });
}
// What the other readers make of it.
GNOMON_WEB(readers)(const char* path, std::size_t path_size) {
  return answered([&] {
    const Config config = web::opened({path, path_size});
    const Explanation first = explain(config, reader_named("", config));
    std::vector<pages::OtherReader> others;
    for (std::size_t n = 0; n < reader_names().size(); ++n)
      if (Reader(n) != first.model.reader) others.push_back(pages::other_reader(config, Reader(n), first));
    return pages::readers_json(first, others);
  });
}
GNOMON_WEB(differences)(const char* path, std::size_t path_size, const char* other, std::size_t other_size) {
  return answered([&] {
    const Config a = web::opened({path, path_size}), b = web::opened({other, other_size});
    const Explanation first = explain(a, reader_named("", a)), second = explain(b, reader_named("", b));
    return pages::differences_json(first, second, differences_of_files(first, second, {}));
  });
}

GNOMON_WEB(lint)(const char* path, std::size_t path_size) {
  return answered([&] { return pages::lint_json(lint_paths({{Path(std::string(path, path_size))}})); });
}

// `force`: "1" plans a file with errors, too.
GNOMON_WEB(extend)
(const char* path, std::size_t path_size, const char* to, std::size_t to_size, const char* force,
 std::size_t force_size) {
  return answered([&] {
    const Config config = web::opened({path, path_size});
    if (std::string_view(force, force_size) != "1")
      refuse_lint_errors(lint_paths({{config.where()}}).files.front());
    return pages::extend_json(plan_extension(config, std::string_view(to, to_size)), 1);
  });
}

// What a spec consists of.
GNOMON_WEB(spec)(const char* spec, std::size_t spec_size) {
  return answered([&] { return pages::spec_json(Spec::parse({spec, spec_size})); });
}
GNOMON_WEB(combinations)() { return answered(pages::combinations_json); }
// Encodings that `words` find; all of them if it is empty.
GNOMON_WEB(encodings)(const char* words, std::size_t words_size) {
  return answered([&] { return pages::encodings_json(search_encodings({words, words_size})); });
}
GNOMON_WEB(encoding)(const char* name, std::size_t name_size) {
  return answered([&] { return pages::encoding_json({name, name_size}); });
}

GNOMON_WEB(show)(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] { return web::shown({spec, spec_size}, {settings, settings_size}, false); });
}
GNOMON_WEB(show_page)
(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] { return web::shown({spec, spec_size}, {settings, settings_size}, true); });
}
// Vectors that a spec adds to the words.
GNOMON_WEB(vectors)
(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] {
    return web::vectors({spec, spec_size}, web::settings_of({settings, settings_size}, web::kLookedAt))
        .dump();
  });
}
