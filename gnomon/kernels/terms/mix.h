#ifndef GNOMON_KERNELS_TERMS_MIX_H_
#define GNOMON_KERNELS_TERMS_MIX_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[·,i,j] += b + down·leaky(up·[score ; b] + up_bias) + down_bias, columns over the heads; leaky has slope 0.01 below 0.
// b_h = −size[h]·ln(1 + rate[h]·|δ|); without mix_rate b_h = −size[h]·|δ|. DAPE
struct MixTerm {
  Floats mix_up, mix_up_bias;      // (hidden,2H), (hidden)
  Floats mix_down, mix_down_bias;  // (H,hidden), (H)
  Floats mix_size, mix_rate;       // (H) both

  static constexpr TermFacts kFacts{
      .name = "mix", .once = "mix the heads", .reads = TermReads::scores, .mixes_heads = true};
  static constexpr std::array kArrays{
      ArrayOf<MixTerm>{"mix_up", &MixTerm::mix_up, {Dim::own, Dim::both}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_up_bias", &MixTerm::mix_up_bias, {Dim::own}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_down", &MixTerm::mix_down, {Dim::heads, Dim::own}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_down_bias", &MixTerm::mix_down_bias, {Dim::heads}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_size", &MixTerm::mix_size, {Dim::heads}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_rate", &MixTerm::mix_rate, {Dim::heads}, &MixTerm::mix_down, true}};
  std::int64_t own(const AttendShape&) const { return std::int64_t(mix_up_bias.size()); }
  bool operator==(const MixTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Of the heads of a sequence, which go through the tiles together. s[·] += b + down·leaky(up·[s ; b] + up_bias) + down_bias,
// b_h = −size[h]·ln(1 + rate[h]·|δ|), without rates −size[h]·|δ|. The network reads a pair as rows: H scores; *warped*
// distances, one for each head or without rates the same for all, whose sizes are in the weights; a 1 that carries up_bias.
// Behind them, for gradients alone, the slopes of what warps.
template <class Head>
class Mixer {
 public:
  // `task`: of the first head.
  Mixer(const HeadTask& task, const Head& head)
      : t_(task),
        one_(t_.H + (t_.rate ? t_.H : 1)),
        inputs_(one_ + 1),
        all_(inputs_ + (t_.drate ? t_.H : 0)),
        rows_(head.query_tile()),
        ld_(head.row_step()),
        scores_(t_.H * rows_ * ld_) {
    x_.resize(all_ * ld_), z_.resize(t_.hidden * ld_), y_.resize(t_.H * ld_), up_.resize(t_.hidden * inputs_);
    std::vector<double> of_warped(std::size_t(one_ - t_.H));
    for (std::int64_t n = 0; n < t_.hidden; ++n) {
      const float *from = t_.up + n * 2 * t_.H, *of_bias = from + t_.H;
      std::fill(of_warped.begin(), of_warped.end(), 0.0);
      for (std::int64_t h = 0; h < t_.H; ++h)
        of_warped[std::size_t(warped(h) - t_.H)] -= double(t_.size[h]) * double(of_bias[h]);
      float* to = std::copy_n(from, t_.H, &up_[n * inputs_]);
      *std::copy(of_warped.begin(), of_warped.end(), to) = t_.up_bias[n];
    }
    for (std::int64_t h = 0; t_.rate && h < t_.H; ++h) warps_.push_back(head.make_warp(t_.rate[h]));
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
        const float *distance = x(warped(h)), *y = &y_[h * ld_];
        const V size = set(t_.size[h]), last = set(t_.down_bias[h]);
        for (std::int64_t b = 0; b < width(r); b += lanes()) {
          const V more = hn::NegMulAdd(size, hn::LoadU(F(), distance + b), hn::LoadU(F(), y + b));
          hn::StoreU(hn::Add(hn::LoadU(F(), s + b), hn::Add(more, last)), F(), s + b);
        }
      }
    }
  }
  // Adds to dscore of each head what its scores gave through the network.
  void backward(const Tile& tile, std::vector<Head>& heads) {
    const std::int64_t H = t_.H, N = t_.hidden;
    dx_.resize(H * ld_), ds_.resize(H * ld_);
    if (dup_.empty()) {
      dup_.assign(N * all_ * lanes(), 0.0f), ddown_.assign(H * N * lanes(), 0.0f);
      dsums_.assign(H * all_ * lanes(), 0.0f);
    }
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      const Seen r = heads[0].seen(tile, a);
      if (r.from < r.n) row_backward(tile, r, heads);
    }
  }
  void finish() {
    if (dup_.empty()) return;
    const std::int64_t H = t_.H, N = t_.hidden;
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t h = 0; t_.dup && h < H; ++h) {
        t_.dup[n * 2 * H + h] += total(dup_, n * all_ + h);
        t_.dup[n * 2 * H + H + h] -= t_.size[h] * total(dup_, n * all_ + warped(h));
      }
      if (t_.dup_bias) t_.dup_bias[n] += total(dup_, n * all_ + one_);
    }
    for (std::int64_t n = 0; t_.ddown && n < H * N; ++n) t_.ddown[n] += total(ddown_, n);
    for (std::int64_t h = 0; h < H; ++h) {
      if (t_.ddown_bias) t_.ddown_bias[h] += total(dsums_, h * all_ + one_);
      if (t_.dsize) t_.dsize[h] -= with_bias(h, warped(h));
      if (t_.drate) t_.drate[h] -= t_.size[h] * with_bias(h, inputs_ + h);
    }
  }

 private:
  std::int64_t width(const Seen& r) const { return r.n - r.from; }
  std::int64_t warped(std::int64_t h) const { return t_.rate ? t_.H + h : t_.H; }  // the row that head h has
  float* x(std::int64_t row) { return &x_[row * ld_]; }
  float total(const Scratch& sums, std::int64_t n) const { return sum(hn::LoadU(F(), &sums[n * lanes()])); }
  // Σ over the pairs of row `row` times the gradient of the bias of head h: what is added to s, and what the network reads.
  float with_bias(std::int64_t h, std::int64_t row) const {
    double all = double(total(dsums_, h * all_ + row));
    for (std::int64_t n = 0; n < t_.hidden; ++n)
      all += double(t_.up[n * 2 * t_.H + t_.H + h]) * double(total(dup_, n * all_ + row));
    return float(all);
  }

  struct Network {
    explicit Network(const HeadTask& t)
        : H(t.shape.H),
          hidden(t.given->MixTerm::own(t.shape)),
          up(t.terms.of<&MixTerm::mix_up>()),
          up_bias(t.terms.of<&MixTerm::mix_up_bias>()),
          down(t.terms.of<&MixTerm::mix_down>()),
          down_bias(t.terms.of<&MixTerm::mix_down_bias>()),
          size(t.terms.of<&MixTerm::mix_size>()),
          rate(t.terms.of<&MixTerm::mix_rate>()),
          dup(t.dterms.of<&MixTerm::mix_up>()),
          dup_bias(t.dterms.of<&MixTerm::mix_up_bias>()),
          ddown(t.dterms.of<&MixTerm::mix_down>()),
          ddown_bias(t.dterms.of<&MixTerm::mix_down_bias>()),
          dsize(t.dterms.of<&MixTerm::mix_size>()),
          drate(t.dterms.of<&MixTerm::mix_rate>()) {}
    std::int64_t H, hidden;
    float *up, *up_bias, *down, *down_bias, *size, *rate;  // rate: or null
    float *dup, *dup_bias, *ddown, *ddown_bias, *dsize, *drate;
  };
  struct Leaky {
    HWY_INLINE V operator()(V z, const float*) const { return hn::Max(z, hn::Mul(set(0.01f), z)); }
  };
  // Of a gradient that takes the place of leaky(z).
  struct LeakyGradient {
    HWY_INLINE V operator()(V d, const float* z) const {
      return hn::IfThenElse(hn::Gt(hn::LoadU(F(), z), hn::Zero(F())), d, hn::Mul(set(0.01f), d));
    }
  };
  // Fills x_ with the inputs of row r, and z_ with leaky(up·x).
  void run(const Tile& tile, const Seen& r, Head& head) {
    const std::uint8_t* hidden = head.hides(tile, r);
    for (std::int64_t h = 0; h < t_.H; ++h) {
      copy(&scores_[(h * rows_ + r.a) * ld_], r, x(h));
      for (std::int64_t b = 0; hidden && b < width(r); ++b) {
        if (hidden[r.from + b]) x(h)[b] = 0;
      }
    }
    if (t_.rate) {
      for (std::int64_t h = 0; h < t_.H; ++h) copy(head.row(warps_[std::size_t(h)], tile, r), r, x(t_.H + h));
    } else {
      copy(head.distances(tile, r), r, x(t_.H));
      each(r, [&](std::int64_t b) { hn::StoreU(hn::Abs(hn::LoadU(F(), x(t_.H) + b)), F(), x(t_.H) + b); });
    }
    each(r, [&](std::int64_t b) { hn::StoreU(first(set(1), width(r) - b), F(), x(one_) + b); });
    product<Leaky>({t_.hidden, width(r), inputs_}, {up_.data(), inputs_, 1}, x_.data(), ld_, z_.data(), ld_,
                   false);
  }
  // d ln(1 + rate·n)/d rate = n/(1 + rate·n)
  void add_slopes(const Tile& tile, const Seen& r, Head& head) {
    const float* delta = head.distances(tile, r) + r.from;
    for (std::int64_t h = 0; h < t_.H; ++h) {
      each(r, [&](std::int64_t b) {
        const V n = hn::Abs(first(hn::LoadU(F(), delta + b), width(r) - b));
        hn::StoreU(hn::Div(n, hn::MulAdd(set(t_.rate[h]), n, set(1))), F(), x(inputs_ + h) + b);
      });
    }
  }
  template <class Body>
  void each(const Seen& r, const Body& f) const {
    for (std::int64_t b = 0; b < width(r); b += lanes()) f(b);
  }
  // The columns that a row sees, from 0 on, and zeros after them.
  void copy(const float* row, const Seen& r, float* to) const {
    each(r, [&](std::int64_t b) {
      hn::StoreU(first(hn::LoadU(F(), row + r.from + b), width(r) - b), F(), to + b);
    });
  }
  void row_backward(const Tile& tile, const Seen& r, std::vector<Head>& heads) {
    const std::int64_t H = t_.H, N = t_.hidden, n = width(r);
    run(tile, r, heads[0]);
    if (t_.drate) add_slopes(tile, r, heads[0]);
    for (std::int64_t h = 0; h < H; ++h) copy(heads[std::size_t(h)].ds(r.a), r, &ds_[h * ld_]);
    add_products({ds_.data(), H}, {x_.data(), all_}, n, dsums_);
    add_products({ds_.data(), H}, {z_.data(), N}, n, ddown_);
    product<LeakyGradient>({N, n, H}, {t_.down, 1, N}, ds_.data(), ld_, z_.data(), ld_, false);
    add_products({z_.data(), N}, {x_.data(), all_}, n, dup_);
    product({H, n, N}, {up_.data(), 1, inputs_}, z_.data(), ld_, dx_.data(), ld_, false);
    for (std::int64_t h = 0; h < H; ++h) {
      float* to = heads[std::size_t(h)].dscore(r.a) + r.from;
      each(r, [&](std::int64_t b) {
        hn::StoreU(hn::Add(hn::LoadU(F(), to + b), hn::LoadU(F(), &dx_[h * ld_ + b])), F(), to + b);
      });
    }
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
    for (; c + kColumns <= b.rows; c += kColumns) add_block<M, kColumns>(a, b, {at.a, c, at.n}, out);
    for (; c + 2 <= b.rows; c += 2) add_block<M, 2>(a, b, {at.a, c, at.n}, out);
    for (; c < b.rows; ++c) add_block<M, 1>(a, b, {at.a, c, at.n}, out);
  }
  static constexpr int kColumns = HWY_CAP_GE512 ? 4 : 2;  // with 32 registers, or 16
  // Rows at.a.. of a, at.from.. of b.
  template <int M, int C>
  void add_block(const Bundle& a, const Bundle& b, const Seen& at, Scratch& out) const {
    V total[M][C];
    float* to = &out[(at.a * b.rows + at.from) * lanes()];
    GNOMON_UNROLL
    for (int m = 0; m < M; ++m) {
      GNOMON_UNROLL
      for (int c = 0; c < C; ++c) total[m][c] = hn::LoadU(F(), to + (m * b.rows + c) * lanes());
    }
    const float *left = a.data + at.a * ld_, *right = b.data + at.from * ld_;
    for (std::int64_t p = 0; p < at.n; p += lanes()) {
      V y[C];
      GNOMON_UNROLL
      for (int c = 0; c < C; ++c) y[c] = hn::LoadU(F(), right + c * ld_ + p);
      GNOMON_UNROLL
      for (int m = 0; m < M; ++m) {
        const V x = hn::LoadU(F(), left + m * ld_ + p);
        GNOMON_UNROLL
        for (int c = 0; c < C; ++c) total[m][c] = hn::MulAdd(x, y[c], total[m][c]);
      }
    }
    GNOMON_UNROLL
    for (int m = 0; m < M; ++m) {
      GNOMON_UNROLL
      for (int c = 0; c < C; ++c) hn::StoreU(total[m][c], F(), to + (m * b.rows + c) * lanes());
    }
  }

  const Network t_;
  const std::int64_t one_, inputs_, all_, rows_, ld_;
  Scratch scores_;  // (H,rows,ld) of the tile
  Scratch up_, x_, z_, y_, ds_, dx_;
  Scratch dup_, ddown_,
      dsums_;  // gradients of up_ and down; rows of x_ times those of the
               // logits. A vector each
  std::vector<Distances::Warp> warps_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
