// gnomon bench: times what gnomon computes beside what the machine allows.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "gnomon/bench/page.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

using bench::BenchCase;
using bench::Timing;

void list(const std::vector<BenchCase>& all) {
  TextTable table({"name", "what"});
  table.words(1);
  for (const BenchCase& c : all) table.add({c.name, c.what});
  fmt::print("{}", table.print());
}

void print(const std::vector<Timing>& timings) {
  TextTable table({"name", "value", "unit", "limit", "% of it", "range"});
  table.words(2);
  const auto per_cent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  for (const Timing& t : timings) {
    const bool limit = t.name.starts_with("limit.");
    table.add({t.name, significant(t.value), t.unit, limit ? "" : significant(t.limit),
               limit ? "" : per_cent(t.share), text(per_cent(t.low), " to ", per_cent(t.high))});
  }
  fmt::print("{}", table.print());
}

}  // namespace

int bench(const BenchOptions& o) {
  const int threads = o.threads ? int(*o.threads) : threads_granted(int(std::thread::hardware_concurrency()));
  std::vector<BenchCase> cases = bench::chosen(bench::bench_cases(threads), o.names);
  if (o.quick && o.names.empty()) std::erase_if(cases, [](const BenchCase& c) { return !c.quick; });
  if (o.list) return list(cases), 0;
  const int n = o.quick ? 3 : int(o.rounds);
  std::vector<Timing> timings;
  if (o.names.empty() || !o.out.empty()) timings = bench::limits(threads, n);
  for (const BenchCase& one : cases) {
    if (!o.quiet) tell(one.name);
    timings.push_back(bench::measure(one, n));
  }
  if (!o.out.empty()) write_file(o.out, pages::bench_page(timings, {o.command, machine()}));
  if (o.json) return fmt::print("{}\n", pages::bench_json(timings)), 0;
  fmt::print("{}\n{}; medians of {}, in turns with the limit\n\n", machine(), pages::bench_libraries(), n);
  print(timings);
  return 0;
}

}  // namespace gnomon::cli
