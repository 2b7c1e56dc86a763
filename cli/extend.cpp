#include "gnomon/pages/extend.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/names.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
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
  fmt::print("  {:>6} {:>16} {:>14} {:>10} {:>10}\n", "pair", "tokens a turn", "turns trained", "divided by",
             "now by");
  std::set<std::size_t> shown{0, g.pairs.size() / 2, g.pairs.size() - 1};
  for (std::size_t n = 0; n < g.pairs.size(); ++n)
    if (full || shown.contains(n)) print_pair(g, n);
}

void print_group(const ExtendedGroup& g, bool full) {
  fmt::print("\n");
  say(text("  ", g.component, g.component.empty() ? "" : " ", g.layers.size() == 1 ? "layer " : "layers ",
           pages::layers_text(g.layers)));
  print("spec", g.position.spec.print());
  print("pairs", text(g.kept, " kept, ", g.blended, " between, ", g.interpolated, " by the whole factor"));
  print_pairs(g, full);
  const double a = g.numbers.attention_factor;
  print("cos and sin", a == 1 ? std::string("as they are")
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
  if (s.json) {
    const std::string members = spaced(s.text);
    say(members.substr(1, members.size() - 2), 4);
  } else {
    say_options(s.text);
  }
  for (const SnippetReading& r : s.readings)
    say(text("  ", pages::reader_title(r.reader), ": ",
             r.differs.empty() ? "computes this" : "computes something else: " + r.differs),
        2);
  if (s.readings.empty()) say("not tried: it is for the GGUF file made of this one", 4);
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

void print_head(const ExtensionPlan& plan) {
  fmt::print("{}\n\n", printable(plan.now.where));
  say(text("Trained for ", grouped(double(plan.now.trained())), " tokens; ", grouped(double(plan.to)),
           " are ", significant(plan.factor), " times that."));
  if (!plan.ways.empty()) {
    say(text("As it is, ", counted(std::size_t(plan.beyond), "pair"),
             " would turn further than training showed."));
    say("Compare every way with the control: the text cropped to its last tokens, as many as the model was "
        "trained for. What is no better than that is no extension.");
  }
  if (plan.cache_bytes)
    say(text("Keys and values of one sequence: ", grouped(double(*plan.cache_bytes) / 1048576, 1),
             " MiB in bfloat16 or float16."));
  for (const std::string& note : plan.notes) {
    fmt::print("\n");
    say(note);
  }
}

}  // namespace

int extend(const ExtendOptions& o) {
  std::vector<std::string_view> names;
  for (const ExtensionMethod& m : extension_methods()) names.push_back(m.name);
  if (!o.method.empty() && std::find(names.begin(), names.end(), o.method) == names.end())
    throw unknown("method", o.method, names);
  ExtensionPlan plan = plan_extension(Config::open(o.path), o.to);
  if (!o.method.empty())
    std::erase_if(plan.ways, [&](const Extension& e) { return e.method->name != o.method; });
  if (o.json) {
    fmt::print("{}\n", pages::extend_json(plan, 1));
    return 0;
  }
  print_head(plan);
  for (const Extension& e : plan.ways) print(e, o.full);
  return 0;
}

}  // namespace gnomon::cli
