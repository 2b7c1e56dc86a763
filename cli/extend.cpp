#include "gnomon/pages/extend.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/names.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/lint.h"
#include "gnomon/pages/explain_words.h"

namespace gnomon::cli {
namespace {

constexpr std::size_t kColumn = 15;  // where what is said of a name begins

void say(const std::string& sentence, std::size_t indent = 0) {
  fmt::print("{:{}}{}\n", "", indent, wrapped(printable(sentence), indent));
}
void print(std::string_view name, const std::string& says) {
  fmt::print("  {:<{}}{}\n", name, kColumn - 2, wrapped(printable(says), kColumn));
}

void print_pair(const ExtendedGroup& g, std::size_t n) {
  const ExtendedPair& p = g.pairs[n];
  fmt::print("  {:>6} {:>16} {:>14} {:>10} {:>10}\n", n, significant(p.wavelength), significant(p.turns),
             significant(p.today), significant(p.factor));
}

void print_pairs(const ExtendedGroup& g, bool full) {
  if (g.pairs.empty()) return;
  fmt::print("  {:>6} {:>16} {:>14} {:>10} {:>10}\n", "pair", "tokens per turn", "trained turns",
             "old factor", "new factor");
  std::set<std::size_t> shown{0, g.pairs.size() / 2, g.pairs.size() - 1};
  for (std::size_t n = 0; n < g.pairs.size(); ++n)
    if (full || shown.contains(n)) print_pair(g, n);
}

// Equal numbers that follow each other in a list, told once: 1.0 (20 times), 1.07, ...
std::string runs_told_once(std::string_view list, char separator) {
  std::string out;
  const std::vector<std::string_view> all = split(list, separator);
  for (std::size_t n = 0, same = 0; n < all.size(); n += same) {
    for (same = 1; n + same < all.size() && all[n + same] == all[n];) ++same;
    out += text(n ? std::string(1, separator) : "", all[n]);
    if (same > 1) out += text(" (", same, " times)");
  }
  return out;
}

// A text whose lists of numbers are told so where they are long.
std::string shortened(std::string_view words, char separator) {
  constexpr std::ptrdiff_t kFew = 4;
  const std::string of_lists = std::string("0123456789.e+-") + separator;
  std::string out;
  for (std::size_t at = 0, end = 0; at < words.size(); at = end) {
    end = std::min(words.find_first_not_of(of_lists, at), words.size());
    const std::string_view piece = words.substr(at, end - at);
    const bool list = std::count(piece.begin(), piece.end(), separator) > kFew;
    out += list ? runs_told_once(piece, separator) : std::string(piece);
    if (end < words.size()) out += words[end++];
  }
  return out;
}

void print_group(const ExtendedGroup& g, bool full) {
  fmt::print("\n");
  say(text("  ", g.component, g.component.empty() ? "" : " ", g.layers.size() == 1 ? "layer " : "layers ",
           pages::layers_text(g.layers)));
  print("spec", shortened(g.position.spec.print(), '/'));
  print("pairs",
        text(g.kept, " kept, ", g.blended, " in between, ", g.interpolated, " divided by the whole factor"));
  print_pairs(g, full);
  const double a = g.numbers.attention_factor;
  print("cos and sin", a == 1 ? std::string("unchanged")
                              : text("times ", significant(a), ", so q\u00b7k times ", significant(a * a)));
  if (g.numbers.softmax_factor != 1) print("softmax", text("times ", significant(g.numbers.softmax_factor)));
}

// Only at spaces that JSON does not mind, where a line may be broken without harm to what is pasted.
std::string spaced(std::string_view json) {
  std::string out;
  for (std::size_t n = 0; n < json.size(); ++n) {
    out += json[n];
    if (json[n] == ',' || (json[n] == ':' && n && json[n - 1] == '"')) out += ' ';
  }
  return out;
}

// Options for a shell: lines end in a backslash, but for those within quotation marks, where the JSON goes on.
void say_options(const std::string& options) {
  std::size_t from = 0;
  while (from != std::string::npos) {
    const std::size_t next = options.find(" -", from + 1), end = std::min(next, options.size());
    fmt::print("    {}{}\n", wrapped(printable(spaced(options.substr(from, end - from))), 4, 78),
               next == std::string::npos ? "" : " \\");
    from = next == std::string::npos ? next : next + 1;
  }
}

void print_snippet(const ExtensionSnippet& s) {
  fmt::print("\n");
  say(text("  ", s.program, ", ", s.where, ":"));
  const std::string told = shortened(s.text, ',');
  if (s.json) {
    const std::string members = spaced(told);
    say(members.substr(1, members.size() - 2), 4);
  } else {
    say_options(told);
  }
  if (told != s.text) say("lists are shortened here; --json and --write give them in full", 4);
  for (const SnippetReading& r : s.readings)
    say(text("  ", reader_title(r.reader), ": ",
             r.differs.empty() ? "computes this" : "computes something else: " + r.differs),
        2);
  if (s.readings.empty()) say("not tried: it is for a GGUF file made from this one", 4);
}

void print(const Extension& e, bool full) {
  fmt::print("\n== {}\n", e.method->title);
  if (!e.refused.empty()) return say("not for this model: " + e.refused);
  say(std::string(e.method->does));
  print("untrained", std::string(e.method->untrained));
  print("trained", std::string(e.method->trained));
  print("source", std::string(e.method->source));
  for (const ExtendedGroup& g : e.groups) print_group(g, full);
  for (const ExtensionSnippet& s : e.snippets) print_snippet(s);
  if (!e.missing.empty()) fmt::print("\n");
  for (const std::string& program : e.missing) say(program);
}

// The programs that compute what the way announces, and those that nobody here could try.
std::string programs_of(const Extension& e) {
  std::string out;
  for (const ExtensionSnippet& s : e.snippets) {
    const bool tried = !s.readings.empty();
    if (tried && !s.readings.front().differs.empty()) continue;
    const bool both = s.program == "transformers 5" && out == "transformers 4";
    out += both ? " and 5" : text(out.empty() ? "" : ", ", s.program, tried ? "" : " (untried)");
  }
  return out.empty() ? "none" : out;
}

// Every way in a line, what is known of it, and which to take.
void print_ways(const ExtensionPlan& plan) {
  fmt::print("\n");
  TextTable table({"way", "within", "beyond", "programs that compute it"});
  table.words(1).words(2).words(3);
  for (const Extension& e : plan.ways)
    table.add({std::string(e.method->name), std::string(e.method->within), std::string(e.method->beyond),
               e.refused.empty() ? programs_of(e) : "not for this model"});
  fmt::print("{}\n", table.print());
  say(text("within, beyond: ", kMeasured, ". Not known: gnomon has no published number."));
  fmt::print("\n");
  say(plan.advice.says);
}

void print_head(const ExtensionPlan& plan) {
  fmt::print("{}\n\n", printable(plan.now.where));
  const std::string first = grouped(double(plan.now.trained()));
  const std::int64_t longest = plan.now.model.longest;
  const bool extended = longest > plan.now.trained();
  say(text(extended ? text("Extended from ", first, " to ", grouped(double(longest)))
                    : text("Trained for ", first),
           " tokens; ", grouped(double(plan.to)), " are ", significant(plan.factor), " times ",
           extended ? text("the ", first, ".") : "that."));
  if (!plan.ways.empty()) {
    print_ways(plan);
    fmt::print("\n");
    say(text("Without a change, ", counted(std::size_t(plan.beyond), "pair"),
             " would rotate further than within ", pages::first_length(plan.now), "."));
    say("Compare every way with a control: the text cropped to the last tokens that the unchanged model can "
        "read. A way that is no better than this control is no extension.");
  }
  if (plan.cache_bytes)
    say(text("Keys and values of one sequence: ", bytes_text(double(*plan.cache_bytes)),
             " in bfloat16 or float16."));
  for (const std::string& note : plan.notes) {
    fmt::print("\n");
    say(note);
  }
}

const Extension* way_of(const ExtensionPlan& plan, std::string_view name) {
  for (const Extension& e : plan.ways)
    if (e.method->name == name) return &e;
  return nullptr;
}

// The file with the settings of this way; it is a new one, unless it may replace one that is there.
void write_extended(const ExtendOptions& o, const Config& config, const Extension* way) {
  if (!way) throw Error(Fault::usage, "--write: no way is advised for this model; name one with --way");
  const ExtendedFile file = extended_file(config, *way);
  if (!o.replace && std::filesystem::exists(std::filesystem::symlink_status(o.write)))
    throw Error(Fault::usage, text("--write: ", o.write, " already exists; give another name, or --replace"));
  write_file(o.write, file.content);
  std::string who;
  for (const Reader reader : file.readers) who += text(who.empty() ? "" : " and ", reader_title(reader));
  tell(text("written: ", o.write, ", with ", way->method->name, "; ", who,
            file.readers.size() == 1 ? " computes" : " compute", " it as shown"));
}

}  // namespace

int extend(const ExtendOptions& o) {
  std::vector<std::string_view> names;
  for (const ExtensionMethod& m : extension_methods()) names.push_back(m.name);
  if (!o.way.empty() && std::find(names.begin(), names.end(), o.way) == names.end())
    throw unknown("way", o.way, names);
  const Config config = Config::open(model_path(o.path, HubPart::settings, o.download));
  if (!o.force) refuse_lint_errors(lint_paths({{config.where()}}).files.front());
  ExtensionPlan plan = plan_extension(config, o.to);
  const std::string_view chosen = !o.way.empty() ? o.way : plan.advice.way ? plan.advice.way->name : "";
  if (!o.write.empty()) write_extended(o, config, way_of(plan, chosen));
  if (o.json) {
    if (!o.way.empty()) std::erase_if(plan.ways, [&](const Extension& e) { return e.method->name != o.way; });
    fmt::print("{}\n", pages::extend_json(plan, 1));
    return 0;
  }
  print_head(plan);
  for (const Extension& e : plan.ways)
    if (o.all || e.method->name == chosen) print(e, o.full);
  if (!o.all && !plan.ways.empty()) {
    fmt::print("\n");
    say("Other ways in full: --way NAME, or --all. The file with these settings: --write FILE.");
  }
  return 0;
}

}  // namespace gnomon::cli
