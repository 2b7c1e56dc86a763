#include "gnomon/pages/show.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

std::string html(const Fact& f) {
  if (!f.note.empty()) return report::paragraph(f.note);
  report::Table t;
  t.head.push_back("");
  t.head.insert(t.head.end(), f.head.begin(), f.head.end());
  for (const auto& row : f.rows) {
    t.rows.push_back({{row.name}});
    for (const double x : row.values) t.rows.back().push_back({grouped(x, f.digits), x, true});
  }
  return report::draw(t);
}

std::string html(const Shown::One& one) {
  const Entry& entry = find_encoding(one.standing.named.name);
  const std::string options = options_text(one.standing.named);
  std::string section =
      report::paragraph(text(entry.formula)) +
      report::paragraph(text(entry.title, ". Acts on ", site_names(entry.acts), "; ",
                             one.standing.encoding->param_count(),
                             " parameters. Options: ", options.empty() ? "none" : options, ".")) +
      text("<p><a href=\"", entry.paper, "\">", entry.paper, "</a> (", entry.year, ")</p>\n") + one.pictures;
  for (const Fact& f : one.facts) section += "<h3>" + f.title + "</h3>\n" + html(f);
  return section;
}

Json options_json(const Named& named) {
  Json j = Json::object();
  for (const auto& [key, value] : named.options) j[key] = value.print();
  return j;
}
Json json(const Named& named) { return {{"name", named.name}, {"options", options_json(named)}}; }
Json json(const std::vector<Named>& all) {
  Json j = Json::array();
  for (const Named& named : all) j.push_back(json(named));
  return j;
}

Json json(const Fact& f) {
  Json j{{"name", f.name}, {"title", f.title}, {"columns", f.head}, {"rows", Json::array()}};
  for (const auto& row : f.rows) j["rows"].push_back({{"name", row.name}, {"values", row.values}});
  if (!f.note.empty()) j["note"] = f.note;
  return j;
}

Json json(const Shown::One& one) {
  const Entry& entry = find_encoding(one.standing.named.name);
  Json j{{"name", entry.name},
         {"acts", site_names(entry.acts)},
         {"parameters", one.standing.encoding->param_count()},
         {"options", Json::object()},
         {"facts", Json::array()}};
  j["options"] = options_json(one.standing.named);
  for (const Fact& f : one.facts) j["facts"].push_back(json(f));
  return j;
}

// Limits of what is shown, of the longest contexts that models are trained for. The last is on what they make together.
constexpr std::int64_t kMostChannels = 16384, kMostHeads = 1024, kMostTokens = 1 << 17,
                       kMostNumbers = 1 << 24, kMostFirst = 1000000000;

}  // namespace

void check_shown(const Shape& shape, std::string_view dashes) {
  const auto within = [&](std::string_view name, std::int64_t x, std::int64_t most) {
    if (x < 1 || x > most)
      throw Error(Fault::usage, text(dashes, name, ": found ", x, ", allowed are 1 to ", most));
  };
  within("heads", shape.H, kMostHeads);
  within("head-dim", shape.D, kMostChannels);
  within("dim", shape.C, kMostChannels);
  within("length", shape.length, kMostTokens);
  within(text("dim times ", dashes, "length"), shape.C * shape.length, kMostNumbers);
}

namespace {
std::string in_milliards(double numbers) { return fixed(numbers / 1e9, numbers < 1e10 ? 1 : 0) + "e9"; }
}  // namespace

void check_first(std::int64_t first, std::string_view dashes) {
  if (first < 0 || first > kMostFirst)
    throw Error(Fault::usage, text(dashes, "first: found ", first, ", allowed are 0 to ", kMostFirst));
}

void check_work(const Standing& s, std::int64_t length, std::string_view dashes, double most,
                std::int64_t most_compared) {
  const double numbers = work(*s.encoding, find_encoding(s.named.name).acts, length, most_compared);
  if (numbers > most)
    throw Error(Fault::usage,
                text(s.named.name, ": its definition needs ", in_milliards(numbers), " numbers, allowed are ",
                     in_milliards(most), "; reduce ", dashes, "dim, ", dashes, "length or an option"));
}

void look_at(Shown& shown, const Standing& s, bool with_pictures) {
  const ShownEncoding one = at_start(s);
  const std::int64_t length = shown.shape.length;
  shown.encodings.push_back({s, facts(one, length, shown.most_compared),
                             with_pictures ? pictures(one, looked_at(s, length, shown.first)) : ""});
}

std::string options_text(const Named& named) {
  std::string all;
  for (const auto& [key, value] : named.options) all += (all.empty() ? "" : ", ") + key + "=" + value.print();
  return all;
}

std::string spec_json(const Spec& s) {
  Json layers = Json::array();
  for (const auto& layer : s.layers) layers.push_back(json(layer));
  return Json{{"spec", s.print()},
              {"combination", json(s.combination)},
              {"input", s.input ? json(*s.input) : Json()},
              {"attention", json(s.attention)},
              {"layers", layers},
              {"samplers", json(s.samplers)}}
      .dump(1);
}

std::string show_json(const Shown& s, int indent) {
  Json all{{"spec", s.spec.print()},
           {"dim", s.shape.C},
           {"heads", s.shape.H},
           {"length", s.shape.length},
           {"encodings", Json::array()}};
  for (const auto& one : s.encodings) all["encodings"].push_back(json(one));
  return all.dump(indent);
}

std::string show_page(const Shown& s) {
  report::Page page("gnomon: " + s.spec.print());
  page.lead(text("d = ", s.shape.C, ", ", s.shape.H, " heads, ", s.shape.length, " tokens, ",
                 s.shape.causal ? "causal" : "bidirectional",
                 ". Every number and picture is computed in double from the definition.",
                 s.first ? text(" Pictures begin at position ", grouped(double(s.first)), ".") : ""));
  for (const auto& one : s.encodings) page.section(one.standing.named.name, html(one));
  page.data(show_json(s, -1));
  return page.html();
}

}  // namespace gnomon::pages
