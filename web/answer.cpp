#include "web/answer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gnomon/c/gnomon.h"
#include "gnomon/core/names.h"

namespace gnomon::web {
namespace {

std::string& answer() {
  static std::string text;
  return text;
}

}  // namespace

int said(std::string text) {
  answer() = std::move(text);
  return 0;
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

}  // namespace gnomon::web

extern "C" __attribute__((export_name("gnomon_web_answer"))) const char* gnomon_web_answer() {
  return gnomon::web::answer().data();
}
extern "C" __attribute__((export_name("gnomon_web_answer_size"))) std::size_t gnomon_web_answer_size() {
  return gnomon::web::answer().size();
}
