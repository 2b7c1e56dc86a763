// What every encoding costs in attention and how exact it is, as the table of docs/costs.md.
// Usage: bench_encodings > docs/costs.md, or bench_encodings NAME ... for the rows of some
//
// Time: forward and backward of attention with the encoding's maps and terms, medians of n runs in turn
// with `none` in the same run, one thread. Error: largest difference of the fast path (float32) from the definition
// in double at positions p..p+7; the definition's angles are within 1e-9 of long double there (precision_test).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

#include "gnomon/bench/attention_run.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/encodings/encoding.h"

using namespace gnomon;
using bench::AttentionRun;

namespace {

constexpr std::int64_t kHeads = 4, kSize = 64;

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

struct Relative {
  double median, least, most;
};
Relative against_none(const Entry& entry, std::int64_t B, std::int64_t T, int n) {
  const Placement place = Placement::consecutive(0, T);
  AttentionRun one(entry.name, {B, kHeads, kSize}, place), none("none", {B, kHeads, kSize}, place);
  none.run();
  if (seconds([&] { one.run(); }) > 4) n = 1;
  std::vector<double> ratios;
  for (int i = 0; i < n; ++i) {
    none.restore(), one.restore();
    const double plain = seconds([&] { none.run(); });
    ratios.push_back(seconds([&] { one.run(); }) / plain);
  }
  return {median(ratios), *std::min_element(ratios.begin(), ratios.end()),
          *std::max_element(ratios.begin(), ratios.end())};
}

std::string error_at(const Entry& entry, double first) {
  try {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e",
                  AttentionRun(entry.name, {1, kHeads, kSize}, Placement::consecutive(first, 8)).error());
    return text;
  } catch (const Error&) {
    return "no value";
  }
}

// Why an encoding costs more than a tenth of attention (or six tenths, for cross terms).
const char* reason(unsigned acts, const Encoding& e) {
  if (widths(e).far) return "far keys have a product of their own, and tiles on the border have both";
  if (acts & kRows) return "every pair of tokens has more to compute than a sum: a network, a gate, a table";
  if (widths(e).joined) return "q and k of the product are wider than the head";
  if (acts & kCross) return "a second and third product of the size of q*k, and their gradients";
  if (e.reads_content()) return "its gates or terms are made from the content of every layer";
  if (acts & kQk) return "maps of q and k, in rows of their own where their gradient needs them";
  return "its arrays are made anew for every batch";
}

}  // namespace

int main(int argc, char** argv) {
  const int n = 5;
  const std::int64_t longest = 4096;
  const std::vector<std::string> names(argv + 1, argv + argc);
  set_thread_count(1);
  std::printf(
      "# What encodings cost, and how exact they are\n\n"
      "This page is for those who ask what an encoding adds to attention, in time, memory and error. Speed "
      "against PyTorch "
      "and the machine: [speed.md](speed.md). Made by `build/dev/bench/bench_encodings > docs/costs.md` on "
      "two cores of an "
      "AMD EPYC with AVX-512, Debian 12, g++ 12, one thread.\n\n"
      "- **Time**: causal attention, forward and backward, with everything that the encoding does for one "
      "layer, over "
      "attention with `none` in the same run. The model has %d heads of %d channels. A batch is 4 sequences "
      "of 512 tokens, "
      "or 1 of %d. Median of n = %d ratios [least, most]; n = 1 if a run takes more than 4 s.\n"
      "- **Memory**: what the encoding holds beside `none` at T = %d, in MiB. No encoding holds a (T, T) "
      "array.\n"
      "- **Error**: the largest difference of the float32 path from the definition in double, at eight "
      "positions from the "
      "one named. It covers outputs of attention and position vectors. \"No value\": the encoding has none "
      "there.\n\n"
      "| encoding | T = 512 | T = %d | MiB | error at 10^3 | at 10^5 | at 10^6 "
      "|\n|---|---|---|---|---|---|---|\n",
      int(kHeads), int(kSize), int(longest), n, int(longest), int(longest));
  std::string above;
  for (const Entry* entry : encodings()) {
    if (entry->acts & kPositions) continue;
    if (!names.empty() && std::find(names.begin(), names.end(), entry->name) == names.end()) continue;
    const Relative near = against_none(*entry, 4, 512, n), far = against_none(*entry, 1, longest, n);
    AttentionRun held(entry->name, {1, kHeads, kSize}, Placement::consecutive(0, longest));
    held.run();
    std::printf("| %s | %.2f [%.2f, %.2f] | %.2f [%.2f, %.2f] | %.2f | %s | %s | %s |\n",
                std::string(entry->name).c_str(), near.median, near.least, near.most, far.median, far.least,
                far.most, held.extra_megabytes(), error_at(*entry, 1e3).c_str(),
                error_at(*entry, 1e5).c_str(), error_at(*entry, 1e6).c_str());
    std::fflush(stdout);
    const double limit = entry->acts & kCross ? 1.6 : 1.1;
    if (std::max(near.median, far.median) > limit) {
      above += "- " + std::string(entry->name) + ": " + reason(entry->acts, held.encoding()) + ".\n";
    }
  }
  std::printf(
      "\nSamplers (randomised, shape, cape) act before attention and cost nothing in it.\n\n## Above +10 %% "
      "(cross terms: +60 %%)\n\n%s",
      above.c_str());
}
