// Why add, and not concatenate?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/combine/spec.h"
#include "gnomon/encodings/definition.h"

namespace gnomon::claims {
namespace {

constexpr double kMargin = .02;  // nats a byte: differences within it are called equal

std::vector<Recipe> three(const Desk& d) {
  return {d.language("sinusoidal"), d.language("concat(sinusoidal)"), d.language("project(sinusoidal)")};
}

Architecture sized(const char* spec, std::int64_t width, std::int64_t layers) {
  return make_block("gpt", {.layers = layers, .width = width, .heads = width / 64, .length = 512},
                    Spec::parse(spec));
}

Finding orthogonal_by_concatenation(Desk& desk) {
  Finding f;
  const double add = double(Model(sized("sinusoidal", 512, 6)).param_count()),
               split = double(Model(sized("concat(sinusoidal, width=16)", 512, 6)).param_count()),
               project = double(Model(sized("project(sinusoidal)", 512, 6)).param_count()),
               wide = double(Model(sized("sinusoidal", 1024, 6)).param_count());
  f.near("parameters of concat + projection, less the sum's", project - add, 2 * 512 * 512 + 512, 0, 0);
  f.between("parameters of concat within the same width, less the sum's", split - add, -1e9, -1, 0);
  f.near("2d² at d = 512", 2 * 512 * 512, 524288, 0, 0);
  f.between("2d² of a model of 65 million, percent", 100 * 524288.0 / 65e6, .75, .85, 2);
  f.between("parameters at twice the width, over the sum's", wide / add, 3.8, 4.1, 2);
  // What the first matrix makes of two orthogonal blocks: a random map, whose images of the blocks overlap by chance.
  const Recipe r = desk.language("concat(sinusoidal)");
  const Outcome& o = desk.models(r).front();
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const std::int64_t C = r.width, word = C - 16;
  Matrix from_word(qkv.rows, word), from_place(qkv.rows, 16);
  for (std::int64_t i = 0; i < qkv.rows; ++i) {
    for (std::int64_t c = 0; c < C; ++c)
      (c < word ? from_word.at(i, c) : from_place.at(i, c - word)) = qkv.at(i, c);
  }
  const auto s = singular_values(product(transpose(orthonormal(from_word)), orthonormal(from_place)));
  f.between("largest cosine between the images of words and positions after the first matrix", s.front(), .2,
            1, 3);
  f.figures = table({{"width 512, 6 layers", "parameters", "over the sum's"},
                     {{"sum", {add, 1}},
                      {"concat, 496 + 16", {split, split / add}},
                      {"concat 1024, projected to 512", {project, project / add}},
                      {"twice the width everywhere", {wide, wide / add}}},
                     3});
  f.conclude(
      Verdict::wrong,
      "Twice. It is orthogonal at the input only: the first matrix mixes the blocks again. And it does not "
      "greatly increase parameters: concat within the width has fewer than the sum, concat with a projection "
      "0.8 % more at 65 million; only twice the width everywhere is four times as large.");
  return f;
}

Finding why_add(Desk& desk) {
  Finding f;
  report::IntervalChart chart{"Sum or concatenation: loss against the sum",
                              text("Paired by seed, ± is a 95 % t interval, n = ", desk.seeds(),
                                   "; called equal within ", kMargin, " nats."),
                              "nats per byte, less the sum's; left is better",
                              {}};
  bool equal = true;
  std::string all;
  for (const char* spec : {"concat(sinusoidal)", "project(sinusoidal)"}) {
    const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
    f.estimate(text("loss of ", spec, ", less the sum's (nats)"), e);
    chart.rows.push_back({spec, e.mean, e.half_width, int(chart.rows.size())});
    equal &= within(e, kMargin);
    all += text(all.empty() ? "" : "; ", spec, " is ", compared(e));
  }
  f.figures = draw(chart);
  f.conclude(equal ? Verdict::holds : Verdict::conditional,
             text("Not because it can do more: concatenation with a matrix is a sum of two mapped vectors "
                  "(001-05), and the sum is the cheapest of the family. Nor because it trains best: at this "
                  "size and budget the loss of ",
                  all, " than the sum's."));
  return f;
}

Finding memory(Desk& desk) {
  Finding f;
  const auto of = [&](const Recipe& r) { return Model(r.model()); };
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  const Recipe base = desk.language("sinusoidal");
  const double speed =
      mean_interval(each(desk, base, [](const Outcome& o) { return o.tokens_per_second; })).mean;
  for (const Recipe& r : three(desk)) {
    const Model m = of(r);
    std::vector<double> ratio = each(desk, r, [](const Outcome& o) { return o.tokens_per_second; });
    for (double& v : ratio) v /= speed;
    const Estimate e = mean_interval(ratio);
    rows.push_back({r.spec,
                    {double(m.param_count()), double(m.param_count()) * 4 / 1e6,
                     m.training_flops_per_token(r.length) / 1e6, e.mean}});
    f.estimate(text("speed over the sum's, ", r.spec), e, 3);
  }
  const double d = double(base.width);
  f.near("parameters that concat + projection adds", rows[2].second[0] - rows[0].second[0], 2 * d * d + d, 0,
         0);
  f.near("parameters that concat within the width saves", rows[0].second[0] - rows[1].second[0], 256 * 16, 0,
         0);
  f.figures = table({{"arm", "parameters", "MB", "training MFLOP a token", "speed over the sum's"}, rows, 3});
  f.conclude(
      Verdict::holds,
      "Memory and time hardly decide it: the projection adds 2d² + d numbers, concat within the width saves "
      "16 for each symbol of the vocabulary, and the speeds are within what this machine's noise allows.");
  return f;
}

// The projecting model as a sum: words W_x·√d·x, a learned table W_e·e_p + b.
Finding folding(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("project(sinusoidal)");
  const std::int64_t d = r.width, T = r.length;
  Architecture config = r.model();
  config.position = Spec::parse("add(learned, scale=off)");
  const Model folded(config);
  const Sample sample = desk.held_out(r, 16);
  double worst = 0;
  for (const Outcome& o : desk.models(r)) {
    const Matrix weight = parameter(o.look(), "embed.combination.weight"),
                 words = parameter(o.look(), "embed.word"), code = sinusoid(d, T);
    const auto bias = parameter(o.look(), "embed.combination.bias").values;
    Floats w(static_cast<std::size_t>(folded.param_count()));
    for (const Param& p : folded.params()) {
      float* to = w.data() + p.offset;
      const bool table = p.spec.name == "position.input.table";
      if (!table && p.spec.name != "embed.word") {
        std::copy_n(o.w.begin() + o.model->param(p.spec.name).offset, p.spec.size(), to);
        continue;
      }
      const Matrix& from = table ? code : words;
      for (std::int64_t n = 0; n < from.rows; ++n) {
        for (std::int64_t c = 0; c < d; ++c) {
          const auto half = weight.row(c).subspan(std::size_t(table ? d : 0), std::size_t(d));
          to[n * d + c] = float(table ? dot(half, from.row(n)) + bias[std::size_t(c)]
                                      : std::sqrt(double(d)) * dot(half, from.row(n)));
        }
      }
    }
    const Matrix a = logits(o.look(), sample), b = logits({folded, w}, sample);
    for (std::size_t n = 0; n < a.values.size(); ++n)
      worst = std::max(worst, std::abs(a.values[n] - b.values[n]));
  }
  f.between("largest difference of a logit, folded against projected", worst, 0, 1e-4, 7);
  const Estimate cost = loss_difference(desk, r, desk.language("sinusoidal"));
  f.estimate("loss of the projection, less the sum's (nats)", cost);
  f.conclude(Verdict::wrong,
             text("No: W[x; e] = W₁x + W₂e, so concatenation with a projection is a sum of a mapped word and "
                  "a mapped position. Folded into an additive model, every trained projection gives the same "
                  "logits. What differs is how training goes: ",
                  compared(cost), "."));
  return f;
}

Finding trivial(Desk&) {
  Finding f;
  f.near("2d² at d = 512", 2.0 * 512 * 512, 524288, 0, 0);
  const double base = double(Model(sized("sinusoidal", 512, 6)).param_count());
  f.between("over the parameters of a byte model of that width with 6 layers, percent", 100 * 524288 / base,
            2, 3.5, 2);
  f.between("over 65 million, percent", 100 * 524288 / 65e6, .75, .85, 2);
  f.conclude(Verdict::holds,
             "Yes for a projection: 524,288 numbers at d = 512, 0.8 % of a model of 65 million.");
  return f;
}

// a_p of every token: the weight of the position in the mixture.
std::vector<double> position_weight(const Outcome& o, const Sample& s) {
  const std::int64_t d = o.model->architecture().width;
  const Matrix q = parameter(o.look(), "embed.combination.query"),
               kx = parameter(o.look(), "embed.combination.word.key"),
               ke = parameter(o.look(), "embed.combination.position.key");
  Matrix x = parameter(o.look(), "embed.word");
  for (double& v : x.values) v *= std::sqrt(double(d));
  const Matrix e = sinusoid(d, s.T), asks = product_transposed(x, q), words = product_transposed(x, kx),
               places = product_transposed(e, ke);
  std::vector<double> out;
  for (std::size_t n = 0; n < s.inputs.size(); ++n) {
    const std::int64_t w = s.inputs[n];
    const double root = std::sqrt(double(d)), to_word = dot(asks.row(w), words.row(w)) / root,
                 to_place = dot(asks.row(w), places.row(std::int64_t(n) % s.T)) / root;
    out.push_back(1 / (1 + std::exp(to_word - to_place)));
  }
  return out;
}

Finding mixture(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("mixture(sinusoidal)");
  const Sample sample = desk.held_out(r, 64);
  const auto mean_where = [&](auto&& chosen) {
    return mean_interval(each(desk, r, [&](const Outcome& o) {
      const auto a = position_weight(o, sample);
      double sum = 0, n = 0;
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (chosen(sample.inputs[k], std::int64_t(k) % sample.T)) sum += a[k], n += 1;
      }
      return sum / n;
    }));
  };
  f.estimate("mean weight of the position, letters",
             mean_where([](std::int32_t w, std::int64_t) { return std::isalpha(w) != 0; }), 3);
  f.estimate("mean weight of the position, spaces and marks",
             mean_where([](std::int32_t w, std::int64_t) { return std::isalpha(w) == 0; }), 3);
  f.estimate("mean weight of the position, first 4 tokens",
             mean_where([](std::int32_t, std::int64_t t) { return t < 4; }), 3);
  f.estimate("mean weight of the position, last 4 tokens",
             mean_where([&](std::int32_t, std::int64_t t) { return t >= sample.T - 4; }), 3);
  const Estimate cost = loss_difference(desk, r, desk.language("sinusoidal"));
  f.estimate("loss of the mixture, less the sum's (nats)", cost);
  f.number("parameters that it adds",
           double(Model(r.model()).param_count() - Model(desk.language("sinusoidal").model()).param_count()),
           0);
  f.conclude(sign(cost) == Sign::below   ? Verdict::holds
             : sign(cost) == Sign::above ? Verdict::wrong
                                         : Verdict::undecided,
             text("It can be done, with 5d² more parameters: an attention over the two sources of each "
                  "token. Its loss is ",
                  compared(cost, "the sum's"), "."));
  return f;
}

Finding papers(Desk&) {
  Finding f;
  double found = 0;
  for (const char* entry : {"deberta", "tupe", "transformer_xl", "shaw"})
    found += find_encoding(entry).year >= 2018;
  f.near("encodings here that keep position apart from words", found, 4, 0, 0);
  f.number("combinations here besides the sum", double(combinations().size()) - 1, 0);
  f.conclude(Verdict::holds,
             "Few concatenate at the input; several keep the two apart inside attention, with matrices of "
             "their own: Shaw 2018, Transformer-XL 2019, TUPE and DeBERTa 2020. Here all of them can be "
             "trained and compared, beside concat and project.");
  return f;
}

Finding deberta(Desk&) {
  Finding f;
  const Shape shape{.C = 32, .H = 2, .D = 16, .length = 8, .causal = false};
  const auto encoding = make_encoding("deberta(span=8)", shape);
  const Random random(3, "deberta");
  std::vector<double> q(2 * 8 * 16), k(q.size()), zero(q.size(), 0.0),
      w(static_cast<std::size_t>(encoding->param_count())), none(w.size(), 0.0), x(8 * 32);
  for (std::size_t n = 0; n < q.size(); ++n) q[n] = random.normal(2 * n), k[n] = random.normal(2 * n + 1);
  for (std::size_t n = 0; n < w.size(); ++n) w[n] = random.normal(100000 + n);
  const Placement place = Placement::consecutive(0, 8);
  const auto logit = [&](const std::vector<double>& a, const std::vector<double>& b,
                         const std::vector<double>& params) {
    const Scene scene{place, a, b, params, x};
    return Definition(*encoding, scene).logit(1, 3, 5);
  };
  double product = 0;
  for (std::int64_t c = 0; c < 16; ++c)
    product += q[std::size_t((8 + 3) * 16 + c)] * k[std::size_t((8 + 5) * 16 + c)];
  const double both = logit(q, k, w), content = logit(q, k, none), c2p = logit(q, zero, w),
               p2c = logit(zero, k, w);
  f.near("content to content · √(3d_h) / (q·k)", content * std::sqrt(3.0 * 16) / product, 1, 1e-12, 9);
  f.near("logit less its three parts", both - content - c2p - p2c, 0, 1e-9, 12);
  f.near("position to position", logit(zero, zero, w), 0, 0, 6);
  f.conclude(Verdict::holds,
             "Content to content, content to position and position to content, each with matrices of its "
             "own, over √(3d_h), and no position-to-position term.");
  return f;
}

Finding slower(Desk& desk) {
  Finding f = memory(desk);
  f.conclude(Verdict::conditional,
             "True only of a concatenation that widens the model. Within the same width it has fewer "
             "parameters than the sum, and with a projection 2d² + d more, which is no matter.");
  return f;
}

Finding width_sweep(Desk& desk) {
  Finding f;
  report::LineChart chart{
      "How many channels does the position need?",
      "concat(sinusoidal, width): the word keeps the rest of 96 channels. Dashed: the sum.",
      {"channels of the position", true, {4, 8, 16, 32, 64}},
      {"held-out nats per byte"},
      {}};
  report::Series mean{"concat", {}, 0, false, true};
  double best = INFINITY;
  std::vector<std::pair<int, Estimate>> all;
  for (const int width : {4, 8, 16, 32, 64}) {
    if (width >= desk.language("sinusoidal").width) continue;
    const Estimate e = loss(desk, desk.language(text("concat(sinusoidal, width=", width, ")")));
    f.estimate(text("loss with ", width, " channels"), e);
    mean.points.emplace_back(width, e.mean), all.emplace_back(width, e);
    best = std::min(best, e.mean);
  }
  const Estimate sum_loss = loss(desk, desk.language("sinusoidal"));
  chart.series = {mean, {"sum", {{4, sum_loss.mean}, {64, sum_loss.mean}}, 1}};
  f.figures = draw(chart);
  std::string flat;
  for (const auto& [width, e] : all) {
    if (e.mean < best + kMargin) flat += text(flat.empty() ? "" : ", ", width);
  }
  f.conclude(Verdict::holds,
             text("It is one more thing to choose, and it matters: within ", kMargin,
                  " nats of the best are the widths ", flat, " of 4 to 64; the losses go from ",
                  fixed(best, 3), " to ",
                  fixed(std::max_element(all.begin(), all.end(),
                                         [](auto& a, auto& b) { return a.second.mean < b.second.mean; })
                            ->second.mean,
                        3),
                  " nats."));
  return f;
}

}  // namespace

extern const Claim claim_000_10;
const Claim claim_000_10 = {
    .id = "000-10",
    .question = "add",
    .says = "Concatenation guarantees orthogonality, at the cost of many more parameters.",
    .method =
        "parameters of models of width 512 with 6 layers; principal angles between the images of the word "
        "block and the position block under the first trained matrix",
    .expects = "orthogonal at the input only; fewer parameters within the width, 2d² more with a projection",
    .advice = "Choose by loss on your data, not by parameter count.",
    .expected = Verdict::wrong,
    .recipes = [](const Desk& d) { return std::vector{d.language("concat(sinusoidal)")}; },
    .measure = orthogonal_by_concatenation};
extern const Claim claim_001_01;
const Claim claim_001_01 = {
    .id = "001-01",
    .question = "add",
    .says = "Why is the position added to the word, and not concatenated?",
    .method =
        "held-out loss of the sum, of concat (16 of 96 channels) and of concat + projection, same data and "
        "seeds; paired t intervals; equal = interval within ±0.02 nats",
    .expects = "the projection can represent exactly what the sum can; differences are of training",
    .advice = "Add; if you concatenate, give the position 8 to 32 channels of the same width.",
    .expected = Verdict::conditional,
    .statistical = true,
    .recipes = three,
    .measure = why_add};
extern const Claim claim_001_02;
const Claim claim_001_02 = {.id = "001-02",
                            .question = "add",
                            .says = "Apart from saving some memory, is there a reason to add?",
                            .method = "parameters, bytes, FLOPs and tokens a second of the three arms",
                            .expects = "2d² + d numbers with a projection; times within noise",
                            .advice = "Memory is no argument either way.",
                            .expected = Verdict::holds,
                            .recipes = three,
                            .measure = memory};
extern const Claim claim_001_05;
const Claim claim_001_05 = {
    .id = "001-05",
    .question = "add",
    .says = "Concatenation followed by a projection can model more complicated relationships than a sum.",
    .method =
        "every trained projecting model folded into an additive one (words W₁x, table W₂e + b): largest "
        "difference of any logit",
    .expects = "equal to float rounding: W[x; e] = W₁x + W₂e",
    .advice =
        "Use it, if at all, for how it trains. With a tied output head, or with RoPE or a bias, the identity "
        "does not apply.",
    .expected = Verdict::wrong,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("project(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = folding};
extern const Claim claim_001_06;
const Claim claim_001_06 = {.id = "001-06",
                            .question = "add",
                            .says = "The extra parameters of a projection are trivial.",
                            .method = "2d² against the size of models",
                            .expects = "0.8 % of 65 million",
                            .advice = "Ignore them.",
                            .expected = Verdict::holds,
                            .measure = trivial};
extern const Claim claim_001_07;
const Claim claim_001_07 = {
    .id = "001-07",
    .question = "add",
    .says = "Why not let attention decide the mixture of word and position?",
    .method =
        "the combination `mixture`: softmax over (q·k_word, q·k_position) for each token; its loss against "
        "the sum's, paired; the mean weight of the position by kind of token",
    .expects = "open; it has 5d² more parameters",
    .advice = "Try `mixture(...)` on your data; it is no free gain.",
    .expected = Verdict::wrong,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("mixture(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = mixture};
extern const Claim claim_001_09;
const Claim claim_001_09 = {.id = "001-09",
                            .question = "add",
                            .says = "Has anyone concatenated instead of adding?",
                            .method = "the registry of encodings and their papers",
                            .expects = "separate matrices inside attention rather than concatenation",
                            .advice = "`gnomon encodings` lists them with their papers.",
                            .expected = Verdict::holds,
                            .measure = papers};
extern const Claim claim_001_10;
const Claim claim_001_10 = {
    .id = "001-10",
    .question = "add",
    .says = "DeBERTa disentangles content and position with separate matrices.",
    .method = "the definition's logit with parts set to zero: content alone, position alone",
    .expects = "three terms over √(3d_h); none from position to position",
    .advice =
        "Its checkpoints read the position-to-content distance the other way round than the paper prints it.",
    .expected = Verdict::holds,
    .measure = deberta};
extern const Claim claim_003_04;
const Claim claim_003_04 = {.id = "003-04",
                            .question = "add",
                            .says = "Concatenation costs memory and training time.",
                            .method = "as 001-02",
                            .expects = "only when the model is widened",
                            .advice = "Concatenate within the width.",
                            .expected = Verdict::conditional,
                            .recipes = three,
                            .measure = slower};
extern const Claim claim_003_05;
const Claim claim_003_05 = {
    .id = "003-05",
    .question = "add",
    .says = "A smaller position vector is one more hyper-parameter.",
    .method = "concat with 4, 8, 16, 32 and 64 of 96 channels",
    .expects = "flat from 8 or 16 on, worse when words lose too much",
    .advice = "16 of 96 channels is a safe start.",
    .expected = Verdict::holds,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const int width : {4, 8, 16, 32, 64}) {
            if (width < d.language("sinusoidal").width)
              all.push_back(d.language(text("concat(sinusoidal, width=", width, ")")));
          }
          return all;
        },
    .measure = width_sweep};

}  // namespace gnomon::claims
