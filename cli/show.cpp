#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/portrait.h"
#include "gnomon/combine/plan.h"
#include "gnomon/combine/spec.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/report/page.h"

namespace gnomon::cli {
namespace {

// Parameters as they start under seed 1.
std::vector<double> initial(const Encoding& e) {
  std::vector<double> w;
  for (const auto& p : e.params()) {
    const Random random(1, p.name);
    for (std::int64_t i = 0; i < p.size(); ++i) w.push_back(p.initial(i, random.normal(std::uint64_t(i))));
  }
  return w;
}

struct Part {
  Named named;
  std::unique_ptr<Encoding> encoding;
};

// Characters, not bytes: "2π" is two.
std::size_t width_of(const std::string& s) {
  return std::size_t(std::count_if(s.begin(), s.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}
std::string right(const std::string& s, std::size_t width) {
  return std::string(width - std::min(width, width_of(s)), ' ') + s;
}

void print(const Fact& f) {
  fmt::print("\n{}\n", f.title);
  if (!f.note.empty()) return fmt::print("  {}\n", f.note);
  std::size_t name = 4;
  for (const auto& row : f.rows) name = std::max(name, width_of(row.name));
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < f.head.size(); ++c) {
    widths.push_back(width_of(f.head[c]));
    for (const auto& row : f.rows) widths[c] = std::max(widths[c], width_of(fixed(row.values[c], f.digits)));
  }
  fmt::print("  {}", std::string(name, ' '));
  for (std::size_t c = 0; c < f.head.size(); ++c) fmt::print("  {}", right(f.head[c], widths[c]));
  fmt::print("\n");
  for (const auto& row : f.rows) {
    fmt::print("  {}{}", row.name, std::string(name - width_of(row.name), ' '));
    for (std::size_t c = 0; c < row.values.size(); ++c)
      fmt::print("  {}", right(fixed(row.values[c], f.digits), widths[c]));
    fmt::print("\n");
  }
}

std::string html(const Fact& f) {
  if (!f.note.empty()) return report::paragraph(f.note);
  report::Table t;
  t.head.push_back("");
  t.head.insert(t.head.end(), f.head.begin(), f.head.end());
  for (const auto& row : f.rows) {
    t.rows.push_back({{row.name}});
    for (const double x : row.values) t.rows.back().push_back({fixed(x, f.digits), x, true});
  }
  return report::draw(t);
}

nlohmann::ordered_json json(const Fact& f) {
  nlohmann::ordered_json j{
      {"name", f.name}, {"title", f.title}, {"columns", f.head}, {"rows", nlohmann::json::array()}};
  for (const auto& row : f.rows) j["rows"].push_back({{"name", row.name}, {"values", row.values}});
  if (!f.note.empty()) j["note"] = f.note;
  return j;
}

// Limits that no real model reaches. The last is on what they make together.
constexpr std::int64_t kMostChannels = 16384, kMostHeads = 1024, kMostTokens = 4096, kMostNumbers = 1 << 24;
constexpr double kMostWork = 4e10;  // a minute or two

Shape shape_of(const ShowOptions& o) {
  const auto within = [](const char* key, std::int64_t x, std::int64_t most) {
    if (x < 1 || x > most) throw Error(Fault::usage, text(key, ": found ", x, ", allowed are 1 to ", most));
  };
  within("--heads", o.heads, kMostHeads);
  const std::int64_t dim = o.dim.value_or(16 * o.heads);
  within("--dim", dim, kMostChannels);
  within("--length", o.length, kMostTokens);
  within("--dim times --length", dim * o.length, kMostNumbers);
  if (dim % o.heads)
    throw Error(Fault::usage, text("--heads: found ", o.heads, ", which does not divide --dim ", dim));
  return {dim, o.heads, dim / o.heads, o.length, !o.bidirectional};
}

void check_work(const Part& part, const ShowOptions& o) {
  const double numbers = work(*part.encoding, find_encoding(part.named.name).acts, o.length);
  if (numbers > kMostWork)
    throw Error(Fault::usage, text(part.named.name, ": its definition would read ", fixed(numbers / 1e9, 0),
                                   "e9 numbers to be shown, allowed are ", fixed(kMostWork / 1e9, 0),
                                   "e9; a smaller --dim, --length or option takes fewer"));
}

// Says on a terminal that something is being computed, once it takes longer than a second.
class Waiting {
 public:
  explicit Waiting(std::string what) {
    if (isatty(STDERR_FILENO))
      teller_ = std::jthread([this, name = std::move(what)](std::stop_token stop) { tell(stop, name); });
  }

 private:
  void tell(std::stop_token stop, const std::string& what) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    for (int seconds = 1;; ++seconds) {
      ended.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (stop.stop_requested()) break;
      fmt::print(stderr, "\r\033[K{}: from the definition, {} s", what, seconds), std::fflush(stderr);
    }
    fmt::print(stderr, "\r\033[K");
  }
  std::jthread teller_;
};

// What takes time.
struct Drawn {
  std::vector<Fact> facts;
  std::string pictures;  // of the page, if one is asked for
};
Drawn draw(const Part& part, const Sitter& sitter, const ShowOptions& o) {
  const Waiting waiting(part.named.name);
  return {facts(sitter, o.length), o.out.empty() ? "" : pictures(sitter, o.length)};
}

}  // namespace

// The plan of every layer of the pattern.
int show_plans(const Spec& spec, const Shape& shape, const Position& position) {
  fmt::print("{}   (d = {}, {} heads, {} tokens, {})\n", spec.print(), shape.C, shape.H, shape.length,
             shape.causal ? "causal" : "bidirectional");
  for (std::size_t l = 0; l < position.patterns.size(); ++l) {
    std::vector<const Encoding*> encodings;
    for (const std::size_t n : position.patterns[l])
      encodings.push_back(position.attention[n].encoding.get());
    if (position.patterns.size() > 1) fmt::print("layer {} of {}\n", l + 1, position.patterns.size());
    fmt::print("{}", describe(outline(encodings, Placement::consecutive(0, shape.length))));
  }
  return 0;
}

int show(const ShowOptions& o) {
  const Spec spec = Spec::parse(o.spec);
  const Shape shape = shape_of(o);
  Position position = make_position(spec, shape);
  if (o.plan) return show_plans(spec, shape, position);
  std::vector<Part> parts;
  if (spec.input) parts.push_back({*spec.input, std::move(position.input)});
  std::vector<Named> inside = spec.attention;
  for (const auto& layer : spec.layers) inside.insert(inside.end(), layer.begin(), layer.end());
  for (std::size_t n = 0; n < inside.size(); ++n)
    parts.push_back({inside[n], std::move(position.attention[n].encoding)});
  for (std::size_t n = 0; n < spec.samplers.size(); ++n)
    parts.push_back({spec.samplers[n], std::move(position.samplers[n])});

  report::Page page("gnomon: " + spec.print());
  page.lead(text("d = ", shape.C, ", ", o.heads, " heads, ", o.length, " tokens, ",
                 o.bidirectional ? "bidirectional" : "causal",
                 ". Every number and picture is computed in double from the definition."));
  nlohmann::ordered_json all{{"spec", spec.print()},
                             {"dim", shape.C},
                             {"heads", o.heads},
                             {"length", o.length},
                             {"encodings", nlohmann::json::array()}};
  if (!o.json)
    fmt::print("{}   (d = {}, {} heads, {} tokens, {})\n", spec.print(), shape.C, o.heads, o.length,
               o.bidirectional ? "bidirectional" : "causal");
  for (const Part& part : parts) check_work(part, o);
  for (const Part& part : parts) {
    const Entry& entry = find_encoding(part.named.name);
    const Sitter sitter{*part.encoding, entry.acts, initial(*part.encoding), "as they start"};
    nlohmann::ordered_json j{{"name", entry.name},
                             {"acts", site_names(entry.acts)},
                             {"parameters", part.encoding->param_count()},
                             {"options", nlohmann::json::object()},
                             {"facts", nlohmann::json::array()}};
    std::string options;
    for (const auto& [key, value] : part.named.options) {
      j["options"][key] = value;
      options += (options.empty() ? "" : ", ") + key + "=" + value;
    }
    if (!o.json)
      fmt::print("\n{}: {}\n  {}\n  {} ({}), acts on {}, {} parameters\n  {}\n", entry.name, entry.title,
                 entry.formula, entry.paper, entry.year, site_names(entry.acts), part.encoding->param_count(),
                 options);
    const Drawn drawn = draw(part, sitter, o);
    std::string section =
        report::paragraph(text(entry.formula)) +
        report::paragraph(text(entry.title, ". Acts on ", site_names(entry.acts), "; ",
                               part.encoding->param_count(),
                               " parameters. Options: ", options.empty() ? "none" : options, ".")) +
        text("<p><a href=\"", entry.paper, "\">", entry.paper, "</a> (", entry.year, ")</p>\n") +
        drawn.pictures;
    for (const Fact& f : drawn.facts) {
      if (!o.json) print(f);
      j["facts"].push_back(json(f));
      section += "<h3>" + f.title + "</h3>\n" + html(f);
    }
    page.section(std::string(entry.name), section);
    all["encodings"].push_back(j);
  }
  if (parts.empty() && !o.json) fmt::print("\nNo position: the causal mask alone orders the tokens.\n");
  page.data(all.dump());
  if (o.json) fmt::print("{}\n", all.dump(1));
  if (!o.out.empty()) {
    write_file(o.out, page.html());
    if (!o.json) fmt::print("\npage: {}\n", o.out);
  }
  return 0;
}

}  // namespace gnomon::cli
