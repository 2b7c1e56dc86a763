// The network that mixes the scores of all heads at each pair of tokens: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_MIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_MIX_INL_H_
#undef GNOMON_KERNELS_ATTEND_MIX_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_MIX_INL_H_
#endif
#include <vector>

#include "gnomon/kernels/attend_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// s[·] += b + down·leaky(up·[s ; b] + up_bias) + down_bias, b_h = −size[h]·ln(1 + rate[h]·|δ|), without rates −size[h]·|δ|.
// The inputs of a pair are rows: H scores, H biases, a 1 that carries up_bias.
class Mixer {
 public:
  Mixer(const MixTask& t, const Head& head)
      : t_(t),
        N_(lanes()),
        inputs_(2 * t.H + 1),
        rows_(head.query_tile()),
        ld_(head.row_step()),
        scores_(t.H * rows_ * ld_) {
    const std::int64_t N = t.hidden;
    x_.resize(inputs_ * ld_), z_.resize(N * ld_), y_.resize(t.H * ld_);
    up_.resize(N * inputs_);
    for (std::int64_t n = 0; n < N; ++n) {
      std::copy_n(t.up + n * 2 * t.H, 2 * t.H, &up_[n * inputs_]);
      up_[n * inputs_ + 2 * t.H] = t.up_bias[n];
    }
    for (std::int64_t h = 0; t.rate && h < t.H; ++h) warps_.push_back(head.make_warp(t.rate[h]));
  }
  // Keeps the scores, which terms and sums then change.
  void read(const Tile& tile, std::vector<Head>& heads) {
    for (std::int64_t h = 0; h < t_.H; ++h)
      std::copy_n(heads[std::size_t(h)].logits(0), tile.ni * ld_, &scores_[h * rows_ * ld_]);
  }
  void forward(const Tile& tile, std::vector<Head>& heads) {
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      const Seen r = heads[0].seen(tile, a);
      if (r.from >= r.n) continue;
      run(tile, r, heads[0]);
      product({t_.H, width(r), t_.hidden}, {t_.down, t_.hidden, 1}, z_.data(), ld_, y_.data(), ld_, false);
      for (std::int64_t h = 0; h < t_.H; ++h) {
        float* s = heads[std::size_t(h)].logits(a) + r.from;
        const float *bias = &x_[(t_.H + h) * ld_], *y = &y_[h * ld_];
        for (std::int64_t b = 0; b < width(r); b += N_) {
          const V more =
              hn::Add(hn::LoadU(F(), bias + b), hn::Add(hn::LoadU(F(), y + b), set(t_.down_bias[h])));
          hn::StoreU(hn::Add(hn::LoadU(F(), s + b), more), F(), s + b);
        }
      }
    }
  }
  // Adds to dscore of each head what its scores gave through the network.
  void backward(const Tile& tile, std::vector<Head>& heads) {
    const std::int64_t N = t_.hidden;
    dz_.resize(N * ld_), dx_.resize(inputs_ * ld_), ds_.resize(t_.H * ld_);
    if (dup_.empty()) {
      dup_.assign(N * inputs_ * N_, 0.0f), ddown_.assign(t_.H * N * N_, 0.0f);
      dlast_.assign(std::size_t(t_.H), 0);
    }
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      const Seen r = heads[0].seen(tile, a);
      if (r.from < r.n) row_backward(tile, r, heads);
    }
  }
  void finish() {
    if (dup_.empty()) return;
    const auto total = [&](const Scratch& x, std::int64_t n) { return sum(hn::LoadU(F(), &x[n * N_])); };
    for (std::int64_t n = 0; n < t_.hidden; ++n) {
      for (std::int64_t c = 0; t_.dup && c < 2 * t_.H; ++c)
        t_.dup[n * 2 * t_.H + c] += total(dup_, n * inputs_ + c);
      if (t_.dup_bias) t_.dup_bias[n] += total(dup_, n * inputs_ + 2 * t_.H);
    }
    for (std::int64_t n = 0; t_.ddown && n < t_.H * t_.hidden; ++n) t_.ddown[n] += total(ddown_, n);
    for (std::int64_t h = 0; t_.ddown_bias && h < t_.H; ++h)
      t_.ddown_bias[h] += float(dlast_[std::size_t(h)]);
  }

 private:
  std::int64_t width(const Seen& r) const { return r.n - r.from; }
  // Fills x_ with the inputs of row r, and z_ with leaky(up·x).
  void run(const Tile& tile, const Seen& r, Head& head) {
    const std::uint8_t* hidden = head.hides(tile, r);
    for (std::int64_t h = 0; h < t_.H; ++h) {
      copy(&scores_[(h * rows_ + r.a) * ld_], r, &x_[h * ld_]);
      for (std::int64_t b = 0; hidden && b < width(r); ++b) {
        if (hidden[r.from + b]) x_[h * ld_ + b] = 0;
      }
      float* bias = &x_[(t_.H + h) * ld_];
      copy(far(tile, r, head, h), r, bias);
      const V size = set(-t_.size[h]);
      for (std::int64_t b = 0; b < width(r); b += N_)
        hn::StoreU(hn::Mul(size, hn::LoadU(F(), bias + b)), F(), bias + b);
    }
    float* one = &x_[2 * t_.H * ld_];
    for (std::int64_t b = 0; b < width(r); b += N_) hn::StoreU(first(set(1), width(r) - b), F(), one + b);
    product({t_.hidden, width(r), inputs_}, {up_.data(), inputs_, 1}, x_.data(), ld_, z_.data(), ld_, false);
    each_hidden(r, [&](std::int64_t at) {
      const V z = hn::LoadU(F(), &z_[at]);
      hn::StoreU(hn::Max(z, hn::Mul(set(0.01f), z)), F(), &z_[at]);
    });
  }
  // ln(1 + rate·|δ|) or |δ|, from column 0 of the tile on.
  const float* far(const Tile& tile, const Seen& r, Head& head, std::int64_t h) {
    if (t_.rate) return head.row(warps_[std::size_t(h)], tile, r);
    const float* delta = head.distances(tile, r);
    far_.resize(ld_);
    r.each_vector([&](std::int64_t b) { hn::StoreU(hn::Abs(hn::LoadU(F(), delta + b)), F(), &far_[b]); });
    return far_.data();
  }
  // The columns that a row sees, from 0 on, and zeros after them.
  void copy(const float* row, const Seen& r, float* to) const {
    for (std::int64_t b = 0; b < width(r); b += N_)
      hn::StoreU(first(hn::LoadU(F(), row + r.from + b), width(r) - b), F(), to + b);
  }
  template <class Body>
  void each_hidden(const Seen& r, const Body& f) {
    for (std::int64_t n = 0; n < t_.hidden; ++n) {
      for (std::int64_t b = 0; b < width(r); b += N_) f(n * ld_ + b);
    }
  }
  void row_backward(const Tile& tile, const Seen& r, std::vector<Head>& heads) {
    const std::int64_t H = t_.H, N = t_.hidden, n = width(r);
    run(tile, r, heads[0]);
    for (std::int64_t h = 0; h < H; ++h) {
      copy(heads[std::size_t(h)].ds(r.a), r, &ds_[h * ld_]);
      dlast_[std::size_t(h)] += sum_of(&ds_[h * ld_], {r.a, 0, n});
    }
    add_products({ds_.data(), H}, {z_.data(), N}, n, ddown_);
    product({N, n, H}, {t_.down, 1, N}, ds_.data(), ld_, dz_.data(), ld_, false);
    each_hidden(r, [&](std::int64_t at) {
      const V d = hn::LoadU(F(), &dz_[at]);
      const auto rises = hn::Gt(hn::LoadU(F(), &z_[at]), hn::Zero(F()));
      hn::StoreU(hn::IfThenElse(rises, d, hn::Mul(set(0.01f), d)), F(), &dz_[at]);
    });
    add_products({dz_.data(), N}, {x_.data(), inputs_}, n, dup_);
    product({2 * H, n, N}, {up_.data(), 1, inputs_}, dz_.data(), ld_, dx_.data(), ld_, false);
    for (std::int64_t h = 0; h < H; ++h) {
      float* to = heads[std::size_t(h)].dscore(r.a) + r.from;
      for (std::int64_t b = 0; b < n; b += N_)
        hn::StoreU(hn::Add(hn::LoadU(F(), to + b), hn::LoadU(F(), &dx_[h * ld_ + b])), F(), to + b);
      if (t_.dsize) bias_backward(tile, r, heads[0], h);
    }
  }
  void bias_backward(const Tile& tile, const Seen& r, Head& head, std::int64_t h) {
    const float *along = far(tile, r, head, h) + r.from, *delta = head.distances(tile, r) + r.from;
    V of_size = hn::Zero(F()), of_rate = of_size;
    for (std::int64_t b = 0; b < width(r); b += N_) {
      const V d = hn::Add(hn::LoadU(F(), &ds_[h * ld_ + b]), hn::LoadU(F(), &dx_[(t_.H + h) * ld_ + b]));
      of_size = hn::MulAdd(d, first(hn::LoadU(F(), along + b), width(r) - b), of_size);
      if (!t_.drate) continue;
      const V n = hn::Abs(first(hn::LoadU(F(), delta + b), width(r) - b));
      of_rate = hn::MulAdd(d, hn::Div(n, hn::MulAdd(set(t_.rate[h]), n, set(1))), of_rate);
    }
    t_.dsize[h] -= sum(of_size);
    if (t_.drate) t_.drate[h] -= t_.size[h] * sum(of_rate);
  }

  // out[m,n] += a[m]·b[n] over the columns, in vectors that are summed at the end.
  struct Bundle {
    const float* data;
    std::int64_t rows;
  };
  void add_products(const Bundle& a, const Bundle& b, std::int64_t n, Scratch& out) const {
    std::int64_t m = 0;
    for (; m + 4 <= a.rows; m += 4) add_products_of<4>(a, b, {m, 0, n}, out);
    for (; m < a.rows; ++m) add_products_of<1>(a, b, {m, 0, n}, out);
  }
  template <int M>
  void add_products_of(const Bundle& a, const Bundle& b, const Seen& at, Scratch& out) const {
    std::int64_t c = 0;
    for (; c + 2 <= b.rows; c += 2) add_block<M, 2>(a, b, {at.a, c, at.n}, out);
    for (; c < b.rows; ++c) add_block<M, 1>(a, b, {at.a, c, at.n}, out);
  }
  // Rows at.a.. of a, at.from.. of b.
  template <int M, int C>
  void add_block(const Bundle& a, const Bundle& b, const Seen& at, Scratch& out) const {
    V total[M][C];
    float* to = &out[(at.a * b.rows + at.from) * N_];
    for (int m = 0; m < M; ++m) {
      for (int c = 0; c < C; ++c) total[m][c] = hn::LoadU(F(), to + (m * b.rows + c) * N_);
    }
    const float *left = a.data + at.a * ld_, *right = b.data + at.from * ld_;
    for (std::int64_t p = 0; p < at.n; p += N_) {
      for (int c = 0; c < C; ++c) {
        const V y = hn::LoadU(F(), right + c * ld_ + p);
        for (int m = 0; m < M; ++m)
          total[m][c] = hn::MulAdd(hn::LoadU(F(), left + m * ld_ + p), y, total[m][c]);
      }
    }
    for (int m = 0; m < M; ++m) {
      for (int c = 0; c < C; ++c) hn::StoreU(total[m][c], F(), to + (m * b.rows + c) * N_);
    }
  }

  const MixTask& t_;
  const std::int64_t N_, inputs_, rows_, ld_;
  Scratch scores_;  // (H,rows,ld) of the tile
  Scratch up_, x_, z_, y_, far_, ds_, dz_, dx_, dup_, ddown_;
  std::vector<double> dlast_;
  std::vector<Distances::Warp> warps_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
