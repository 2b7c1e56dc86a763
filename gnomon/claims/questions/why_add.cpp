// Why add, and not concatenate?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/combine/spec.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/nn/block.h"

namespace gnomon::claims {

Question question_why_add = {
    .key = "why_add",
    .title = "Why add, and not concatenate?",
    .lead = "001-01",
    .answer =
        "Because nothing is lost by it: a concatenation that is projected back is a sum of two mapped "
        "vectors, exactly. It is not because the sum trains best: at the size measured here concat differs "
        "from it by {001-01|loss.concat(sinusoidal)} nats a byte, concat with a projection by "
        "{001-01|loss.project(sinusoidal)}."};

namespace {

using enum Verdict;

constexpr double kMargin = .02;  // nats a byte: differences within it are called equal

std::vector<Recipe> three(const Desk& d) {
  return {d.language("sinusoidal"), d.language("concat(sinusoidal)"), d.language("project(sinusoidal)")};
}

Architecture sized(const char* spec, std::int64_t width, std::int64_t layers) {
  return make_block("gpt", {.layers = layers, .width = width, .heads = width / 64, .length = 512},
                    Spec::parse(spec));
}

Finding why_add(Desk& desk) {
  Finding f;
  report::IntervalChart chart{"Sum or concatenation: loss against the sum",
                              text("Paired by seed, ± is a 95 % t interval, n = ", desk.seeds(),
                                   "; called equal within ", kMargin, " nats."),
                              "nats per byte, less the sum's; left is better",
                              {}};
  std::string all;
  for (const char* spec : {"concat(sinusoidal)", "project(sinusoidal)"}) {
    const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
    f.estimate(text("loss.", spec), text("loss of ", spec, ", less the sum's (nats)"), e);
    chart.rows.push_back({spec, e.mean, e.half_width, int(chart.rows.size())});
    all += text(all.empty() ? "" : "; ", spec, " is ", compared(e));
  }
  f.figures = {chart};
  f.answer = text(
      "Not because it can do more: concatenation with a matrix is a sum of two mapped vectors (001-05), and "
      "the sum is the cheapest of the family. Nor because it trains best: at this size and budget the loss "
      "of ",
      all, " than the sum's.");
  return f;
}
const Record claim_001_01 = Claim{
    .question = &question_why_add,
    .id = "001-01",
    .says = "Why is the position added to the word, and not concatenated?",
    .method =
        "held-out loss of the sum, of concat (16 of 96 channels) and of concat + projection, same data and "
        "seeds; paired t intervals; equal = interval within ±0.02 nats",
    .expects = "the projection can represent exactly what the sum can; differences are of training",
    .advice = "Add; if you concatenate, give the position 8 to 32 channels of the same width.",
    .recorded = conditional,
    .verdicts = {{holds,
                  {equal("loss.concat(sinusoidal)", kMargin), equal("loss.project(sinusoidal)", kMargin)}},
                 {conditional, {apart("loss.project(sinusoidal)")}},
                 {conditional, {apart("loss.concat(sinusoidal)")}},
                 otherwise(undecided)},
    .recipes = three,
    .measure = why_add,
};

Finding orthogonal_by_concatenation(Desk& desk) {
  Finding f;
  const double add = double(Model(sized("sinusoidal", 512, 6)).param_count()),
               split = double(Model(sized("concat(sinusoidal, width=16)", 512, 6)).param_count()),
               project = double(Model(sized("project(sinusoidal)", 512, 6)).param_count()),
               wide = double(Model(sized("sinusoidal", 1024, 6)).param_count());
  f.near("project_less_sum", "parameters of concat + projection, less the sum's", project - add,
         2 * 512 * 512 + 512, 0, 0);
  f.between("split_less_sum", "parameters of concat within the same width, less the sum's", split - add, -1e9,
            -1, 0);
  f.between("of_65_million", "parameters that the projection adds, of 65 million, percent",
            100 * (project - add) / 65e6, .75, .85, 2);
  f.between("wide_over_sum", "parameters at twice the width, over the sum's", wide / add, 3.8, 4.1, 2);
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
  f.between("image_cosine", "largest cosine between the images of words and positions after the first matrix",
            s.front(), .2, 1, 3);
  f.figures = {table({{"width 512, 6 layers", "parameters", "over the sum's"},
                      {{"sum", {add, 1}},
                       {"concat, 496 + 16", {split, split / add}},
                       {"concat 1024, projected to 512", {project, project / add}},
                       {"twice the width everywhere", {wide, wide / add}}},
                      3})};
  f.answer =
      "Twice. It is orthogonal at the input only: the first matrix mixes the blocks again. And it does not "
      "greatly increase parameters: concat within the width has fewer than the sum, concat with a projection "
      "0.8 % more at 65 million; only twice the width everywhere is four times as large.";
  return f;
}
const Record claim_000_10 = Claim{
    .question = &question_why_add,
    .id = "000-10",
    .says = "Concatenation guarantees orthogonality, at the cost of many more parameters.",
    .method =
        "parameters of models of width 512 with 6 layers; principal angles between the images of the word "
        "block and the position block under the first trained matrix",
    .expects = "orthogonal at the input only; fewer parameters within the width, 2d² more with a projection",
    .advice = "Choose by loss on your data, not by parameter count.",
    .recorded = wrong,
    .verdicts = {{wrong, {at_least("image_cosine", .2), at_most("split_less_sum", -1)}},
                 {conditional, {at_least("image_cosine", .2)}},
                 {conditional, {at_most("split_less_sum", -1)}},
                 otherwise(holds)},
    .recipes = [](const Desk& d) { return std::vector{d.language("concat(sinusoidal)")}; },
    .measure = orthogonal_by_concatenation,
};

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
    f.estimate(text("speed.", r.spec), text("speed over the sum's, ", r.spec), e, 3);
  }
  const double d = double(base.width);
  f.near("project_adds", "parameters that concat + projection adds", rows[2].second[0] - rows[0].second[0],
         2 * d * d + d, 0, 0);
  f.near("split_saves", "parameters that concat within the width saves",
         rows[0].second[0] - rows[1].second[0], 256 * 16, 0, 0);
  f.figures = {
      table({{"arm", "parameters", "MB", "training MFLOP a token", "speed over the sum's"}, rows, 3})};
  const auto percent = [&](std::size_t arm) {
    return 100 * std::abs(rows[arm].second[0] - rows[0].second[0]) / rows[0].second[0];
  };
  f.number("saves_percent", "what concat within the width saves, percent of the sum's parameters", percent(1),
           1);
  f.number("adds_percent", "what concat + projection adds, percent of the sum's parameters", percent(2), 1);
  f.answer = text(
      "Memory hardly decides it: the projection adds 2d² + d numbers, concat within the width saves 16 for "
      "each symbol of the vocabulary. Nor does time that was taken beside other trainings: over the sum's "
      "speed, concat's is ",
      fixed(rows[1].second[3], 2), " and the projection's ", fixed(rows[2].second[3], 2), ".");
  return f;
}
const Record claim_001_02 = Claim{
    .question = &question_why_add,
    .id = "001-02",
    .says = "Apart from saving some memory, is there a reason to add?",
    .method = "parameters, bytes and FLOPs of the three arms; their speed beside other trainings",
    .expects = "2d² + d numbers with a projection, fewer within the width: a few percent",
    .advice = "Memory is no argument either way.",
    .recorded = holds,
    .verdicts = {{holds, {at_most("adds_percent", 10), at_most("saves_percent", 10)}}, otherwise(wrong)},
    .recipes = three,
    .measure = memory,
};

Finding slower(Desk& desk) {
  Finding f = memory(desk);
  f.answer =
      "True only of a concatenation that widens the model. Within the same width it has fewer parameters "
      "than the sum, and with a projection 2d² + d more, which is no matter.";
  return f;
}
const Record claim_003_04 = Claim{
    .question = &question_why_add,
    .id = "003-04",
    .says = "Concatenation costs memory and training time.",
    .method = "as 001-02",
    .expects = "only when the model is widened",
    .advice = "Concatenate within the width.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_least("project_adds", 1), at_least("split_saves", 1)}},
                 {holds, {at_least("project_adds", 1)}},
                 otherwise(wrong)},
    .recipes = three,
    .measure = slower,
};

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
  f.between("folded", "largest difference of a logit, folded against projected", worst, 0, 1e-4, 7);
  const Estimate cost = loss_difference(desk, r, desk.language("sinusoidal"));
  f.estimate("loss", "loss of the projection, less the sum's (nats)", cost);
  f.answer = text(
      "No: W[x; e] = W₁x + W₂e, so concatenation with a projection is a sum of a mapped word and a mapped "
      "position. Folded into an additive model, every trained projection gives the same logits. What differs "
      "is how training goes: ",
      compared(cost), ".");
  return f;
}
const Record claim_001_05 = Claim{
    .question = &question_why_add,
    .id = "001-05",
    .says = "Concatenation followed by a projection can model more complicated relationships than a sum.",
    .method =
        "every trained projecting model folded into an additive one (words W₁x, table W₂e + b): largest "
        "difference of any logit",
    .expects = "equal to float rounding: W[x; e] = W₁x + W₂e",
    .advice =
        "Use it, if at all, for how it trains. With a tied output head, or with RoPE or a bias, the identity "
        "does not apply.",
    .recorded = wrong,
    .verdicts = {{wrong, {asked("folded")}}},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("project(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = folding,
};

Finding trivial(Desk&) {
  Finding f;
  const double base = double(Model(sized("sinusoidal", 512, 6)).param_count()),
               adds = double(Model(sized("project(sinusoidal)", 512, 6)).param_count()) - base;
  f.near("adds", "parameters that the projection adds, d = 512", adds, 2 * 512 * 512 + 512, 0, 0);
  f.between("of_byte_model", "over the parameters of a byte model of that width with 6 layers, percent",
            100 * adds / base, 2, 3.5, 2);
  f.between("of_65_million", "over 65 million, percent", 100 * adds / 65e6, .75, .85, 2);
  f.answer = "Yes for a projection: 524,288 numbers at d = 512, 0.8 % of a model of 65 million.";
  return f;
}
const Record claim_001_06 = Claim{
    .question = &question_why_add,
    .id = "001-06",
    .says = "The extra parameters of a projection are trivial.",
    .method = "2d² against the size of models",
    .expects = "0.8 % of 65 million",
    .advice = "Ignore them.",
    .recorded = holds,
    .verdicts = {{holds, {at_most("of_65_million", 1), at_most("of_byte_model", 5)}}, otherwise(wrong)},
    .measure = trivial,
};

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
  f.estimate("weight.letters", "mean weight of the position, letters",
             mean_where([](std::int32_t w, std::int64_t) { return std::isalpha(w) != 0; }), 3);
  f.estimate("weight.marks", "mean weight of the position, spaces and marks",
             mean_where([](std::int32_t w, std::int64_t) { return std::isalpha(w) == 0; }), 3);
  f.estimate("weight.first", "mean weight of the position, first 4 tokens",
             mean_where([](std::int32_t, std::int64_t t) { return t < 4; }), 3);
  f.estimate("weight.last", "mean weight of the position, last 4 tokens",
             mean_where([&](std::int32_t, std::int64_t t) { return t >= sample.T - 4; }), 3);
  const Estimate cost = loss_difference(desk, r, desk.language("sinusoidal"));
  f.estimate("loss", "loss of the mixture, less the sum's (nats)", cost);
  f.number("parameters", "parameters that it adds",
           double(Model(r.model()).param_count() - Model(desk.language("sinusoidal").model()).param_count()),
           0);
  f.answer = text(
      "It can be done, with 5d² more parameters: an attention over the two sources of each token. Its loss "
      "is ",
      compared(cost, "the sum's"), ".");
  return f;
}
const Record claim_001_07 = Claim{
    .question = &question_why_add,
    .id = "001-07",
    .says = "Why not let attention decide the mixture of word and position?",
    .method =
        "the combination `mixture`: softmax over (q·k_word, q·k_position) for each token; its loss against "
        "the sum's, paired; the mean weight of the position by kind of token",
    .expects = "open; it has 5d² more parameters",
    .advice = "Try `mixture(...)` on your data; it is no free gain.",
    .recorded = wrong,
    .verdicts = {{holds, {below("loss")}}, {wrong, {above("loss")}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("mixture(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = mixture,
};

Finding papers(Desk&) {
  Finding f;
  double found = 0;
  for (const char* entry : {"deberta", "tupe", "transformer_xl", "shaw"}) {
    const bool at_input = find_encoding(entry).acts & kInput;
    found += !at_input && make_encoding(entry, width_of(64))->param_count() > 0;
  }
  f.near("apart", "encodings here that keep position apart from words", found, 4, 0, 0);
  f.number("combinations", "combinations here besides the sum", double(combinations().size()) - 1, 0);
  f.answer =
      "Few concatenate at the input; several keep the two apart inside attention, with matrices of their "
      "own: Shaw 2018, Transformer-XL 2019, TUPE and DeBERTa 2020. Here all of them can be trained and "
      "compared, beside concat and project.";
  return f;
}
const Record claim_001_09 = Claim{
    .question = &question_why_add,
    .id = "001-09",
    .says = "Has anyone concatenated instead of adding?",
    .method = "the registry of encodings and their papers",
    .expects = "separate matrices inside attention rather than concatenation",
    .advice = "`gnomon encodings` lists them with their papers.",
    .recorded = holds,
    .rests_on = citation("Shaw et al. 2018 (arXiv:1803.02155), Dai et al. 2019 (Transformer-XL, 1901.02860), "
                         "Ke et al. 2020 (TUPE, 2006.15595) and He et al. 2020 (DeBERTa, 2006.03654) give "
                         "positions matrices of their own inside attention"),
    .measure = papers,
};

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
  f.near("content", "content to content · √(3d_h) / (q·k)", content * std::sqrt(3.0 * 16) / product, 1, 1e-12,
         9);
  f.near("three_parts", "logit less its three parts", both - content - c2p - p2c, 0, 1e-9, 12);
  f.near("position_position", "position to position", logit(zero, zero, w), 0, 0, 6);
  f.answer =
      "Content to content, content to position and position to content, each with matrices of its own, over "
      "√(3d_h), and no position-to-position term.";
  return f;
}
const Record claim_001_10 = Claim{
    .question = &question_why_add,
    .id = "001-10",
    .says = "DeBERTa disentangles content and position with separate matrices.",
    .method = "the definition's logit with parts set to zero: content alone, position alone",
    .expects = "three terms over √(3d_h); none from position to position",
    .advice =
        "Its checkpoints read the position-to-content distance the other way round than the paper prints it.",
    .recorded = holds,
    .verdicts = {{holds, {asked("content"), asked("three_parts"), asked("position_position")}}},
    .measure = deberta,
};

Recipe with_channels(const Desk& d, int width) {
  return d.language(text("concat(sinusoidal, width=", width, ")"));
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
    const Estimate e = loss(desk, with_channels(desk, width));
    f.estimate(text("loss.", width), text("loss with ", width, " channels"), e);
    mean.points.emplace_back(width, e.mean), all.emplace_back(width, e);
    best = std::min(best, e.mean);
  }
  f.estimate("four_less_32", "loss with 4 channels, less with 32 (nats)",
             loss_difference(desk, with_channels(desk, 4), with_channels(desk, 32)));
  const Estimate sum_loss = loss(desk, desk.language("sinusoidal"));
  chart.series = {mean, {"sum", {{4, sum_loss.mean}, {64, sum_loss.mean}}, 1}};
  f.figures = {chart};
  std::string flat;
  for (const auto& [width, e] : all) {
    if (e.mean < best + kMargin) flat += text(flat.empty() ? "" : ", ", width);
  }
  f.answer = text("It is one more thing to choose, and it matters: within ", kMargin,
                  " nats of the best are the widths ", flat, " of 4 to 64; the losses go from ",
                  fixed(best, 3), " to ",
                  fixed(std::max_element(all.begin(), all.end(),
                                         [](auto& a, auto& b) { return a.second.mean < b.second.mean; })
                            ->second.mean,
                        3),
                  " nats.");
  return f;
}
const Record claim_003_05 = Claim{
    .question = &question_why_add,
    .id = "003-05",
    .says = "A smaller position vector is one more hyper-parameter.",
    .method = "concat with 4, 8, 16, 32 and 64 of 96 channels",
    .expects = "flat from 8 or 16 on, worse when words lose too much",
    .advice = "16 of 96 channels is a safe start.",
    .recorded = holds,
    .verdicts = {{holds, {apart("four_less_32", kMargin)}},
                 {wrong, {equal("four_less_32", kMargin)}},
                 otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const int width : {4, 8, 16, 32, 64}) {
            if (width < d.language("sinusoidal").width) all.push_back(with_channels(d, width));
          }
          return all;
        },
    .measure = width_sweep,
};

}  // namespace
}  // namespace gnomon::claims
