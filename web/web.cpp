// What web/gnomon.js calls. A function returns 0 and leaves the text that the program prints with --json, without the last line's
// end; or it returns the number of a Fault and leaves that error as JSON. The text stays until the next call. Texts that come in
// are pairs of pointer and length.
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/c/gnomon.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/search.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/lint/lint.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"
#include "gnomon/pages/encodings.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/extend.h"
#include "gnomon/pages/lint.h"
#include "gnomon/pages/portrait.h"
#include "gnomon/pages/show.h"

#define GNOMON_WEB(name) extern "C" __attribute__((export_name("gnomon_web_" #name))) int gnomon_web_##name

namespace gnomon::web {
namespace {

std::string& answer() {
  static std::string text;
  return text;
}

int refused(const Error& e) {
  const ErrorDetails& d = e.details();
  const nlohmann::ordered_json error{{"kind", gnomon_status_name(gnomon_status(e.fault()))},
                                     {"message", e.what()},
                                     {"place", d.place},
                                     {"found", d.found},
                                     {"allowed", d.allowed},
                                     {"suggestions", d.suggestions}};
  answer() = error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return int(e.fault());
}

template <class Body>
int answered(const Body& body) {
  try {
    answer() = body();
    return 0;
  } catch (const Error& e) {
    return refused(e);
  } catch (const std::bad_alloc&) {
    return refused(Error(Fault::resource, "out of memory"));
  } catch (const std::exception& e) {
    return refused(Error(Fault::bug, text("this is a bug in gnomon: ", e.what())));
  }
}

Config opened(std::string_view path) { return Config::open(Path(path)); }

// Numbers by name, each with its standard.
using Settings = std::map<std::string, double, std::less<>>;
Settings settings_of(std::string_view json, Settings settings) {
  std::vector<std::string_view> names;
  for (const auto& [name, standard] : settings) names.push_back(name);
  const auto given = nlohmann::json::parse(json);
  for (const auto& [name, value] : given.items()) {
    const auto known = settings.find(name);
    if (known == settings.end()) throw unknown("setting", name, names);
    if (!value.is_number())
      throw Error(Fault::usage, text(name, ": found ", value.dump(), "; a number is needed"));
    known->second = value.get<double>();
  }
  return settings;
}
std::int64_t whole(const Settings& settings, std::string_view name) {
  const double x = settings.find(name)->second;
  if (!(std::abs(x) < 0x1p53) || x != std::trunc(x))
    throw Error(Fault::usage, text(name, ": found ", x, "; a whole number is needed"));
  return std::int64_t(x);
}

Shape shape_of(const Settings& s) {
  const std::int64_t heads = whole(s, "heads"), dim = whole(s, "dim");
  if (heads < 1 || dim % heads)
    throw Error(Fault::usage, text("heads: found ", heads, ", which does not divide dim ", dim));
  const Shape shape{dim, heads, dim / heads, whole(s, "length"), whole(s, "causal") != 0};
  pages::check_shown(shape, "");
  return shape.check();
}
// As JSON, or as a page with pictures.
std::string shown(std::string_view spec, const Settings& settings, bool page) {
  pages::Shown shown{Spec::parse(spec), shape_of(settings), {}};
  const Scheme scheme = make_scheme(shown.spec, shown.shape);
  for (const Standing& s : encodings_in(shown.spec, scheme, std::int64_t(scheme.patterns.size()))) {
    pages::check_work(s, shown.shape.length, "");
    const ShownEncoding one = at_start(s);
    shown.encodings.push_back(
        {s, facts(one, shown.shape.length), page ? pages::pictures(one, shown.shape.length) : ""});
  }
  return page ? pages::show_page(shown) : pages::show_json(shown, 1);
}
Settings looked_at() { return {{"dim", 64}, {"heads", 4}, {"length", 128}, {"causal", 1}}; }

// A small model that learns the bytes of a text. There is one at a time.
struct Training {
  Trainer trainer;
  std::vector<std::int32_t> inputs, targets;

  Training(std::string_view spec, const Settings& s)
      : trainer(
            make_block("gpt",
                       {.layers = whole(s, "layers"),
                        .width = whole(s, "width"),
                        .heads = whole(s, "heads"),
                        .length = whole(s, "length")},
                       Spec::parse(spec)),
            {.steps = whole(s, "steps"), .batch = whole(s, "batch"), .learning_rate = s.find("rate")->second},
            std::uint64_t(whole(s, "seed"))) {}

  // `windows` has length + 1 bytes for each window of the batch.
  double step(std::string_view windows) {
    const std::int64_t B = trainer.config.batch, T = trainer.model.architecture().length;
    if (std::int64_t(windows.size()) != B * (T + 1))
      throw Error(Fault::usage, text("windows: found ", windows.size(), " bytes; ", B, " windows of ", T + 1,
                                     " bytes are needed"));
    inputs.clear(), targets.clear();
    for (std::int64_t b = 0; b < B; ++b) {
      const auto* window = reinterpret_cast<const unsigned char*>(windows.data()) + b * (T + 1);
      inputs.insert(inputs.end(), window, window + T),
          targets.insert(targets.end(), window + 1, window + T + 1);
    }
    return trainer.train({B, T, inputs, targets});
  }
};
std::unique_ptr<Training>& training() {
  static std::unique_ptr<Training> one;
  return one;
}

}  // namespace
}  // namespace gnomon::web

using namespace gnomon;
using web::answered;

extern "C" __attribute__((export_name("gnomon_web_answer"))) const char* gnomon_web_answer() {
  return web::answer().data();
}
extern "C" __attribute__((export_name("gnomon_web_answer_size"))) std::size_t gnomon_web_answer_size() {
  return web::answer().size();
}

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

// Encodings that `words` find; all of them if it is empty.
GNOMON_WEB(encodings)(const char* words, std::size_t words_size) {
  return answered([&] { return pages::encodings_json(search_encodings({words, words_size})); });
}
GNOMON_WEB(encoding)(const char* name, std::size_t name_size) {
  return answered([&] { return pages::encoding_json({name, name_size}); });
}

GNOMON_WEB(show)(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] {
    const auto chosen = web::settings_of({settings, settings_size}, web::looked_at());
    return web::shown({spec, spec_size}, chosen, false);
  });
}
GNOMON_WEB(show_page)
(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] {
    const auto chosen = web::settings_of({settings, settings_size}, web::looked_at());
    return web::shown({spec, spec_size}, chosen, true);
  });
}

// Begins a training; that before ends.
GNOMON_WEB(train)(const char* spec, std::size_t spec_size, const char* settings, std::size_t settings_size) {
  return answered([&] {
    const web::Settings standard{{"layers", 2}, {"width", 64},  {"heads", 4},    {"length", 128},
                                 {"batch", 4},  {"steps", 500}, {"rate", 0.003}, {"seed", 1}};
    const auto chosen = web::settings_of({settings, settings_size}, standard);
    web::training().reset();
    web::training() = std::make_unique<web::Training>(std::string_view(spec, spec_size), chosen);
    return nlohmann::json(web::training()->trainer.model.param_count()).dump();
  });
}
// The mean loss before the step, in nats for each byte.
GNOMON_WEB(step)(const char* windows, std::size_t windows_size) {
  return answered([&] {
    if (!web::training()) throw Error(Fault::usage, "step: no training has begun");
    return nlohmann::json(web::training()->step({windows, windows_size})).dump();
  });
}
