#include "gnomon/pages/suite_scaling.h"

#include <cmath>
#include <map>

#include "gnomon/core/text.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using Cell = report::Table::Cell;

std::string million(double n) { return text(fixed(n / 1e6, n < 1e6 ? 2 : 1), " M"); }
std::string megabytes(double n) { return text(fixed(n / 1e6, n < 1e7 ? 2 : 1), " MB"); }
Cell cell(const Estimate& e) { return {signed_interval(e), e.mean, true}; }

// Tokens a parameter, to the nearest power of two.
long ratio_of(const Reached& p) { return std::lround(std::log2(p.tokens / p.parameters)); }

// One picture for each number of tokens a parameter: the differences over the sizes.
std::string pictures(const Scaling& s) {
  std::map<long, report::LineChart> charts;
  for (std::size_t a = 0; a < s.arms.size(); ++a) {
    std::map<long, report::Series> lines;
    for (const Reached& p : s.arms[a].differences) {
      report::LineChart& chart = charts[ratio_of(p)];
      chart.title = text("After about ", std::lround(p.tokens / p.parameters), " bytes a parameter");
      lines[ratio_of(p)].points.emplace_back(p.parameters, p.mean());
    }
    for (auto& [ratio, line] : lines) {
      line.name = s.arms[a].arm, line.style = int(a), line.markers = true;
      charts[ratio].series.push_back(line);
    }
  }
  std::string html;
  for (auto& [ratio, chart] : charts) {
    chart.x = {.label = "parameters", .logarithmic = true};
    chart.y = {.label = text("nats per byte, less ", s.baseline), .of_most = true};
    html += report::draw(chart);
  }
  return html;
}

// A row an arm, a column a size and budget of the baseline.
std::string differences(const Scaling& s) {
  report::Table t;
  t.head = {"arm"};
  std::vector<std::pair<double, double>> columns;
  for (const ScaledArm& a : s.arms) {
    for (const Reached& p : a.differences) {
      if (std::find(columns.begin(), columns.end(), std::pair(p.parameters, p.tokens)) == columns.end())
        columns.emplace_back(p.parameters, p.tokens);
    }
  }
  std::sort(columns.begin(), columns.end());
  for (const auto& [n, d] : columns) t.head.push_back(text(million(n), ", ", megabytes(d)));
  for (const ScaledArm& a : s.arms) {
    if (a.differences.empty()) continue;
    std::vector<Cell> row{{a.arm}};
    for (const auto& column : columns) {
      Cell found{"–", 0, true};
      for (std::size_t n = 0; n < a.differences.size(); ++n) {
        const Reached& p = a.differences[n];
        if (std::pair(p.parameters, p.tokens) == column) found = cell(a.intervals[n]);
      }
      row.push_back(found);
    }
    t.rows.push_back(std::move(row));
  }
  return report::draw(t);
}

std::string slopes_table(const Scaling& s) {
  report::Table t{{"arm", "with ten times the parameters", "with ten times the computing"}, {}};
  for (const ScaledArm& a : s.arms) {
    if (a.slopes) t.rows.push_back({{a.arm}, cell(a.slopes->size), cell(a.slopes->compute)});
  }
  return t.rows.empty() ? "" : report::draw(t);
}

std::string laws_table(const Scaling& s) {
  report::Table t{{"arm", "E", "A", "a", "B", "b", "points"}, {}};
  const auto number = [](double x, int digits) { return Cell{fixed(x, digits), x, true}; };
  for (const ScaledArm& a : s.arms) {
    if (!a.law) continue;
    const ScalingLaw& l = *a.law;
    t.rows.push_back({{a.arm},
                      number(l.floor, 3),
                      number(l.of_size, 2),
                      number(l.size_exponent, 3),
                      number(l.of_data, 1),
                      number(l.data_exponent, 3),
                      number(double(a.reached.size()), 0)});
  }
  return t.rows.empty() ? "" : report::draw(t);
}

Cell found_cell(const Foretold* f, bool difference) {
  if (!f || !f->found) return {"–", 0, true};
  return {difference ? signed_interval(*f->found) : interval_text(*f->found, kLossDigits), f->found->mean,
          true};
}
std::string foretold_table(const Scaling& s) {
  report::Table t{{"arm", "after", "loss foretold", "found", "difference foretold", "found", "inside"}, {}};
  for (const ScaledArm& a : s.arms) {
    for (std::size_t n = 0; n < a.losses.size(); ++n) {
      const Foretold &loss = a.losses[n], *lead = n < a.leads.size() ? &a.leads[n] : nullptr;
      const auto inside = [](const Foretold* f) { return !f || !f->found ? "–" : f->held() ? "yes" : "no"; };
      t.rows.push_back({{a.arm},
                        {megabytes(loss.tokens), loss.tokens, true},
                        {interval_text(loss.expected, kLossDigits), loss.expected.mean, true},
                        found_cell(&loss, false),
                        lead ? cell(lead->expected) : Cell{"baseline"},
                        found_cell(lead, true),
                        {text(inside(&loss), lead ? text(", ", inside(lead)) : "")}});
    }
  }
  return t.rows.empty() ? "" : report::draw(t);
}

// "rope (−0.021 ± 0.008)" of those whose slope with size lies on this side of 0.
std::string clear_slopes(const Scaling& s, int sign) {
  std::string all;
  for (const ScaledArm& a : s.arms) {
    if (!a.slopes || sign * a.slopes->size.mean <= a.slopes->size.half_width) continue;
    all += text(all.empty() ? "" : ", ", a.arm, " (", signed_interval(a.slopes->size), ")");
  }
  return all;
}

}  // namespace

std::vector<std::string> scaling_answers(const Scaling& s) {
  std::vector<std::string> all;
  for (const auto& [sign, words] : {std::pair{-1, "gains on"}, std::pair{1, "loses to"}}) {
    if (const std::string arms = clear_slopes(s, sign); !arms.empty())
      all.push_back(text("With size, at equal bytes a parameter, each of these ", words, " ", s.baseline,
                         ", in nats per byte for ten times the parameters: ", arms, "."));
  }
  const Scaling::Count losses = s.losses(), leads = s.leads();
  if (losses.of)
    all.push_back(text("The smaller sizes foretold ", losses.of, " losses of ", s.largest, ", of which ",
                       losses.held, " came out inside their 95 % intervals, and ", leads.of,
                       " differences, of which ", leads.held, " did."));
  return all;
}

std::string scaling_html(const Scaling& s) {
  std::string html = pictures(s) + "<h3>Differences to " + report::escape(s.baseline) + "</h3>\n" +
                     differences(s) +
                     report::paragraph(
                         "In nats per byte, ± a 95 % interval over seeds and text, each by itself. Columns: "
                         "parameters of the baseline, and "
                         "text that training has read.");
  if (const std::string table = slopes_table(s); !table.empty())
    html += "<h3>How a difference changes</h3>\n" + table +
            report::paragraph(
                "Nats per byte. The first at equal bytes a parameter, the second over all points. A straight "
                "line for each "
                "seed, then Student's t over seeds.");
  if (const std::string table = laws_table(s); !table.empty())
    html +=
        "<h3>Laws</h3>\n" + table +
        report::paragraph(
            "loss = E + A·N^−a + B·D^−b, of N parameters and D bytes (Hoffmann et al. 2022, equation 2).");
  if (const std::string table = foretold_table(s); !table.empty())
    html += text("<h3>Foretold of ", report::escape(s.largest), "</h3>\n") + table +
            report::paragraph(
                "By laws through the smaller sizes alone. An interval has three parts: other seeds, what the "
                "law misses, and "
                "the deviation of the new seeds. Inside: the loss, then the difference.");
  return html;
}

}  // namespace gnomon::pages
