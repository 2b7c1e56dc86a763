#include "gnomon/claims/measures/joining.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>

#include "gnomon/encodings/definition.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

namespace gnomon::claims {
namespace {

bool has(const Model& model, std::string_view name) {
  return std::any_of(model.params().begin(), model.params().end(),
                     [&](const Param& p) { return p.spec.name == name; });
}

std::vector<double> lengths(const Matrix& m) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < m.rows; ++r) out.push_back(std::sqrt(dot(m.row(r), m.row(r))));
  return out;
}

// What asks at each token of a sample in a causal mixture, (tokens, d): its word, or the mean of the words so far.
Matrix asking(const Outcome& o, const Sample& s, const Matrix& words) {
  const bool context = o.model->architecture().position.print().find("query=context") != std::string::npos;
  Matrix all(std::int64_t(s.inputs.size()), words.columns);
  for (std::int64_t n = 0; n < all.rows; ++n) {
    const std::int64_t t = n % s.T, first = context ? 0 : t;
    for (std::int64_t u = first; u <= t; ++u) {
      const auto word = words.row(s.inputs[std::size_t(n - t + u)]);
      for (std::int64_t c = 0; c < words.columns; ++c) all.at(n, c) += word[c] / double(t - first + 1);
    }
  }
  return all;
}
// Of every token of a sample in a trained mixture: the weight of its position, and how long the position's part of the
// mixture is beside the word's.
struct Mixed {
  std::vector<double> weight, ratio;
};
Mixed look_at_mixture(const Outcome& o, const Sample& s) {
  const std::int64_t d = o.model->architecture().width;
  const auto of = [&](const char* name) { return parameter(o.look(), name); };
  constexpr const char* kGain = "position.input.amplitude";
  const double root = std::sqrt(double(d)), gain = has(*o.model, kGain) ? of(kGain).values.front() : 1;
  const Matrix x = scaled(of("embed.word"), root), e = scaled(sinusoid(d, s.T), gain),
               asks = product_transposed(asking(o, s, x), of("embed.combination.query")),
               words = product_transposed(x, of("embed.combination.word.key")),
               places = product_transposed(e, of("embed.combination.position.key"));
  const auto word = lengths(product_transposed(x, of("embed.combination.word.value"))),
             place = lengths(product_transposed(e, of("embed.combination.position.value")));
  Mixed out;
  for (std::size_t n = 0; n < s.inputs.size(); ++n) {
    const std::int64_t w = s.inputs[n], t = std::int64_t(n) % s.T;
    const auto ask = asks.row(std::int64_t(n));
    const double more = (dot(ask, places.row(t)) - dot(ask, words.row(w))) / root;
    out.weight.push_back(1 / (1 + std::exp(-more)));
    out.ratio.push_back(std::exp(more) * place[std::size_t(t)] / word[std::size_t(w)]);
  }
  return out;
}

}  // namespace

Folded fold(const Outcome& o, const Sample& sample) {
  Architecture config = o.model->architecture();
  const std::int64_t d = config.width, T = sample.T;
  config.position = Spec::parse("add(learned, scale=off)");
  const Model folded(config);
  const Matrix weight = parameter(o.look(), "embed.combination.weight"),
               words = parameter(o.look(), "embed.word"), code = sinusoid(d, T);
  const auto bias = parameter(o.look(), "embed.combination.bias").values;
  Floats w(static_cast<std::size_t>(folded.param_count()));
  Matrix made(T, d);
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
        const double value = table ? dot(half, from.row(n)) + bias[std::size_t(c)]
                                   : std::sqrt(double(d)) * dot(half, from.row(n));
        to[n * d + c] = float(value);
        if (table) made.at(n, c) = value;
      }
    }
  }
  const Matrix a = logits(o.look(), sample), b = logits({folded, w}, sample);
  double worst = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n)
    worst = std::max(worst, std::abs(a.values[n] - b.values[n]));
  const Matrix about = centred(made), fixed_code = centred(code);
  const double factor = dot(about.values, fixed_code.values) / squares(fixed_code);
  return {worst, share(squares(sum(about, fixed_code, -factor)), squares(about), squares(made), "fold")};
}

Images images_of_blocks(const Outcome& o, std::int64_t places, std::int64_t draws) {
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const auto overlap_of = [&](const Matrix& m) {
    const Matrix columns = transpose(m);
    return overlap(orthonormal(transpose(columns.block(0, m.columns - places))),
                   orthonormal(transpose(columns.block(m.columns - places, places))))
        .mean_cos2;
  };
  const Random random(61, "blocks");
  double chance = 0;
  for (std::int64_t n = 0; n < draws; ++n)
    chance += overlap_of(product(qkv, random_subspace(random, std::uint64_t(n), qkv.columns, qkv.columns))) /
              double(draws);
  return {overlap_of(qkv), chance};
}

JoinedSizes sizes_of_512() {
  const auto of = [](const char* spec, std::int64_t width) {
    return Model(make_block("gpt", {.layers = 6, .width = width, .heads = width / 64, .length = 512},
                            Spec::parse(spec)));
  };
  const Model sum = of("sinusoidal", 512), wide = of("sinusoidal", 1024);
  const auto count = [](const Model& m) { return double(m.param_count()); };
  return {count(sum), count(of("concat(sinusoidal, width=16)", 512)), count(of("project(sinusoidal)", 512)),
          count(wide), wide.training_flops_per_token(512) / sum.training_flops_per_token(512)};
}

double joined_size(std::string_view spec, std::int64_t width, std::int64_t layers) {
  return double(Model(make_block("gpt", {.layers = layers, .width = width, .heads = 4, .length = 64},
                                 Spec::parse(spec)))
                    .param_count());
}

namespace {
constexpr Shape kSmall{.C = 32, .H = 2, .D = 16, .length = 8, .causal = false};
std::size_t place_of(std::int64_t token, std::int64_t channel) {
  return std::size_t((8 + token) * 16 + channel);
}
}  // namespace

LogitOf::LogitOf(std::string_view spec) : encoding(make_encoding(spec, kSmall)), q(2 * 8 * 16), k(q.size()) {
  const Random random(3, "logits");
  for (std::size_t n = 0; n < q.size(); ++n) q[n] = random.normal(2 * n), k[n] = random.normal(2 * n + 1);
  w.resize(static_cast<std::size_t>(encoding->param_count()));
  for (std::size_t n = 0; n < w.size(); ++n) w[n] = random.normal(100000 + n);
}
double LogitOf::operator()(const std::vector<double>& queries, const std::vector<double>& keys,
                           const std::vector<double>& parameters) const {
  const Placement place = Placement::consecutive(0, kSmall.length);
  const std::vector<double> x(std::size_t(kSmall.length * kSmall.C));
  return Definition(*encoding, Scene{place, queries, keys, parameters, x}).logit(1, 3, 5);
}
double LogitOf::of_channels(std::int64_t first, std::int64_t end) const {
  std::vector<double> some(q.size());
  for (std::int64_t c = first; c < end; ++c) some[place_of(3, c)] = q[place_of(3, c)];
  return (*this)(some, k, w);
}
double LogitOf::plain(std::int64_t first, std::int64_t end) const {
  double product = 0;
  for (std::int64_t c = first; c < end; ++c) product += q[place_of(3, c)] * k[place_of(5, c)];
  return product / std::sqrt(double(kSmall.D));
}

namespace {
// Seconds of a training step of each recipe over those of the first: all in turn in one process, medians of blocks of steps.
// Nothing else of this command runs meanwhile.
std::vector<Estimate> step_ratios(Experiment& experiment, const std::vector<Recipe>& recipes) {
  const std::int64_t blocks = experiment.quick ? 2 : 8, steps = 7;
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<Sample> batches;
  for (const Recipe& r : recipes) {
    TrainConfig config;
    batches.push_back(experiment.held_out(r, r.batch));
    config.steps = blocks * steps + 1, config.batch = batches.back().count();
    trainers.push_back(std::make_unique<Trainer>(r.model(), config, 1));
  }
  const auto seconds = [&](std::size_t n) {
    const auto start = std::chrono::steady_clock::now();
    trainers[n]->train(batches[n].tokens(0, batches[n].count()));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (std::size_t n = 0; n < recipes.size(); ++n) seconds(n);  // the first step makes what the others keep
  std::vector<std::vector<double>> of_block(recipes.size());
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::vector<std::vector<double>> ratios(recipes.size());
    for (std::int64_t k = 0; k < steps; ++k) {
      std::vector<double> took;
      for (std::size_t n = 0; n < recipes.size(); ++n) took.push_back(seconds(n));
      for (std::size_t n = 0; n < recipes.size(); ++n) ratios[n].push_back(took[n] / took[0]);
    }
    for (std::size_t n = 0; n < recipes.size(); ++n) of_block[n].push_back(median(ratios[n]));
  }
  std::vector<Estimate> out;
  for (const auto& r : of_block) out.push_back(mean_interval(r));
  return out;
}

}  // namespace

std::vector<Recipe> three_ways(const Experiment& d) {
  return {d.language("sinusoidal"), d.language("concat(sinusoidal)"), d.language("project(sinusoidal)")};
}

Finding costs_of_joining(Experiment& experiment) {
  Finding f;
  const std::vector<Recipe> arms = three_ways(experiment);
  experiment.models(arms.front());  // there are some, or nothing is measured
  std::vector<double> parameters, flops;
  for (const Recipe& r : arms) {
    const Model m(r.model());
    parameters.push_back(double(m.param_count()));
    flops.push_back(m.training_flops_per_token(r.length));
  }
  const std::vector<Estimate> time = step_ratios(experiment, arms);
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  for (std::size_t n = 0; n < arms.size(); ++n) {
    rows.push_back(
        {arms[n].spec,
         {parameters[n], parameters[n] * 4 / 1e6, flops[n] / 1e6, flops[n] / flops[0], time[n].mean}});
    if (n)
      f.estimate(text("time.", arms[n].spec),
                 text("time of a training step divided by the sum's, ", arms[n].spec), time[n], 3);
  }
  const double d = double(arms.front().width);
  f.near("project_adds", "parameters that concat + projection adds", parameters[2] - parameters[0],
         2 * d * d + d, 0, 0);
  f.near("split_saves", "parameters that concat within the width saves", parameters[0] - parameters[1],
         256 * 16, 0, 0);
  for (std::size_t n = 1; n < arms.size(); ++n)
    f.estimate(text("loss.", arms[n].spec),
               text("loss of ", arms[n].spec, " minus loss of the sum (nats per byte)"),
               loss_difference(experiment, arms[n], arms.front()));
  const double saves = 100 * (1 - parameters[1] / parameters[0]),
               adds = 100 * (parameters[2] / parameters[0] - 1);
  f.number("saves_percent", "parameters that concat within the width saves, percent of the sum's", saves, 1);
  f.number("adds_percent", "parameters that concat + projection adds, percent of the sum's", adds, 1);
  f.number("split_flops", "training FLOPs per token of concat within the width, divided by the sum's",
           flops[1] / flops[0]);
  f.number("project_flops", "training FLOPs per token of concat + projection, divided by the sum's",
           flops[2] / flops[0]);
  f.number(
      "wide_flops",
      "training FLOPs per token of twice the width, divided by the sum's (512 to 1,024 channels in 6 layers)",
      sizes_of_512().wide_flops, 2);
  f.figures = {table(
      {{"arm", "parameters", "MB", "training MFLOP per token", "divided by the sum's", "time of a step"},
       rows,
       3})};
  return f;
}
Finding mixed_by_attention(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("mixture(sinusoidal)"), loud = experiment.language(kLoudMixture);
  const Sample sample = experiment.held_out(r, 64);
  const auto mean = [](const std::vector<double>& x) { return mean_interval(x).mean; };
  const auto weight_where = [&](auto&& chosen) {
    return mean_interval(each(experiment, r, [&](const Outcome& o) {
      const Mixed mixed = look_at_mixture(o, sample);
      std::vector<double> some;
      for (std::size_t k = 0; k < mixed.weight.size(); ++k) {
        if (chosen(sample.inputs[k])) some.push_back(mixed.weight[k]);
      }
      return mean(some);
    }));
  };
  f.estimate("weight.letters", "mean weight of the position at letters",
             weight_where([](std::int32_t w) { return std::isalpha(w) != 0; }), 3);
  f.estimate("weight.marks", "mean weight of the position at spaces and marks",
             weight_where([](std::int32_t w) { return std::isalpha(w) == 0; }), 3);
  const auto ratio_of = [&](const Recipe& which) {
    return mean_interval(
        each(experiment, which, [&](const Outcome& o) { return median(look_at_mixture(o, sample).ratio); }));
  };
  const Estimate quiet = ratio_of(r), matched = ratio_of(loud),
                 sum = mean_interval(each(experiment, experiment.language(kLoud), [&](const Outcome&o) {
                   return norm_ratio(positions_of(o, sample), words_of(o, sample)).raw;
                 }));
  f.estimate("ratio", "length of the position's part divided by the word's, median, mixture", quiet, 2);
  f.estimate("ratio.loud", "the same ratio, mixture with a learned gain that starts at 3", matched, 2);
  f.estimate("ratio.sum", "the same ratio, sum at three times the amplitude", sum, 2);
  const OnTheWay plain = on_the_way(experiment, r, experiment.language("sinusoidal")),
                 like = on_the_way(experiment, loud, experiment.language(kLoud));
  show(f, "loss", "loss of the mixture minus loss of the sum", plain);
  show(f, "matched",
       "loss of the mixture whose position starts three times as loud minus loss of an equally loud sum",
       like);
  for (const EvenMixture& even : kEvenMixtures) {
    const Recipe begun = experiment.language(even.spec);
    const std::string key = even.key, name = text("mixture that starts at one half, ", even.asks);
    f.estimate(key + ".ratio", text("length of the position's part divided by the word's, median, ", name),
               ratio_of(begun), 2);
    show(f, key, text("loss of the ", name, ", minus loss of the sum"),
         on_the_way(experiment, begun, experiment.language("sinusoidal")));
    f.estimate(key + ".project", text("loss of the ", name, ", minus loss of concat with a projection"),
               loss_difference(experiment, begun, experiment.language("project(sinusoidal)")), 3);
  }
  f.number(
      "parameters", "parameters that the mixture adds",
      double(Model(r.model()).param_count() - Model(experiment.language("sinusoidal").model()).param_count()),
      0);
  return f;
}
}  // namespace gnomon::claims
