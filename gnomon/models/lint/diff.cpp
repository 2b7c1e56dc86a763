// A unified diff of two texts, by their longest common lines.
#include <algorithm>
#include <string_view>
#include <vector>

#include "gnomon/core/text.h"
#include "gnomon/models/lint/fix.h"

namespace gnomon {
namespace {

using Lines = std::vector<std::string_view>;

// With their ends; the last one may have none.
Lines lines_of(std::string_view text) {
  Lines all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    all.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return all;
}

struct Line {
  char mark;  // ' ', '-' or '+'
  std::string_view text;
};

constexpr std::size_t kMostCells = 4'000'000;  // of the table of common lines

// What lies between the first and the last line that differ.
void middle(std::span<const std::string_view> a, std::span<const std::string_view> b,
            std::vector<Line>& out) {
  if ((a.size() + 1) * (b.size() + 1) > kMostCells) {
    for (const std::string_view line : a) out.push_back({'-', line});
    for (const std::string_view line : b) out.push_back({'+', line});
    return;
  }
  const std::size_t wide = b.size() + 1;
  std::vector<std::uint32_t> common((a.size() + 1) * wide);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i * wide + j] = a[i] == b[j] ? common[(i + 1) * wide + j + 1] + 1
                                          : std::max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back({' ', a[i++]}), ++j;
    } else if (j == b.size() || (i < a.size() && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
}

std::vector<Line> edits(const Lines& a, const Lines& b) {
  const std::size_t least = std::min(a.size(), b.size());
  std::size_t head = 0, tail = 0;
  while (head < least && a[head] == b[head]) ++head;
  while (tail < least - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  std::vector<Line> all;
  for (std::size_t n = 0; n < head; ++n) all.push_back({' ', a[n]});
  middle(std::span(a).subspan(head, a.size() - head - tail),
         std::span(b).subspan(head, b.size() - head - tail), all);
  for (std::size_t n = a.size() - tail; n < a.size(); ++n) all.push_back({' ', a[n]});
  return all;
}

constexpr std::size_t kAround = 3;

// One hunk: the edits from `begin` to before `end`, of which `a` and `b` lines came before.
std::string hunk(std::span<const Line> lines, std::size_t a, std::size_t b) {
  std::size_t of_a = 0, of_b = 0;
  std::string body;
  for (const Line& line : lines) {
    of_a += line.mark != '+', of_b += line.mark != '-';
    body += line.mark, body += line.text;
    if (!line.text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return text("@@ -", of_a ? a + 1 : a, ",", of_a, " +", of_b ? b + 1 : b, ",", of_b, " @@\n", body);
}

}  // namespace

std::string unified_diff(const std::string& name, const std::string& before, const std::string& after) {
  if (before == after) return {};
  const Lines left = lines_of(before), right = lines_of(after);
  const std::vector<Line> all = edits(left, right);
  std::string out = text("--- ", name, "\n+++ ", name, "\n");
  std::size_t a = 0, b = 0, done = 0;
  const auto step = [&](std::size_t to) {
    for (; done < to; ++done) a += all[done].mark != '+', b += all[done].mark != '-';
  };
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (n < done || all[n].mark == ' ') continue;
    step(std::max(done, n - std::min(n, kAround)));
    std::size_t last = n;
    for (std::size_t m = n; m < all.size() && m <= last + 2 * kAround; ++m)
      if (all[m].mark != ' ') last = m;
    const std::size_t end = std::min(all.size(), last + kAround + 1);
    out += hunk(std::span(all).subspan(done, end - done), a, b);
    step(end);
  }
  return out;
}

}  // namespace gnomon
