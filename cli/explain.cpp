#include "gnomon/pages/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/names.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/explain/guesses.h"
#include "gnomon/pages/explain_words.h"
#include "gnomon/pages/families.h"
#include "gnomon/pages/tower_words.h"

namespace gnomon::cli {
namespace {

constexpr std::size_t kColumn = 15;  // where what is said of a name begins

void print(std::string_view name, const std::string& says) {
  fmt::print("  {:<{}}{}\n", name, kColumn - 2, wrapped(printable(says), kColumn));
}

void print_group(const Explanation& e, const LayerGroup& g, bool full) {
  const std::string component = g.position.component.empty() ? "" : g.position.component + " ";
  fmt::print("\n{}\n", wrapped(text(component, g.layers.size() == 1 ? "layer " : "layers ",
                                    pages::layers_text(g.layers), ": ",
                                    pages::marked(g.kind, is_guess(e, g, Quantity::rotation)))));
  for (const pages::Line& line : pages::group_lines(e, g, full)) print(line.name, line.says);
  if (const std::string command = pages::show_command(g); !command.empty()) print("picture", command);
}

void print(const Tower& tower, bool full) {
  fmt::print("\n{}\n", wrapped(printable(pages::tower_name(tower))));
  for (const pages::Line& line : pages::tower_lines(tower, full)) print(line.name, line.says);
}

void print_lengths(const Explanation& e) {
  fmt::print("\nby length\n");
  for (std::size_t n = 0; n < e.lengths.size(); ++n) {
    std::string name = grouped(double(e.lengths[n]));
    for (const std::string& says : pages::at_length(e, n)) print(std::exchange(name, ""), says);
  }
  fmt::print("\nkey cache\n  {}\n", wrapped(pages::cache_text(e), 2));
}

void print(const Explanation& e, bool full) {
  fmt::print("{}\n\n", printable(e.where));
  for (const std::string& sentence : pages::explain_answers(e))
    fmt::print("{}\n", wrapped(printable(sentence)));
  const bool tower = e.model.tower_alone;
  if (!tower)
    for (const LayerGroup& g : e.groups) print_group(e, g, full);
  for (const Tower& one : e.model.towers)
    if (one.known) print(one, full);
  if (!full) fmt::print("\n{}\n", wrapped("--full lists every frequency and slope, --out draws them."));
  if (tower) return;
  print_lengths(e);
  if (!e.model.because.empty()) fmt::print("\nsizes\n");
  for (const Because& b : e.model.because) print(b.what, pages::source_text(e, b));
  bool first = true;
  for (const Remark& r : e.model.remarks) {
    if (r.refused) continue;  // told above
    if (std::exchange(first, false)) fmt::print("\nremarks\n");
    fmt::print("  {}\n", wrapped(printable(pages::remark_sentence(r)), 2));
  }
}

std::string layers_of(const Difference& d) {
  if (d.layers.empty()) return d.component;
  return text(d.component, d.component.empty() ? "" : " ", d.layers.size() == 1 ? "layer " : "layers ",
              pages::layers_text(d.layers));
}

// What differs, with the names of the two.
void print(const Differences& found, const std::string& a, const std::string& b) {
  for (const Difference& d : found.computed) {
    const std::string where = layers_of(d);
    fmt::print("\n{}\n", wrapped(printable(text(where, where.empty() ? "" : ": ", quantity_name(d.what)))));
    fmt::print("  {:<12} {}\n  {:<12} {}\n", a, wrapped(printable(pages::marked(d.a, d.a_guess)), kColumn), b,
               wrapped(printable(pages::marked(d.b, d.b_guess)), kColumn));
    if (d.ratio > 0) fmt::print("  {:<12} {}\n", "ratio", significant(d.ratio));
  }
  for (const std::string& note : found.notes) fmt::print("\n{}\n", wrapped(printable(note)));
}

int compare(const ExplainOptions& o, const Explanation& a) {
  const Config config = Config::open(model_path(o.other, HubPart::settings, o.download));
  const Explanation b = gnomon::explain(config, reader_named(o.reader, config));
  std::vector<Quantity> expected;
  for (const std::string& word : o.ignore) expected.push_back(quantity_named(word));
  const Differences found = differences_of_files(a, b, expected);
  const int code = found.same() ? 0 : 1;
  if (o.json) {
    fmt::print("{}\n", pages::differences_json(a, b, found));
    return code;
  }
  fmt::print("A  {} ({})\nB  {} ({})\n\n", printable(a.where), reader_title(a.model.reader),
             printable(b.where), reader_title(b.model.reader));
  fmt::print("{}\n",
             found.same() ? "Both use positions in the same way." : "They use positions differently:");
  print(found, "A", "B");
  return code;
}

int readers(const ExplainOptions& o, const Config& config, const Explanation& first) {
  std::vector<pages::OtherReader> others;
  for (std::size_t n = 0; n < reader_names().size(); ++n) {
    if (Reader(n) == first.model.reader) continue;
    others.push_back(pages::other_reader(config, Reader(n), first));
  }
  if (o.json) {
    fmt::print("{}\n", pages::readers_json(first, others));
    return 0;
  }
  const std::string title(reader_title(first.model.reader));
  fmt::print("{}\n\n", printable(first.where));
  for (const std::string& sentence : pages::explain_answers(first))
    fmt::print("{}\n", wrapped(printable(sentence)));
  for (const pages::OtherReader& other : others) {
    const std::string_view name = reader_title(other.reader);
    const std::string says = !other.refuses.empty()  ? "cannot read it: " + other.refuses
                             : other.to_first.same() ? "computes the same"
                                                     : "computes something else:";
    fmt::print("\n== {}\n", wrapped(printable(text(name, ": ", says))));
    print(other.to_first, std::string(reader_names()[std::size_t(first.model.reader)]),
          std::string(reader_names()[std::size_t(other.reader)]));
    if (other.table_rows != 0)
      fmt::print("  table of cos and sin: {} positions\n", grouped(double(other.table_rows)));
    for (const Remark& r : other.remarks)
      fmt::print("  {}\n", wrapped(printable(pages::remark_sentence(r)), 2));
  }
  return 0;
}

int list_families(const ExplainOptions& o) {
  if (o.markdown || o.json) {
    fmt::print("{}", o.markdown ? pages::families_markdown() : pages::families_json() + "\n");
    return 0;
  }
  for (const Family& family : families()) {
    fmt::print("{}\n  {}\n", join(family.types, ", "), wrapped(pages::family_position(family), 2));
    if (const auto larger = pages::larger_models(family); !larger.empty())
      fmt::print("  {}\n", wrapped(text("within ", join(larger, ", ")), 2));
  }
  fmt::print("\n{} model types in {} families\n", pages::count_types(), families().size());
  return 0;
}

}  // namespace

int explain(const ExplainOptions& o) {
  if (o.families) return list_families(o);
  if (o.path.empty())
    throw Error(Fault::usage, "explain: PATH is missing; `gnomon explain --families` lists what is known");
  const Config config = Config::open(model_path(o.path, HubPart::settings, o.download));
  const Explanation e = gnomon::explain(config, reader_named(o.reader, config));
  if (!o.other.empty()) return compare(o, e);
  if (o.readers) return readers(o, config, e);
  if (o.json)
    fmt::print("{}\n", pages::explain_json(e, 1));
  else
    print(e, o.full);
  if (o.out.empty()) return 0;
  write_file(o.out, pages::explain_page(e));
  if (!o.json) fmt::print("\npage: {}\n", printable(o.out));
  return 0;
}

}  // namespace gnomon::cli
