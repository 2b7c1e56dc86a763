#include "gnomon/pages/show.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/commands.h"
#include "cli/table.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/plan.h"

namespace gnomon::cli {
namespace {

constexpr std::size_t kMostRows = 16;  // of a table in the terminal

void print(const Fact& f) {
  fmt::print("\n{}\n", wrapped(f.title));
  if (!f.note.empty()) return fmt::print("  {}\n", wrapped(f.note, 2));
  std::vector<std::string> head{""};
  head.insert(head.end(), f.head.begin(), f.head.end());
  TextTable table(head, 2);
  const std::size_t rows = f.rows.size();
  for (std::size_t n = 0; n < rows; ++n) {
    if (rows > kMostRows && n > 1 && n != rows / 2 && n + 1 != rows) continue;
    std::vector<std::string> cells{f.rows[n].name};
    for (const double value : f.rows[n].values) cells.push_back(fixed(value, f.digits));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.print());
  if (rows > kMostRows) fmt::print("  --json shows all {} rows\n", rows);
}

// Four, or as many fewer as divide the width, into heads of whole pairs where there are such.
std::int64_t heads_of(const ShowOptions& o) {
  if (o.heads) return *o.heads;
  const std::int64_t dim = o.dim.value_or(0), most = 4;
  for (const std::int64_t pairs : {2, 1}) {
    for (std::int64_t n = most; n > 0; --n)
      if (dim % (pairs * n) == 0) return n;
  }
  return 1;
}

Shape shape_of(const ShowOptions& o) {
  const std::int64_t heads = heads_of(o), D = o.head_dim.value_or(16);
  Shape shape{o.dim.value_or(D * heads), heads, D, o.length, !o.bidirectional};
  pages::check_shown(shape, "--");
  if (shape.C % heads)
    throw Error(Fault::usage, text("--heads: found ", heads, ", which does not divide --dim ", shape.C));
  shape.D = shape.C / heads;
  if (o.head_dim && D != shape.D)
    throw Error(Fault::usage, text("--head-dim: found ", D, " with --dim ", shape.C, " and --heads ", heads,
                                   "; allowed is ", shape.D));
  return shape;
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
      fmt::print(stderr, "\r\033[K{}: computing from the definition, {} s", what, seconds),
          std::fflush(stderr);
    }
    fmt::print(stderr, "\r\033[K");
  }
  std::jthread teller_;
};

void print_head(const Spec& spec, const Shape& shape) {
  fmt::print("{}\n", wrapped(fmt::format("{}   (d = {}, {}, {} tokens, {})", spec.print(), shape.C,
                                         counted(std::size_t(shape.H), "head"), shape.length,
                                         shape.causal ? "causal" : "bidirectional")));
}

void print(const pages::Shown::One& one) {
  const Entry& entry = find_encoding(one.standing.named.name);
  fmt::print("\n{}\n", wrapped(text(entry.name, ": ", entry.title)));
  for (const std::string& line : {std::string(entry.formula),
                                  text(entry.paper, " (", entry.year, "), acts on ", site_names(entry.acts),
                                       ", ", one.standing.encoding->param_count(), " parameters"),
                                  pages::options_text(one.standing.named)})
    fmt::print("  {}\n", wrapped(line, 2));
  for (const Fact& f : one.facts) print(f);
}

// The plan of every layer of the pattern.
int show_plans(const Spec& spec, const Shape& shape, const Scheme& scheme) {
  print_head(spec, shape);
  for (std::size_t l = 0; l < scheme.patterns.size(); ++l) {
    std::vector<const Encoding*> encodings;
    for (const std::size_t n : scheme.patterns[l]) encodings.push_back(scheme.attention[n].encoding.get());
    if (scheme.patterns.size() > 1) fmt::print("layer {} of {}\n", l + 1, scheme.patterns.size());
    fmt::print("{}", describe(outline(encodings, Placement::consecutive(0, shape.length))));
  }
  return 0;
}

}  // namespace

int show(const ShowOptions& o) {
  pages::Shown shown{Spec::parse(o.spec), shape_of(o), o.first};
  pages::check_first(o.first, "--");
  const Scheme scheme = make_scheme(shown.spec, shown.shape);
  if (o.plan) return show_plans(shown.spec, shown.shape, scheme);
  const auto standing = encodings_in(shown.spec, scheme, std::int64_t(scheme.patterns.size()));
  if (!o.json) print_head(shown.spec, shown.shape);
  for (const Standing& s : standing) pages::check_work(s, o.length, "--");
  for (const Standing& s : standing) {
    {
      const Waiting waiting(s.named.name);
      pages::look_at(shown, s, !o.out.empty());
    }
    if (!o.json) print(shown.encodings.back());
  }
  if (o.json) fmt::print("{}\n", pages::show_json(shown, 1));
  if (!o.json && standing.empty())
    fmt::print("\nNo position encoding: only the causal mask orders the tokens.\n");
  if (!o.out.empty()) {
    write_file(o.out, pages::show_page(shown));
    if (!o.json) fmt::print("\npage: {}\n", printable(o.out));
  }
  return 0;
}

}  // namespace gnomon::cli
