#include "gnomon/bench/page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using bench::Timing;
using Json = nlohmann::ordered_json;

bool is_limit(const Timing& t) { return t.name.starts_with("limit."); }
std::string per_cent(double share) { return text(std::round(1000 * share) / 10); }

std::string table_of(std::span<const Timing> timings, bool limits) {
  report::Table table{{"name"}, {}};
  if (!limits) table.head.insert(table.head.end(), {"% of the limit", "range"});
  table.head.insert(table.head.end(), {"value", "unit"});
  if (!limits) table.head.insert(table.head.end(), {"limit", "limited by"});
  table.head.insert(table.head.end(), {"threads", "what"});
  for (const Timing& t : timings) {
    if (is_limit(t) != limits) continue;
    const auto number = [](double x) { return report::Table::Cell{significant(x), x, true}; };
    std::vector<report::Table::Cell> row{{t.name}};
    if (!limits) {
      row.push_back({per_cent(t.share), t.share, true});
      row.push_back({text(per_cent(t.low), " to ", per_cent(t.high))});
    }
    row.push_back(number(t.value)), row.push_back({t.unit});
    if (!limits) row.push_back(number(t.limit)), row.push_back({t.limited_by});
    row.push_back(number(t.threads)), row.push_back({t.what});
    table.rows.push_back(row);
  }
  return report::draw(table);
}

// Powers of two within a range, and so many more that the range lies between them.
std::vector<double> powers(double low, double high) {
  std::vector<double> all;
  for (double x = std::exp2(std::floor(std::log2(low))); x < 2 * high; x *= 2) all.push_back(x);
  return all;
}

const Timing* limit_of(std::span<const Timing> timings, std::string_view name) {
  const auto found =
      std::find_if(timings.begin(), timings.end(), [&](const Timing& t) { return t.name == name; });
  return found == timings.end() ? nullptr : &*found;
}

// Of the case with most threads: memory below the ridge, multiply above it.
std::string roofline(std::span<const Timing> timings) {
  int threads = 0;
  for (const Timing& t : timings)
    if (t.intensity > 0) threads = std::max(threads, t.threads);
  const Timing* peak = limit_of(timings, text("limit.multiply.fp32.", threads));
  const Timing* memory = limit_of(timings, text("limit.read.512mb.", threads));
  if (!peak || !memory) return {};
  report::LineChart chart{
      "Operations a second, and what the machine allows",
      text("The line is the roof on ", counted(std::size_t(threads), "thread"),
           ": what memory delivers on its slope, float32 multiply where it is flat. A point counts each "
           "number that must be read or written once; what stays in a cache may lie above the slope."),
      {"operations for each byte", true},
      {"GFLOP/s", true},
      {}};
  double low = 1, high = 1;
  std::vector<std::string> groups;
  for (const Timing& t : timings) {
    if (!(t.intensity > 0) || t.threads != threads) continue;
    low = std::min(low, t.intensity), high = std::max(high, t.intensity);
    const std::string group = t.name.substr(0, t.name.find('.'));
    auto at = std::find(groups.begin(), groups.end(), group);
    if (at == groups.end()) {
      groups.push_back(group), at = groups.end() - 1;
      chart.series.push_back({group, {}, int(groups.size()), false, true, false});
    }
    chart.series[std::size_t(at - groups.begin())].points.push_back({t.intensity, t.value});
  }
  if (groups.empty()) return {};
  const double ridge = peak->value / memory->value;
  report::Series roof{"roof", {{low / 2, memory->value * low / 2}}, 0};
  if (ridge > low / 2 && ridge < 2 * high) roof.points.push_back({ridge, peak->value});
  roof.points.push_back({2 * high, std::min(peak->value, memory->value * 2 * high)});
  chart.series.insert(chart.series.begin(), roof);
  chart.x.ticks = powers(low / 2, 2 * high), chart.y.ticks = powers(memory->value * low / 2, peak->value);
  return report::draw(chart);
}

}  // namespace

std::string bench_libraries() {
  return text("products by ", product_library(), ", threads of ", thread_library());
}

std::string bench_page(std::span<const Timing> timings, const MadeBy& how) {
  report::Page page("How fast gnomon is on this machine");
  page.lead(
      "Each case and its limit are timed in turns in one run. A share is the median of the rounds, with the "
      "least and the most.");
  if (const std::string drawn = roofline(timings); !drawn.empty()) page.section("Roofline", drawn);
  page.section("What was timed", table_of(timings, false));
  page.section("What the machine allows", table_of(timings, true));
  page.section("How it was timed",
               report::preformatted(text(how.command, "\n", how.machine, "\n", bench_libraries())));
  page.data(bench_json(timings));
  return page.html();
}

std::string bench_json(std::span<const Timing> timings) {
  Json all = Json::array();
  for (const Timing& t : timings) {
    all.push_back({{"name", t.name},
                   {"what", t.what},
                   {"value", t.value},
                   {"unit", t.unit},
                   {"limit", t.limit},
                   {"limited_by", t.limited_by},
                   {"share", t.share},
                   {"low", t.low},
                   {"high", t.high},
                   {"n", t.n},
                   {"threads", t.threads}});
  }
  return all.dump(1);
}

}  // namespace gnomon::pages
