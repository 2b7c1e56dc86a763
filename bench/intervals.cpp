// How often intervals of 95 % hold, and how often tests at 5 % err, in per cent, where the truth is known, as tables. Takes some
// minutes.
// Usage: bench_intervals
#include <array>
#include <cstdio>
#include <utility>

#include "tests/study/simulated.h"

using namespace gnomon;

namespace {

// Standard error at 95 %: 0.11 points. A fifth of them for shares and families.
constexpr int kSimulations = 40000;

Estimate at_level(Estimate e, double level) {
  e.half_width = half_width(e, level);
  return e;
}

// What the rule of crossed_interval covers, at three levels, and what each of its three intervals would by itself.
void crossed_intervals() {
  std::printf(
      "| skewness of blocks | effects | seeds | blocks | the rule | at 90 %% | at 99 %% | seeds alone | "
      "blocks alone | both |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const int skewness : {0, 1, 2}) {
    for (const Design& d : designs(skewness)) {
      if (skewness && d.blocks < 1) continue;
      Draws draws("crossed table");
      std::array<int, 6> covered{};
      for (int i = 0; i < kSimulations; ++i) {
        const Estimate e = simulated(d, draws);
        const std::array<bool, 6> now{holds(e, 0),
                                      holds(at_level(e, 0.9), 0),
                                      holds(at_level(e, 0.99), 0),
                                      holds(e, e.spreads[0]),
                                      holds(e, e.spreads[1]),
                                      holds(e, e.spreads[2])};
        for (std::size_t k = 0; k < now.size(); ++k) covered[k] += now[k];
      }
      std::printf("| %d | %s | %d | %d |", skewness, d.name, int(d.n), int(d.B));
      for (const int count : covered) std::printf(" %.1f |", 100.0 * count / kSimulations);
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

void paired_intervals() {
  std::printf("\n| paired t: skewness of the differences | seeds | coverage |\n|---|---|---|\n");
  for (const int skewness : {0, 1, 2}) {
    for (const int n : {3, 5, 8}) {
      Draws draws("paired table");
      const double covered = share_of(kSimulations, [&] {
        Numbers d(n);
        for (double& x : d) x = draws.effect(skewness);
        return holds(mean_interval(d), 0);
      });
      std::printf("| %d | %d | %.1f |\n", skewness, n, 100 * covered);
    }
  }
}

void shares() {
  std::printf("\n| cases | Wilson, mean over shares | least | Wald, mean |\n|---|---|---|---|\n");
  for (const std::int64_t n : {5, 8, 20, 100, 1000}) {
    const WilsonCoverage w = wilson_coverage(n);
    std::printf("| %d | %.1f | %.1f | %.1f |\n", int(n), 100 * w.mean, 100 * w.least, 100 * w.wald);
  }
  std::printf(
      "\n| shares over seeds: cases of each | seeds | share | deviation of logits | coverage "
      "|\n|---|---|---|---|---|\n");
  for (const std::int64_t n : {20, 200}) {
    for (const ShareDesign& d : share_designs(n)) {
      Draws draws("share table");
      const double covered = share_of(kSimulations / 5, [&] {
        const ShareInterval s = simulated(d, draws);
        return s.low <= d.middle && d.middle <= s.high;
      });
      std::printf("| %d | %d | %g | %g | %.1f |\n", int(n), int(d.seeds), d.middle, d.deviation,
                  100 * covered);
    }
  }
}

void errors_of_tests() {
  std::printf(
      "\n| equivalence of a difference that is the margin: deviation, in margins | seeds | error "
      "|\n|---|---|---|\n");
  Draws draws("equivalence table");
  for (const double deviation : {0.1, 0.5, 1.0, 2.0}) {
    for (const int n : {3, 5, 8}) {
      std::printf("| %g | %d | %.1f |\n", deviation, n, 100 * equivalence_error(n, deviation, draws));
    }
  }
  std::printf(
      "\n| family of arms to one baseline, 5 seeds, margin 4 | unadjusted | Holm | decisions: differences | "
      "equivalences "
      "| widened intervals |\n|---|---|---|---|---|---|\n");
  const std::pair<const char*, Numbers> families[] = {
      {"6 of no difference", Numbers(6, 0.0)},
      {"12 of no difference", Numbers(12, 0.0)},
      {"3 of none, 3 of the margin", {0, 0, 0, 4, -4, 4}},
      {"1 of none, 5 of more than the margin", {0, 5, 5, 5, 5, 5}}};
  for (const auto& [name, truths] : families) {
    const FamilyErrors e = family_errors(truths, 5, 4, kSimulations / 5);
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", name, 100 * e.unadjusted, 100 * e.holm,
                100 * e.differences, 100 * e.equivalences, 100 * e.intervals);
  }
}

}  // namespace

int main() {
  crossed_intervals();
  paired_intervals();
  shares();
  errors_of_tests();
}
