// How often intervals of 95 % hold, and how often tests at 5 % err, in per cent, where the truth is known, as tables. Takes some
// minutes.
// Usage: bench_intervals
#include <array>
#include <cstdio>
#include <utility>

#include "tests/unit/simulated.h"

using namespace gnomon;

namespace {

constexpr int kSimulations =
    100000;  // standard error at 95 %: 0.07 points; a fifth of them for shares and families

// What the rule of crossed_interval covers, and what others would: one side alone, or Satterthwaite's degrees of freedom for
// the variance of both.
void crossed_intervals() {
  std::printf(
      "| skewness of blocks | effects | seeds | blocks | the rule | seeds alone | blocks alone | "
      "Satterthwaite |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const int skewness : {0, 1, 2}) {
    for (const Design& d : designs(skewness)) {
      if (skewness && d.blocks < 1) continue;
      Draws draws("crossed table");
      double seeds = 0, blocks = 0, satterthwaite = 0;
      const double rule = share_of(kSimulations, [&] {
        const Estimate e = simulated(d, draws);
        const auto [s, b, both] = std::array{e.spreads[0], e.spreads[1], e.spreads[2]};
        const double of_s = s.error * s.error, of_b = b.error * b.error,
                     all = std::max({of_s, of_b, both.error * both.error}), rest = of_s + of_b - all;
        const double freedom =
            all * all / (of_s * of_s / s.freedom + of_b * of_b / b.freedom + rest * rest / both.freedom);
        seeds += holds(e, s), blocks += holds(e, b);
        satterthwaite += holds(e, {std::sqrt(all), std::max(1.0, freedom)});
        return holds(e, 0);
      });
      std::printf("| %d | %s | %d | %d | %.1f | %.1f | %.1f | %.1f |\n", skewness, d.name, int(d.n), int(d.B),
                  100 * rule, 100 * seeds / kSimulations, 100 * blocks / kSimulations,
                  100 * satterthwaite / kSimulations);
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
