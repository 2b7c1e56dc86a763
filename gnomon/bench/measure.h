#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/bench/case.h"

namespace gnomon::bench {

// A case as it was measured: medians of n rounds, and the range of the shares. Work and limit are timed in turns, so that a slow
// moment of the machine meets both.
struct Timing {
  std::string name, what, unit;
  int threads, n;
  double value;             // in `unit`
  double limit;             // what the limit of the same round would allow, in the same unit
  std::string limited_by;   // "float32 multiply"
  double share, low, high;  // of the limit, 1 = all of it: median, least, most
  double intensity = 0;     // operations for each byte that must move; 0: not counted
};

// One round takes a tenth of a second or more: a short call is repeated in it. The first after a limit is not timed. Sets the number of threads of the process.
Timing measure(const BenchCase& one, int n);

// Cases whose name is one of these or begins with one and a dot; none: all. Throws Error(usage) for a name that no case has.
std::vector<BenchCase> chosen(std::vector<BenchCase> all, std::span<const std::string> names);

// The limits themselves as timings with a share of 1.
std::vector<Timing> limits(int threads, int n);

}  // namespace gnomon::bench
