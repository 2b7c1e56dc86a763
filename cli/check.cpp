#include "gnomon/pages/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

constexpr std::size_t kMostChoices = 5, kMostFaults = 3;

// "0, 1, 5..9" as numbers.
std::vector<double> positions_in(const std::string& list) {
  std::vector<double> all;
  if (list.empty()) return all;
  for (const std::string_view item : split(list, ',')) {
    const std::size_t dots = item.find("..");
    if (dots == item.npos) {
      all.push_back(number(trim(item), "--positions"));
      continue;
    }
    const long long first = integer(trim(item.substr(0, dots)), "--positions"),
                    last = integer(trim(item.substr(dots + 2)), "--positions");
    if (last < first || last - first >= 1 << 24)
      throw Error(Fault::usage, text("--positions: found ", item, "; allowed is FIRST..LAST, such as 0..99"));
    for (long long p = first; p <= last; ++p) all.push_back(double(p));
  }
  return all;
}

std::size_t width_of(std::string_view s) {
  return std::size_t(std::count_if(s.begin(), s.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

// Lines of at most so many characters, broken at spaces.
std::vector<std::string> wrapped(std::string_view words, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(words, ' ')) {
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (width_of(line) + 1 + width_of(word) <= width)
      line += " " + std::string(word);
    else
      lines.push_back(std::string(word));
  }
  return lines;
}

// A paragraph whose first line begins with `head`, the others under its end.
void print_paragraph(const std::string& head, std::string_view words, const std::string& right = "") {
  const std::string first = printable(head);
  const std::size_t indent = width_of(first), end = right.empty() ? 0 : 12;
  const auto lines = wrapped(printable(words), screen_width() - indent - end);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    fmt::print("{}{}", n ? std::string(indent, ' ') : first, lines[n]);
    if (n == 0 && end)
      fmt::print("{}{:>12}", std::string(screen_width() - end - indent - width_of(lines[n]), ' '), right);
    fmt::print("\n");
  }
}

std::string words_of(const HeldHypothesis& h) {
  return h.apart.empty() ? h.spec.print_given()
                         : h.spec.print_given() + (h.faulty ? ", but " : ", where ") + h.apart;
}
std::string error_of(double error) { return fmt::format("{:.2g}", error); }

std::string without_theta(Named spec) {
  std::erase_if(spec.options, [](const auto& option) { return option.first == "theta"; });
  return spec.print_given();
}

void print(const Checked& c) {
  fmt::print("\n");
  print_paragraph(c.looked_at + ": ", c.words);
  if (c.best.spec.name.empty()) return;
  print_paragraph(
      "  ", fmt::format("largest error {}{}, {:.2g} times what rounding explains", error_of(c.best.error),
                        c.unit.empty() ? "" : " " + c.unit, c.best.ratio));
  for (const HeldHypothesis& h : c.also) print_paragraph("  fits as well: ", words_of(h));
  for (const std::string& remark : c.remarks) print_paragraph("  note: ", remark);
  // Of what does not fit the nearest choices that one may make, and the nearest faults.
  std::size_t choices = 0, faults = 0;
  std::map<std::string, int> alike;  // but for the base: two are enough
  for (const HeldHypothesis& h : c.ruled_out) {
    if (h.faulty ? faults == kMostFaults : choices == kMostChoices) continue;
    if (++alike[without_theta(h.spec) + h.apart] > 2) continue;
    if (choices + faults == 0) print_paragraph("  ruled out", " ", "error");
    ++(h.faulty ? faults : choices);
    print_paragraph("    ", words_of(h), error_of(h.error));
  }
}

}  // namespace

int check(const CheckCommand& o) {
  const CheckOptions options{o.spec, o.theta, positions_in(o.positions)};
  const Dump dump = read_dump(o.dump);
  const std::vector<Checked> all = gnomon::check(dump, options);
  if (o.json) {
    fmt::print("{}\n", pages::check_json(dump, all, 1));
  } else {
    fmt::print("{}: {}\n", printable(o.dump), counted(dump.arrays.size(), "array"));
    for (const Checked& c : all) print(c);
    if (!dump.passed_over.empty())
      fmt::print("\n{} ignored: unknown name\n", counted(dump.passed_over.size(), "tensor"));
  }
  return std::all_of(all.begin(), all.end(), [](const Checked& c) { return c.follows; }) ? 0 : 1;
}

}  // namespace gnomon::cli
