// T5's buckets of three distances: in reading order, across the page and down the page. Huang et al. 2022 (LayoutLMv3),
// https://arxiv.org/abs/2204.08387, section 3.1; Tang et al. 2022 (UDOP), https://arxiv.org/abs/2212.02623; Hugging Face
// transformers 5.23, modeling_layoutlmv3.py, modeling_layoutlmv2.py, modeling_udop.py.
//
//   s[h,i,j] = q_i·k_j/√D + c·Σ_g w_g[bucket_g(⌊f_g·(x_i − x_j)⌋ toward 0), h],   g = order, across, down
//   bucket is that of a bidirectional T5 (t5.cpp), under a causal mask as well
//
//               order            across and down   f of these   c
//   layoutlmv3  32 up to 128     64 up to 256      1            1/√D: the biases are divided as q·k is
//   layoutlmv2  the same                                        1
//   udop        32 up to 128     32 up to 100      100          1
//
// A token has three coordinates: its place in the reading order, x and y. LayoutLM takes the left and the bottom edge of the box
// of a word in 0..1000 (and the place counts anew where the patches of the page begin); UDOP takes the centre of the box in
// 0..1 of the page, and the place in the sequence. The cut comes after the difference. A token with one coordinate is text
// without a box: x = y = 0.
//
// q·k is divided by √D here, so that the biases are all that differs; scale=off leaves it whole, as UDOP, a T5, does.
// Models compute in float32: at the edge of a step or a bucket they may take its neighbour. Acts on the logits. Parameters:
// tables order, across, down (buckets, H), one of each for all layers.
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

struct Rule {
  std::int64_t plane_buckets, plane_distance;
  double steps;
  bool divided;
};
Rule rule_of(const std::string& word) {
  if (word == "udop") return {32, 100, 100, false};
  return {64, 256, 1, word == "layoutlmv3"};
}

// Numbers across and down: one for both, or two; each 0 stands for that of the rule.
std::array<double, 2> both(const Options& options, std::string_view name, double standard) {
  const auto given = options.numbers(name);
  if (given.size() > 2)
    throw Error(Fault::usage, text("box_buckets: ", name, "=", options.value(name).print(),
                                   "; allowed are one number, or two for across and down"));
  const auto of = [&](double x) { return x != 0 ? x : standard; };
  return {of(given.front()), of(given.back())};
}

class BoxBuckets final : public Encoding, public BiasPart {
 public:
  BoxBuckets(const Options& options, const Shape& shape)
      : Encoding(shape), scaled_(options.word("scale") == "on") {
    const Rule rule = rule_of(options.word("rule"));
    const std::int64_t count =
        options.whole("plane_buckets") ? options.whole("plane_buckets") : rule.plane_buckets;
    const auto distances = both(options, "plane_distance", double(rule.plane_distance));
    buckets_ = {Buckets{options.whole("buckets"), options.whole("distance"), false},
                {count, std::int64_t(distances[0]), false},
                {count, std::int64_t(distances[1]), false}};
    for (const Buckets& each : buckets_) check_buckets("box_buckets", each);
    steps_ = both(options, "steps", rule.steps);
    share_ = rule.divided ? 1 / std::sqrt(double(shape.D)) : 1;
  }
  std::int64_t axes() const override { return 3; }
  std::vector<ParamSpec> params() const override {
    std::vector<ParamSpec> all;
    for (std::size_t g = 0; g < 3; ++g)
      all.push_back({kNames[g], {buckets_[g].count, shape_.H}, 0, 0.02, false});
    return all;
  }
  double content_scale() const override { return scaled_ ? 1 : std::sqrt(double(shape_.D)); }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double sum = 0;
    for (std::size_t g = 0; g < 3; ++g) {
      const double difference = std::trunc(code(s.positions, i, g) - code(s.positions, j, g));
      sum += s.w[row(g, difference) * shape_.H + h];
    }
    return share_ * sum;
  }

  void lower(const Batch& b, Terms& t) const override {
    for (const Buckets& each : buckets_) t.code_ranges.push_back({-each.distance, 2 * each.distance + 1});
    t.by_code.resize(std::size_t(shape_.H * entries()));
    each_entry(
        [&](std::int64_t at, std::int64_t index) { t.by_code[at] = float(share_ * double(b.w[index])); });
    const std::int64_t T = b.positions.T();
    for (std::int64_t n = 0; n < b.positions.rows * 3 * T; ++n)
      t.code_of_query.push_back(code(b.positions, n / (3 * T) * T + n % T, std::size_t(n / T % 3)));
    t.code_of_key = t.code_of_query;
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each_entry(
        [&](std::int64_t at, std::int64_t index) { grad.w[index] += float(share_ * double(g.by_code[at])); });
  }

 private:
  static constexpr const char* kNames[] = {"order", "across", "down"};

  double code(const Positions& p, std::int64_t t, std::size_t g) const {
    if (p.axes != 1 && p.axes != 3) {
      throw Error(Fault::usage, text("box_buckets: positions have ", p.axes,
                                     " axes; allowed are 3 (reading order, x, y), or 1"));
    }
    if (g == 0) return p.at(t, 0);
    return p.axes == 1 ? 0 : steps_[g - 1] * p.at(t, std::int64_t(g));
  }
  // Row of this difference in the parameters.
  std::int64_t row(std::size_t g, double difference) const {
    std::int64_t before = 0;
    for (std::size_t n = 0; n < g; ++n) before += buckets_[n].count;
    return before + t5_bucket(buckets_[g], difference);
  }
  std::int64_t entries() const {
    std::int64_t sum = 0;
    for (const Buckets& each : buckets_) sum += 2 * each.distance + 1;
    return sum;
  }
  // f(index in by_code, index in w): from `distance` on all is one bucket.
  template <class Body>
  void each_entry(const Body& f) const {
    std::int64_t entry = 0;
    for (std::size_t g = 0; g < 3; ++g) {
      for (std::int64_t x = -buckets_[g].distance; x <= buckets_[g].distance; ++x, ++entry) {
        for (std::int64_t h = 0; h < shape_.H; ++h)
          f(h * entries() + entry, row(g, double(x)) * shape_.H + h);
      }
    }
  }

  const bool scaled_;
  std::array<Buckets, 3> buckets_{};
  std::array<double, 2> steps_{};
  double share_;
};

}  // namespace

extern const Entry box_buckets_entry;
const Entry box_buckets_entry = entry<BoxBuckets>(
    {.name = "box_buckets",
     .aliases = {"layoutlmv3", "layoutlmv2", "layoutxlm", "udop"},
     .title = "T5's buckets in reading order, across and down the page",
     .paper = "https://arxiv.org/abs/2204.08387",
     .formula = "s = q*k/sqrt(D) + c*(w1[bucket(p_i - p_j)] + w2[bucket(x_i - x_j)] + w3[bucket(y_i - y_j)])",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + c \sum_{a \in \{p, x, y\}} w^{(a)}_{\mathrm{bucket}(a_i - a_j),\,h})",
     .pitfall =
         "LayoutLM takes the left and the bottom edge of a box, UDOP its centre; LayoutLMv3 divides the "
         "biases by sqrt(D), LayoutLMv2 and UDOP do not",
     .year = 2022,
     .relative = true,
     .options = {
         {.name = "rule",
          .help = "whose tables of the page, unit of coordinates and factor of the biases",
          .standard = "layoutlmv3",
          .words = {"layoutlmv3", "layoutlmv2", "udop"},
          .must_be_named = true},
         bucket_count_option(),
         [] {
           OptionSpec distance = bucket_distance_option();
           distance.most = 1 << 16;
           return distance;
         }(),
         {.name = "plane_buckets",
          .help = "rows in the tables across and down; 0 = those of the rule",
          .standard = "0",
          .least = 0,
          .most = 1 << 16,
          .whole = true},
         {.name = "plane_distance",
          .help = "tokens this many steps apart on the page or more share the last bucket, such as 256 or "
                  "256/128 across and down; 0 = as the rule",
          .standard = "0",
          .least = 0,
          .most = 1 << 16,
          .whole = true,
          .list = true},
         {.name = "steps",
          .help = "steps in a coordinate of 1, such as 100 or 100/50 across and down; 0 = as the rule",
          .standard = "0",
          .least = 0,
          .most = 1e6,
          .list = true},
         {.name = "scale",
          .help = "scale q*k by 1/sqrt(D); UDOP itself does not",
          .standard = "on",
          .words = {"on", "off"}}}});

}  // namespace gnomon
