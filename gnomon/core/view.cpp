#include "gnomon/core/view.h"

#include <algorithm>
#include <vector>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// f(index in the dense order, place in memory) for every number.
template <class Body>
void each_number(const std::array<std::int64_t, 4>& extents, const std::array<std::int64_t, 4>& steps,
                 const Body& f) {
  std::int64_t n = 0;
  for (std::int64_t b = 0; b < extents[0]; ++b) {
    for (std::int64_t h = 0; h < extents[1]; ++h) {
      for (std::int64_t t = 0; t < extents[2]; ++t) {
        const std::int64_t row = b * steps[0] + h * steps[1] + t * steps[2];
        for (std::int64_t c = 0; c < extents[3]; ++c) f(n++, row + c * steps[3]);
      }
    }
  }
}

// Sorted by step, every axis has to reach beyond all the numbers of the axes before it.
bool apart_in_memory(const ConstView& x) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return x.steps[a] < x.steps[b]; });
  std::int64_t reach = 0;
  for (const std::size_t axis : order) {
    if (x.extents[axis] <= 1) continue;
    if (x.steps[axis] <= reach) return false;
    reach += (x.extents[axis] - 1) * x.steps[axis];
  }
  return true;
}

// Bytes in memory, from `begin` on.
struct Run {
  std::uintptr_t begin, end;
};
std::int64_t numbers_of(const Occupied& x) {
  return x.data ? x.extents[0] * x.extents[1] * x.extents[2] * x.extents[3] : 0;
}
// All of them, which are some. Unsigned, so that steps that nobody has checked yet do no harm.
Run span_of(const Occupied& x) {
  Run all{reinterpret_cast<std::uintptr_t>(x.data), reinterpret_cast<std::uintptr_t>(x.data)};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const auto reach =
        std::uintptr_t(x.extents[axis] - 1) * std::uintptr_t(x.steps[axis]) * std::uintptr_t(x.bytes);
    (x.steps[axis] < 0 ? all.begin : all.end) += reach;
  }
  all.end += std::uintptr_t(x.bytes);
  return all;
}
// Row by row where channels lie side by side, else number by number; sorted.
std::vector<Run> runs_of(const Occupied& x) {
  Occupied each = x;
  const bool rows = x.steps[3] == 1;
  const auto bytes = std::uintptr_t(rows ? x.bytes * x.extents[3] : x.bytes);
  if (rows) each.extents[3] = 1;
  std::vector<Run> runs;
  each_number(each.extents, each.steps, [&](auto, auto at) {
    const auto begin =
        reinterpret_cast<std::uintptr_t>(x.data) + std::uintptr_t(at) * std::uintptr_t(x.bytes);
    runs.push_back({begin, begin + bytes});
  });
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  return runs;
}
bool meet(const std::vector<Run>& a, const std::vector<Run>& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].begin < b[j].end && b[j].begin < a[i].end) return true;
    a[i].end <= b[j].end ? ++i : ++j;
  }
  return false;
}

std::string shape_of(const std::array<std::int64_t, 4>& e) {
  return text("(", e[0], ",", e[1], ",", e[2], ",", e[3], ")");
}

}  // namespace

void check_view(std::string_view name, const ConstView& x, const std::array<std::int64_t, 4>& extents,
                bool apart) {
  const auto wrong = [&](const std::string& what) { throw Error(Fault::usage, text(name, ": ", what)); };
  if (x.extents != extents)
    wrong(text("found (sequences,heads,tokens,channels) = ", shape_of(x.extents), "; allowed is ",
               shape_of(extents)));
  if (x.number != Number::float32 && x.number != Number::bfloat16 && x.number != Number::float16)
    wrong(text("found number type ", int(x.number), "; allowed are float32, bfloat16 and float16"));
  const std::int64_t numbers = count_numbers(name, extents);
  if (numbers == 0) return;
  if (!x.data) wrong("data is null");
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (x.steps[axis] < 0 || x.steps[axis] > kMostNumbers / extents[axis])
      wrong(text("found a step of ", x.steps[axis], " numbers; allowed are 0 to ",
                 kMostNumbers / extents[axis]));
  }
  if (apart && !apart_in_memory(x)) wrong(text("steps ", shape_of(x.steps), " make numbers overlap"));
}

Occupied occupied(std::string_view name, const ConstView& x) {
  return {name, x.data, x.number == Number::float32 ? 4 : 2, x.extents, x.steps};
}

void check_apart(const Occupied& written, const Occupied& other) {
  if (numbers_of(written) == 0 || numbers_of(other) == 0) return;
  const Run a = span_of(written), b = span_of(other);
  if (a.end <= b.begin || b.end <= a.begin || !meet(runs_of(written), runs_of(other))) return;
  throw Error(Fault::usage,
              text(written.name, " overlaps ", other.name, " in memory; allowed is separate memory"));
}

void widen(const ConstView& from, Floats& to) {
  to.resize(std::size_t(from.extents[0] * from.extents[1] * from.extents[2] * from.extents[3]));
  const auto copy = [&](const auto* data) {
    each_number(from.extents, from.steps, [&](auto n, auto at) { to[n] = float(data[at]); });
  };
  if (from.number == Number::float32) copy(static_cast<const float*>(from.data));
  if (from.number == Number::bfloat16) copy(static_cast<const BFloat16*>(from.data));
  if (from.number == Number::float16) copy(static_cast<const Float16*>(from.data));
}

void narrow(const Floats& from, const View& to) {
  const auto copy = [&](auto* data) {
    using Stored = std::decay_t<decltype(*data)>;
    each_number(to.extents, to.steps, [&](auto n, auto at) { data[at] = Stored(from[n]); });
  };
  if (to.number == Number::float32) copy(static_cast<float*>(to.data));
  if (to.number == Number::bfloat16) copy(static_cast<BFloat16*>(to.data));
  if (to.number == Number::float16) copy(static_cast<Float16*>(to.data));
}

}  // namespace gnomon
