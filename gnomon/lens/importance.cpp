#include "gnomon/lens/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/lens/attention.h"

namespace gnomon {

double RowParts::share(std::int64_t head) const {
  const auto total = [](std::span<const double> row) { return std::accumulate(row.begin(), row.end(), 0.0); };
  const double all = total(whole.row(head));
  return gnomon::share(total(part.row(head)), all, all, "row_parts: the logits of a head");
}

RowParts row_parts(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                   std::int64_t T, const std::function<bool(std::size_t, std::size_t)>& chosen) {
  if (components.empty()) throw Error(Fault::usage, "row_parts: no components");
  const std::int64_t windows = windows_of(components.front(), T, 2, "row_parts"),
                     H = m.model.architecture().attention.heads;
  const std::size_t n = components.size() + 1;
  RowParts out{Matrix(H, windows * T), Matrix(H, windows * T)};
  for (std::int64_t s = 0; s < windows; ++s) {
    std::vector<Matrix> here;
    for (const Matrix& x : components) here.push_back(x.block(s * T, T));
    for (std::int64_t h = 0; h < H; ++h) {
      const auto terms = term_maps(m, layer, here, h);
      Matrix some(T, T), all(T, T);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        all = sum(all, terms[t]);
        if (chosen(t / n, t % n)) some = sum(some, terms[t]);
      }
      const bool causal = m.model.architecture().causal;
      some = row_centred(some, causal), all = row_centred(all, causal);
      for (std::int64_t i = 0; i < T; ++i) {
        const auto a = some.row(i), b = all.row(i);
        out.part.at(h, s * T + i) = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
        out.whole.at(h, s * T + i) = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
      }
    }
  }
  return out;
}

namespace {

// A shuffle of 0 … n − 1; `draw` numbers it.
std::vector<std::int64_t> shuffled(const Random& random, std::uint64_t draw, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t k = n - 1; k > 0; --k)
    std::swap(order[std::size_t(k)],
              order[random.below(draw * std::uint64_t(n) + std::uint64_t(k), std::uint64_t(k + 1))]);
  return order;
}

template <class Of>
Exchanged exchanged(std::int64_t draws, const Of& of) {
  if (draws < 1) throw Error(Fault::usage, text("a chance level needs at least one draw, found ", draws));
  Exchanged out{of(-1), 0};
  for (std::int64_t n = 0; n < draws; ++n) out.by_chance += of(n) / double(draws);
  return out;
}

}  // namespace

Exchanged between_heads(const RowParts& rows, std::int64_t T, std::int64_t draws, std::uint64_t seed) {
  const std::int64_t H = rows.part.rows, windows = windows_of(transpose(rows.part), T, 1, "between_heads");
  const Random random(seed, "exchanged heads");
  return exchanged(draws, [&](std::int64_t draw) {
    std::vector<double> part(std::size_t(H), 0.0), whole(part);
    for (std::int64_t s = 0; s < windows; ++s) {
      auto order = shuffled(random, std::uint64_t(std::max<std::int64_t>(draw, 0) * windows + s), H);
      if (draw < 0) std::iota(order.begin(), order.end(), std::int64_t{0});
      for (std::int64_t h = 0; h < H; ++h) {
        for (std::int64_t i = s * T; i < (s + 1) * T; ++i)
          part[std::size_t(order[std::size_t(h)])] += rows.part.at(h, i),
              whole[std::size_t(order[std::size_t(h)])] += rows.whole.at(h, i);
      }
    }
    double least = INFINITY, most = -INFINITY;
    for (std::size_t h = 0; h < part.size(); ++h) {
      const double here = share(part[h], whole[h], whole[h], "between_heads: the logits of a head");
      least = std::min(least, here), most = std::max(most, here);
    }
    return most - least;
  });
}

Exchanged between_kinds(const RowParts& rows, const std::vector<bool>& kind, std::int64_t T,
                        std::int64_t draws, std::uint64_t seed) {
  const std::int64_t H = rows.part.rows, windows = windows_of(transpose(rows.part), T, 1, "between_kinds");
  const auto ones = std::count(kind.begin(), kind.end(), true);
  if (std::int64_t(kind.size()) != windows * T || ones == 0 || ones == windows * T)
    throw Error(Fault::usage,
                text("between_kinds: found ", ones, " true of ", kind.size(), " queries for ", windows * T,
                     " rows; allowed is one value per row, some true and some false"));
  const Random random(seed, "exchanged queries");
  return exchanged(draws, [&](std::int64_t draw) {
    std::vector<bool> now = kind;
    for (std::int64_t i = 0; draw >= 0 && i < T; ++i) {
      const auto order = shuffled(random, std::uint64_t(draw * T + i), windows);
      for (std::int64_t s = 0; s < windows; ++s)
        now[std::size_t(s * T + i)] = kind[std::size_t(order[std::size_t(s)] * T + i)];
    }
    double apart = 0;
    for (std::int64_t h = 0; h < H; ++h) {
      double part[2] = {0, 0}, whole[2] = {0, 0};
      for (std::size_t n = 0; n < now.size(); ++n)
        part[now[n]] += rows.part.at(h, std::int64_t(n)), whole[now[n]] += rows.whole.at(h, std::int64_t(n));
      const auto of = [&](int k) { return share(part[k], whole[k], whole[k], "between_kinds: the logits"); };
      apart += std::abs(of(1) - of(0)) / double(H);
    }
    return apart;
  });
}

}  // namespace gnomon
