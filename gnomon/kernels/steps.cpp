#include "gnomon/kernels/steps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/plane.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

// Index into an array over `tokens` tokens for row t of sequence b.
std::int64_t token_of(std::int64_t tokens, const StepRows& rows, std::int64_t b, std::int64_t t) {
  return tokens == 1 ? 0 : tokens == rows.of ? rows.first + t : b * rows.of + rows.first + t;
}
std::int64_t place(const StepRows& rows, std::int64_t b, std::int64_t t, std::int64_t h) {
  return b * rows.at.batch + t * rows.at.token + h * rows.at.head;
}
// f(b, t, h, offset of the row), rows of different tokens at the same time.
template <class Body>
void each_row(const StepRows& rows, const Body& f) {
  parallel_ranges(rows.at.B * rows.at.T, 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      for (std::int64_t h = 0; h < rows.at.H; ++h)
        f(n / rows.at.T, n % rows.at.T, h, place(rows, n / rows.at.T, n % rows.at.T, h));
    }
  });
}

void check_tokens(std::string_view what, std::int64_t tokens, const StepRows& rows) {
  const bool inside = rows.first >= 0 && rows.first + rows.at.T <= rows.of;
  if (tokens != 1 && !inside) {
    throw Error(Fault::usage, text(what, ": tokens ", rows.first, " to ", rows.first + rows.at.T - 1,
                                   " have no place; allowed are 0 to ", rows.of - 1));
  }
  if (tokens == 1 || tokens == rows.of || tokens == rows.at.B * rows.of) return;
  throw Error(Fault::usage, text(what, ": found an array with tokens=", tokens,
                                 "; allowed are 1, T and B·T, for B=", rows.at.B, " and T=", rows.of));
}
void check_heads(std::string_view what, std::int64_t heads, const StepRows& rows) {
  if (heads == 1 || heads == rows.at.H) return;
  throw Error(Fault::usage, text(what, ": found an array with heads=", heads, " for rows with heads=",
                                 rows.at.H, "; a map that differs by head needs as many heads of k as of q"));
}

// --- One overload a step: forward, and backward beside it.

void check(const Rotate& r, const StepRows& rows) {
  check_heads("rotate", r.heads, rows), check_tokens("rotate", r.tokens, rows);
  check_size("rotate", "cos", r.cos.size(), r.heads * r.tokens * r.pairs);
  check_size("rotate", "sin", r.sin.size(), r.heads * r.tokens * r.pairs);
}
// The step, where it is what rotate() does: one table for all heads, of neighbours or halves.
std::optional<Rotation> plain_rotation(const Rotate& r, const StepRows& rows) {
  const bool halves = r.stride == 1 && r.gap == r.pairs, adjacent = r.stride == 2 && r.gap == 1;
  const bool own = rows.at.T == rows.of && r.tokens > 1, shared = r.tokens == rows.of;
  if (!(halves || adjacent) || r.heads != 1 || !(own || shared)) return std::nullopt;
  const std::int64_t from = r.at(0, shared ? rows.first : 0);
  return Rotation{halves ? Pairing::halves : Pairing::adjacent, r.pairs, &r.cos[from], &r.sin[from], !shared};
}
// Sign +1 multiplies by cos + i·sin, −1 by its conjugate.
void turn(const Rotate& r, const StepRows& rows, int sign, float* x) {
  if (const auto plain = plain_rotation(r, rows)) return rotate(*plain, rows.at, sign, x + r.first);
  each_row(rows, [&](auto b, auto t, auto h, auto at) {
    const std::int64_t table = r.at(r.heads > 1 ? h : 0, token_of(r.tokens, rows, b, t));
    const float *cos = &r.cos[table], *sin = &r.sin[table];
    if (r.stride == 1) return rotate_row({r.pairs, r.gap, cos, sin}, sign, x + at + r.first);
    for (std::int64_t n = 0; n < r.pairs; ++n) {
      float *low = x + at + r.low(n), *high = low + r.gap;
      const float a = *low, c = *high, s = float(sign) * sin[n];
      *low = a * cos[n] - c * s, *high = a * s + c * cos[n];
    }
  });
}
int sign_of(Role role) { return role == Role::out ? -1 : +1; }
void run(const Rotate& r, Role role, const StepRows& rows, float* x) {
  check(r, rows);
  turn(r, rows, sign_of(role), x);
}
// The rows that read entry `token` of an array over tokens.
struct Readers {
  std::int64_t b0, b1, t0, t1;
};
Readers readers_of(std::int64_t tokens, const StepRows& rows, std::int64_t token) {
  if (tokens == 1) return {0, rows.at.B, 0, rows.at.T};
  const std::int64_t t = token % rows.of - rows.first, b = token / rows.of;
  if (t < 0 || t >= rows.at.T) return {0, 0, 0, 0};
  return tokens == rows.of ? Readers{0, rows.at.B, t, t + 1} : Readers{b, b + 1, t, t + 1};
}
// An array over heads and tokens.
struct Table {
  std::int64_t heads, tokens;
};
// f(offset of the row) for every row that reads this entry of the table, in order.
template <class Body>
void each_reader(const Table& table, const StepRows& rows, std::int64_t entry, const Body& f) {
  const Readers at = readers_of(table.tokens, rows, entry % table.tokens);
  const std::int64_t head = entry / table.tokens;
  for (std::int64_t b = at.b0; b < at.b1; ++b) {
    for (std::int64_t t = at.t0; t < at.t1; ++t) {
      for (std::int64_t h = table.heads > 1 ? head : 0; h < (table.heads > 1 ? head + 1 : rows.at.H); ++h)
        f(place(rows, b, t, h));
    }
  }
}
// Sums of the gradients of cos and sin over rows: a few of them in float32, then in double.
class TableSums {
 public:
  explicit TableSums(const Rotate& r) : r_(r), some_(2 * r.pairs), all_(some_.size()) {}
  void add(int sign, const float* x, const float* dy) {
    float *dcos = some_.data(), *dsin = dcos + r_.pairs;
    if (r_.stride == 1) {
      rotate_row_backward({r_.pairs, r_.gap, dcos, dsin}, sign, x + r_.first, dy + r_.first);
    } else {
      for (std::int64_t n = 0; n < r_.pairs; ++n) {
        const std::int64_t low = r_.low(n), high = low + r_.gap;
        dcos[n] += x[low] * dy[low] + x[high] * dy[high];
        dsin[n] += float(sign) * (x[low] * dy[high] - x[high] * dy[low]);
      }
    }
    if (++rows_ == kRowsAtOnce) flush();
  }
  void flush() {
    for (std::size_t n = 0; n < all_.size(); ++n) all_[n] += some_[n];
    clear();
  }
  double dcos(std::int64_t n) const { return all_[std::size_t(n)]; }
  double dsin(std::int64_t n) const { return all_[std::size_t(r_.pairs + n)]; }

 private:
  static constexpr int kRowsAtOnce = 32;
  void clear() { std::fill(some_.begin(), some_.end(), 0.0f), rows_ = 0; }
  const Rotate& r_;
  Floats some_;
  std::vector<double> all_;
  int rows_ = 0;
};
// y = z·x: dz = dy·conj(x).
void table_backward(const Rotate& r, int sign, const StepRows& rows, const float* before, const float* dy,
                    Rotate& grad) {
  parallel_for(r.heads * r.tokens, [&](std::int64_t entry) {
    TableSums sums(r);
    each_reader({r.heads, r.tokens}, rows, entry,
                [&](std::int64_t at) { sums.add(sign, before + at, dy + at); });
    sums.flush();
    for (std::int64_t n = 0; n < r.pairs; ++n) {
      grad.cos[entry * r.pairs + n] += float(sums.dcos(n));
      grad.sin[entry * r.pairs + n] += float(sums.dsin(n));
    }
  });
}
// The same of the angle: dφ = y × dy. In double, because it is later multiplied by positions.
void angle_backward(const Rotate& r, int sign, const StepRows& rows, const float* before, const float* dy,
                    Rotate& grad) {
  parallel_for(r.heads * r.tokens, [&](std::int64_t entry) {
    std::vector<double> dphi(std::size_t(r.pairs));
    each_reader({r.heads, r.tokens}, rows, entry, [&](std::int64_t at) {
      for (std::int64_t n = 0; n < r.pairs; ++n) {
        const std::int64_t low = at + r.low(n), high = low + r.gap;
        const double a = before[low], c = before[high], da = dy[low], dc = dy[high];
        const double phi = sign * r.angles[std::size_t(entry * r.pairs + n)];
        dphi[std::size_t(n)] +=
            sign * (std::cos(phi) * (a * dc - c * da) - std::sin(phi) * (a * da + c * dc));
      }
    });
    for (std::int64_t n = 0; n < r.pairs; ++n) grad.cos[entry * r.pairs + n] += float(dphi[std::size_t(n)]);
  });
}
void run_backward(const Rotate& r, Role role, const StepRows& rows, const float* before, float* dx,
                  Rotate& grad) {
  if (!grad.cos.empty()) {
    (r.angles.empty() ? table_backward : angle_backward)(r, sign_of(role), rows, before, dx, grad);
  }
  turn(r, rows, -sign_of(role), dx);
}

Table table_of(const Scale& s, const StepRows& rows) {
  check_heads("scale", s.heads, rows);
  const Table table{s.heads, std::int64_t(s.factor.size()) / s.heads};
  check_size("scale", "factor", s.factor.size(), table.heads * table.tokens);
  check_tokens("scale", table.tokens, rows);
  return table;
}
void run(const Scale& s, Role, const StepRows& rows, float* x) {
  const Table table = table_of(s, rows);
  each_row(rows, [&](auto b, auto t, auto h, auto at) {
    const float f = s.factor[(table.heads > 1 ? h * table.tokens : 0) + token_of(table.tokens, rows, b, t)];
    for (std::int64_t d = 0; d < s.width; ++d) x[at + d] *= f;
  });
}
void run_backward(const Scale& s, Role role, const StepRows& rows, const float* before, float* dx,
                  Scale& grad) {
  const Table table = table_of(s, rows);
  parallel_for(std::int64_t(grad.factor.size()), [&](std::int64_t entry) {
    double sum = 0;
    each_reader(table, rows, entry, [&](std::int64_t at) {
      for (std::int64_t d = 0; d < s.width; ++d) sum += double(before[at + d]) * double(dx[at + d]);
    });
    grad.factor[entry] += float(sum);
  });
  run(s, role, rows, dx);
}

void run(const Softplus& s, Role, const StepRows& rows, float* x) {
  each_row(rows, [&](auto, auto, auto, auto at) { softplus(s.width, x + at); });
}
void run_backward(const Softplus& s, Role, const StepRows& rows, const float* before, float* dx, Softplus&) {
  each_row(rows, [&](auto, auto, auto, auto at) { softplus_backward(s.width, before + at, dx + at); });
}

// The plane of each head.
std::vector<Plane> planes_of(const TurnPlane& p, const StepRows& rows) {
  check_heads("turn of a plane", std::int64_t(p.a.size()) / p.width, rows);
  check_size("turn of a plane", "a", p.a.size(), rows.at.H * p.width);
  check_size("turn of a plane", "b", p.b.size(), rows.at.H * p.width);
  check_tokens("turn of a plane", std::int64_t(p.places.size()), rows);
  std::vector<Plane> planes;
  for (std::int64_t h = 0; h < rows.at.H; ++h)
    planes.emplace_back(&p.a[h * p.width], &p.b[h * p.width], p.width);
  return planes;
}
void run(const TurnPlane& p, Role role, const StepRows& rows, float* x) {
  const auto planes = planes_of(p, rows);
  each_row(rows, [&](auto b, auto t, auto h, auto at) {
    planes[h].turn(sign_of(role) * p.places[token_of(std::int64_t(p.places.size()), rows, b, t)], x + at);
  });
}
void run_backward(const TurnPlane& p, Role role, const StepRows& rows, const float* before, float* dx,
                  TurnPlane& grad) {
  const auto planes = planes_of(p, rows);
  parallel_for(rows.at.H, [&](std::int64_t h) {
    std::vector<double> da(std::size_t(p.width)), db(da.size());
    for (std::int64_t n = 0; n < rows.at.B * rows.at.T; ++n) {
      const std::int64_t b = n / rows.at.T, t = n % rows.at.T, at = place(rows, b, t, h);
      planes[h].backward(sign_of(role) * p.places[token_of(std::int64_t(p.places.size()), rows, b, t)],
                         before + at, dx + at, da, db);
    }
    for (std::int64_t d = 0; !grad.a.empty() && d < p.width; ++d)
      grad.a[h * p.width + d] += float(da[d]), grad.b[h * p.width + d] += float(db[d]);
  });
}

void check(const MultiplyBlocks& m, const StepRows& rows) {
  check_heads("multiply", m.heads, rows), check_tokens("multiply", m.tokens, rows);
  check_size("multiply", "matrices", m.matrices.size(), m.heads * m.tokens * m.width() * m.size);
}
// x → M·x, or Mᵀ·x, in each block of a row; sums in double, rounded once. `sums` has room for a block.
void multiply_row(const MultiplyBlocks& m, bool transposed, const float* matrices, float* x,
                  std::vector<double>& sums) {
  for (std::int64_t n = 0; n < m.blocks; ++n, x += m.size) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t r = 0; r < m.size; ++r, matrices += m.size) {
      double sum = 0;
      for (std::int64_t c = 0; c < m.size; ++c) {
        if (transposed) {
          sums[std::size_t(c)] += double(x[r]) * double(matrices[c]);
        } else {
          sum += double(matrices[c]) * double(x[c]);
        }
      }
      if (!transposed) sums[std::size_t(r)] = sum;
    }
    for (std::int64_t c = 0; c < m.size; ++c) x[c] = float(sums[std::size_t(c)]);
  }
}
void multiply(const MultiplyBlocks& m, bool transposed, const StepRows& rows, float* x) {
  parallel_ranges(rows.at.B * rows.at.T, 16, [&](auto begin, auto end) {
    std::vector<double> sums(static_cast<std::size_t>(m.size));
    for (auto n = begin; n < end; ++n) {
      const std::int64_t b = n / rows.at.T, t = n % rows.at.T, token = token_of(m.tokens, rows, b, t);
      for (std::int64_t h = 0; h < rows.at.H; ++h)
        multiply_row(m, transposed, &m.matrices[m.at(m.heads > 1 ? h : 0, token)], x + place(rows, b, t, h),
                     sums);
    }
  });
}
void run(const MultiplyBlocks& m, Role role, const StepRows& rows, float* x) {
  check(m, rows);
  multiply(m, role == Role::out, rows, x);
}
// y = M·x: dM = dy·xᵀ; of y = Mᵀ·x, dM = x·dyᵀ.
void run_backward(const MultiplyBlocks& m, Role role, const StepRows& rows, const float* before, float* dx,
                  MultiplyBlocks& grad) {
  check(m, rows);
  const bool transposed = role == Role::out;
  parallel_for(grad.matrices.empty() ? 0 : m.heads * m.tokens, [&](std::int64_t entry) {
    std::vector<double> sums(std::size_t(m.width() * m.size));
    each_reader({m.heads, m.tokens}, rows, entry, [&](std::int64_t at) {
      const float *left = (transposed ? before : dx) + at, *right = (transposed ? dx : before) + at;
      for (std::int64_t n = 0; n < m.width(); ++n) {
        const float* block = right + n / m.size * m.size;
        for (std::int64_t c = 0; c < m.size; ++c)
          sums[std::size_t(n * m.size + c)] += double(left[n]) * double(block[c]);
      }
    });
    for (std::size_t n = 0; n < sums.size(); ++n)
      grad.matrices[std::size_t(entry) * sums.size() + n] += float(sums[n]);
  });
  multiply(m, !transposed, rows, dx);
}

std::int64_t tokens_of(const Widen& w, const StepRows& rows) {
  if (w.heads != rows.at.H) check_heads("widen", w.heads, rows);
  const std::int64_t wide = std::max<std::int64_t>(rows.at.H * w.width, 1);
  const std::int64_t tokens = std::int64_t(w.columns.size()) / wide;
  check_size("widen", "columns", w.columns.size(), tokens * rows.at.H * w.width);
  check_tokens("widen", tokens, rows);
  return tokens;
}
void run(const Widen& w, Role, const StepRows& rows, float* x) {
  const std::int64_t tokens = tokens_of(w, rows);
  each_row(rows, [&](auto b, auto t, auto h, auto at) {
    std::copy_n(&w.columns[(token_of(tokens, rows, b, t) * rows.at.H + h) * w.width], w.width,
                x + at + w.first);
  });
}
void run_backward(const Widen& w, Role, const StepRows& rows, const float*, float* dx, Widen& grad) {
  if (grad.columns.empty()) return;
  const std::int64_t tokens = tokens_of(w, rows);
  parallel_for(rows.at.H, [&](std::int64_t h) {  // sequences may share a column: in order
    for (std::int64_t n = 0; n < rows.at.B * rows.at.T; ++n) {
      const std::int64_t b = n / rows.at.T, t = n % rows.at.T;
      const float* d = dx + place(rows, b, t, h) + w.first;
      float* to = &grad.columns[(token_of(tokens, rows, b, t) * rows.at.H + h) * w.width];
      for (std::int64_t c = 0; c < w.width; ++c) to[c] += d[c];
    }
  });
}

void run(const Repeat& r, Role, const StepRows& rows, float* x) {
  each_row(rows, [&](auto, auto, auto, auto at) { std::copy_n(x + at, r.width, x + at + r.to); });
}
void run_backward(const Repeat& r, Role, const StepRows& rows, const float*, float* dx, Repeat&) {
  each_row(rows, [&](auto, auto, auto, auto at) {
    for (std::int64_t d = 0; d < r.width; ++d) dx[at + d] += dx[at + r.to + d];
  });
}

}  // namespace

bool Step::needs_input() const {
  return std::holds_alternative<Softplus>(what) ||
         (learns &&
          (std::holds_alternative<Rotate>(what) || std::holds_alternative<Scale>(what) ||
           std::holds_alternative<TurnPlane>(what) || std::holds_alternative<MultiplyBlocks>(what)));
}

namespace {

// f(array) for the arrays of a step that may have gradients.
template <class Any, class Body>
void each_array(Any& step, const Body& f) {
  if (auto* r = std::get_if<Rotate>(&step.what)) f(r->cos), f(r->sin);
  if (auto* s = std::get_if<Scale>(&step.what)) f(s->factor);
  if (auto* p = std::get_if<TurnPlane>(&step.what)) f(p->a), f(p->b);
  if (auto* m = std::get_if<MultiplyBlocks>(&step.what)) f(m->matrices);
  if (auto* w = std::get_if<Widen>(&step.what)) f(w->columns);
}

// The same step, with empty arrays.
Rotate without_numbers(const Rotate& r) {
  return {r.first, r.pairs, r.stride, r.gap, r.heads, r.tokens, {}, {}};
}
Scale without_numbers(const Scale& s) { return {s.width, {}, s.heads}; }
TurnPlane without_numbers(const TurnPlane& p) { return {p.width, {}, {}, {}}; }
MultiplyBlocks without_numbers(const MultiplyBlocks& m) { return {m.size, m.blocks, m.heads, m.tokens, {}}; }
Widen without_numbers(const Widen& w) { return {w.first, w.width, w.heads, {}}; }
Softplus without_numbers(const Softplus& s) { return s; }
Repeat without_numbers(const Repeat& r) { return r; }

}  // namespace

std::size_t Step::numbers() const {
  std::size_t sum = 0;
  each_array(*this, [&](const Floats& array) { sum += array.size(); });
  return sum;
}
Step Step::zeros() const {
  Step z{roles, std::visit([](const auto& step) -> decltype(what) { return without_numbers(step); }, what),
         learns};
  if (!learns) return z;
  std::vector<std::size_t> sizes;
  each_array(*this, [&](const Floats& array) { sizes.push_back(array.size()); });
  std::size_t n = 0;
  each_array(z, [&](Floats& array) { array.assign(sizes[n++], 0.0f); });
  return z;
}
void add(const Step& part, Step& sum) {
  std::vector<const Floats*> from;
  each_array(part, [&](const Floats& array) { from.push_back(&array); });
  std::size_t n = 0;
  each_array(sum, [&](Floats& array) {
    for (std::size_t i = 0; i < array.size(); ++i) array[i] += (*from[n])[i];
    ++n;
  });
}

namespace {

std::string names_of(unsigned roles) {
  std::string all;
  for (const auto& [role, name] :
       {std::pair{Role::q, "q"}, {Role::k, "k"}, {Role::v, "v"}, {Role::out, "out"}}) {
    if (roles & unsigned(role)) all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return all;
}
void check_role(const Step& step, Role role) {
  if (step.acts_on(role)) return;
  throw Error(Fault::usage, text("a step acts on rows of ", names_of(step.roles), "; found rows of ",
                                 names_of(unsigned(role)), "; map_rows() selects the steps for them"));
}

}  // namespace

void apply(const Step& step, Role role, const StepRows& rows, float* x) {
  check_role(step, role);
  std::visit([&](const auto& what) { run(what, role, rows, x); }, step.what);
}
template <class Stored>
bool rotate_stored(const Step& step, Role role, const StepRows& rows, Direction direction, Stored* x) {
  check_role(step, role);
  const auto* r = std::get_if<Rotate>(&step.what);
  if (!r || step.learns) return false;
  check(*r, rows);
  const auto plain = plain_rotation(*r, rows);
  if (plain)
    rotate(*plain, rows.at, direction == Direction::forward ? sign_of(role) : -sign_of(role), x + r->first);
  return plain.has_value();
}
template bool rotate_stored(const Step&, Role, const StepRows&, Direction, BFloat16*);
template bool rotate_stored(const Step&, Role, const StepRows&, Direction, Float16*);
void apply_backward(const Step& step, Role role, const StepRows& rows, const float* before, float* dx,
                    Step& grad) {
  check_role(step, role);
  std::visit(
      [&](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        run_backward(what, role, rows, before, dx, std::get<What>(grad.what));
      },
      step.what);
}

}  // namespace gnomon
