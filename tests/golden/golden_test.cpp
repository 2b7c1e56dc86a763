// Definitions against numbers from code that gnomon does not share (tests/golden/make_conventions.py), with a
// negative control: another convention must not reproduce them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/file.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;

// Largest difference of an encoding from the numbers of a case.
using Distance = std::function<double(const std::string& spec, const Json& c)>;

void expect_golden(const std::string& file, const Distance& distance) {
  const Json golden = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / (file + ".json")));
  int cases = 0, controls = 0;
  for (const Json& c : golden.at("cases")) {
    const double tolerance = c.value("tolerance", 0.0);
    EXPECT_LE(distance(c.at("spec"), c), tolerance) << c.at("spec") << ", case " << cases << " of " << file;
    for (const std::string wrong : c.at("wrong")) {
      EXPECT_GT(distance(wrong, c), 100 * tolerance)
          << wrong << " passes for " << c.at("spec") << ", case " << cases;
      ++controls;
    }
    ++cases;
  }
  EXPECT_GT(cases, 0);
  EXPECT_GT(controls, 0);
}

double input_distance(const std::string& spec, const Json& c) {
  const auto positions = c.at("positions").get<std::vector<double>>();
  const std::int64_t C = c.at("channels");
  const auto e = make_encoding(spec, {C, 1, C, 4, true});
  const Floats tables = part<InputPart>(*e)->tables(positions);
  double most = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::int64_t ch = 0; ch < C; ++ch) {
      const double want = c.at("values")[t][std::size_t(ch)];
      most = std::max(
          most, std::abs(part<InputPart>(*e)->input({positions, {}, {}, {}}, std::int64_t(t), ch) - want));
    }
  }
  return most;
}

TEST(Golden, PaperSinusoid) { expect_golden("sinusoidal_paper", input_distance); }
TEST(Golden, Tensor2tensorSinusoid) { expect_golden("sinusoidal_tensor2tensor", input_distance); }

// Far positions on the fast path: cos and sin within 1e-6 of 50-digit arithmetic at position 1048575.
TEST(Golden, TheFastPathKeepsFarPositions) {
  expect_golden("sinusoidal_paper", [](const std::string& spec, const Json& c) {
    const auto positions = c.at("positions").get<std::vector<double>>();
    const std::int64_t C = c.at("channels");
    const auto e = make_encoding(spec, {C, 1, C, 4, true});
    const Floats tables = part<InputPart>(*e)->tables(positions);
    Floats fast(std::int64_t(positions.size()) * C);
    part<InputPart>(*e)->input({positions, tables, nullptr}, fast.data());
    double most = 0;
    for (std::int64_t n = 0; n < std::int64_t(fast.size()); ++n)
      most = std::max(
          most, std::abs(fast[n] - c.at("values")[std::size_t(n / C)][std::size_t(n % C)].get<double>()));
    return most < 1e-6 ? 0 : most;
  });
}

TEST(Golden, Rotations) {
  expect_golden("rope", [](const std::string& spec, const Json& c) {
    const std::int64_t H = c.at("heads"), D = c.at("size");
    const auto positions = c.at("positions").get<std::vector<double>>(),
               q = c.at("q").get<std::vector<double>>(), k = c.at("k").get<std::vector<double>>();
    const auto e = make_encoding(spec, {H * D, H, D, 16, true});
    const std::int64_t T = std::int64_t(positions.size());
    double most = 0;
    for (std::int64_t n = 0; n < H * T * T; ++n) {
      const double want = c.at("logits")[std::size_t(n)];
      most = std::max(
          most, std::abs(Definition(*e, {positions, q, k, {}}).logit(n / (T * T), n / T % T, n % T) - want));
    }
    return most;
  });
}

TEST(Golden, AlibiSlopes) {
  expect_golden("alibi", [](const std::string& spec, const Json& c) {
    const std::int64_t H = c.at("heads");
    const auto e = make_encoding(spec, {4 * H, H, 4, 16, true});
    const std::vector<double> positions{5, 8}, zero(std::size_t(2 * H * 4));
    double most = 0;
    for (std::int64_t h = 0; h < H; ++h) {
      const double slope = c.at("slopes")[std::size_t(h)];
      most = std::max(
          most, std::abs(Definition(*e, {positions, zero, zero, {}}).logit(h, 1, 0) / (-3 * slope) - 1));
    }
    return most;
  });
}

TEST(Golden, T5Buckets) {
  expect_golden("t5", [](const std::string& spec, const Json& c) {
    const bool causal = c.at("causal");
    const auto e = make_encoding(spec, {4, 1, 4, 16, causal});
    std::vector<double> w(std::size_t(e->param_count()));
    for (std::size_t b = 0; b < w.size(); ++b) w[b] = double(b);  // the bias of a distance is its bucket
    const std::vector<double> zero(8);
    double most = 0;
    for (std::size_t n = 0; n < c.at("deltas").size(); ++n) {
      const std::vector<double> positions{0, c.at("deltas")[n].get<double>()};
      most = std::max(most, std::abs(Definition(*e, {positions, zero, zero, w}).logit(0, 1, 0) -
                                     c.at("buckets")[n].get<double>()));
    }
    return most;
  });
}

// --- Cases by kind: what golden.py writes.

struct Made {
  std::unique_ptr<Encoding> encoding;
  std::vector<double> w;
};
// Encodings that act together, as in "shaw+window(size=3)", one by one.
std::vector<std::string> parts_of(const std::string& spec) {
  std::vector<std::string> parts{""};
  for (const char c : spec) {
    if (c == '+') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}
// The encoding of a case with the case's parameters by their names; a wrong one has those that it knows.
Made make_case(const std::string& spec, const Json& c, const Shape& shape) {
  Made made{make_encoding(spec, shape), {}};
  const Json params = c.value("params", Json::object());
  for (const auto& p : made.encoding->params()) {
    std::vector<double> values(std::size_t(p.size()), 0.0);
    if (params.contains(p.name)) {
      const auto given = params.at(p.name).get<std::vector<double>>();
      if (given.size() == values.size()) {
        values = given;
      } else if (const auto right = parts_of(c.at("spec")); std::count(right.begin(), right.end(), spec)) {
        ADD_FAILURE() << spec << ": " << p.name << " has " << p.size() << " numbers, the case "
                      << given.size();
      }
    }
    made.w.insert(made.w.end(), values.begin(), values.end());
  }
  return made;
}
Placement placement_of(const Json& c) {
  std::vector<double> values;
  std::int64_t axes = 1;
  for (const Json& p : c.at("positions")) {
    if (p.is_array()) {
      axes = std::int64_t(p.size());
      for (const double x : p) values.push_back(x);
    } else {
      values.push_back(p);
    }
  }
  return Placement::of(values, 1, axes);
}
std::vector<double> numbers(const Json& c, const char* name) {
  return c.contains(name) ? c.at(name).get<std::vector<double>>() : std::vector<double>{};
}
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    most = std::isnan(d) ? INFINITY : std::max(most, d);
  }
  return most;
}

std::vector<double> vectors(const std::string& spec, const Json& c) {
  const std::int64_t C = c.at("channels");
  const Placement place = placement_of(c);
  const Made made =
      make_case(spec, c, {C, 1, C, c.value("length", std::int64_t(16)), c.value("causal", true)});
  const auto x = numbers(c, "x");
  std::vector<double> found;
  for (std::int64_t n = 0; n < place.T() * C; ++n)
    found.push_back(part<InputPart>(*made.encoding)->input({place, {}, {}, made.w, x}, n / C, n % C));
  return found;
}
// Attention weights (H,T,T) and what they return (H,T,D), by the definition.
struct Attended {
  std::vector<double> weights, out;
};
Attended attended(const std::string& spec, const Json& c) {
  const std::int64_t H = c.at("heads"), D = c.at("size");
  const Placement place = placement_of(c);
  const std::int64_t T = place.T();
  const bool causal = c.at("causal");
  const Shape shape{H * D, H, D, c.value("length", T), causal};
  std::vector<Made> made;
  std::vector<Defined> defined;
  for (const std::string& one : parts_of(spec)) made.push_back(make_case(one, c, shape));
  for (const Made& one : made) defined.push_back({one.encoding.get(), one.w});
  const auto q = numbers(c, "q"), k = numbers(c, "k"), x = numbers(c, "x"),
             projections = numbers(c, "projections");
  auto v = numbers(c, "v");
  v.resize(q.size());
  const std::int64_t weight = H * D * H * D;
  const double* p = projections.data();
  const Scene scene{place, q, k, {}, x, v, {p, p + weight, p + 2 * weight, p + 2 * weight + H * D}};
  const Definition definition(shape, defined, scene);
  Attended all{std::vector<double>(std::size_t(H * T * T)), std::vector<double>(q.size())};
  for (std::int64_t n = 0; n < H * T; ++n) {
    const std::int64_t h = n / T, i = n % T;
    double sum = 0;
    double* row = &all.weights[n * T];
    for (std::int64_t j = 0; j < T; ++j) {
      if (definition.sees(i, j)) sum += row[j] = std::exp(definition.ln_weight(h, i, j));
    }
    for (std::int64_t j = 0; definition.weights() == Weighting::softmax && j < T; ++j) row[j] /= sum;
    const auto out = definition.output(h, i);
    std::copy(out.begin(), out.end(), &all.out[n * D]);
  }
  return all;
}
std::vector<double> gram(const std::vector<double>& rows, std::int64_t C) {
  std::vector<double> g;
  const std::int64_t T = std::int64_t(rows.size()) / C;
  for (std::int64_t n = 0; n < T * T; ++n) {
    double dot = 0;
    for (std::int64_t c = 0; c < C; ++c) dot += rows[n / T * C + c] * rows[n % T * C + c];
    g.push_back(dot);
  }
  return g;
}
std::vector<double> sorted_rows(const std::vector<double>& rows, std::int64_t C) {
  std::vector<std::vector<double>> each;
  for (std::size_t n = 0; n < rows.size(); n += std::size_t(C)) {
    each.emplace_back(&rows[n], &rows[n] + C);
    for (double& value : each.back()) value = std::round(value * 1e9) / 1e9 + 0.0;
  }
  std::sort(each.begin(), each.end());
  std::vector<double> all;
  for (const auto& row : each) all.insert(all.end(), row.begin(), row.end());
  return all;
}
double moment_distance(const std::vector<double>& x, const Json& c) {
  double most = 0;
  for (const auto& [n, power] : {std::pair{0, 1}, {1, 2}, {2, 4}}) {
    double mean = 0;
    for (const double value : x) mean += std::pow(value, power) / double(x.size());
    most = std::max(most, std::abs(mean - c.at("values")[std::size_t(n)].get<double>()) /
                              c.at("errors")[std::size_t(n)].get<double>());
  }
  return most;  // 1 = four standard errors
}
std::vector<double> mean_of_draws(const std::string& spec, const Json& c) {
  const std::int64_t T = c.at("tokens"), draws = c.at("draws");
  const auto e = make_encoding(spec, {16, 2, 8, T, true});
  std::vector<double> mean(std::size_t(T), 0.0);
  for (std::int64_t n = 0; n < draws; ++n) {
    auto row = Placement::consecutive(0, T).values;
    part<PlacePart>(*e)->place(Random(1, "golden"), std::uint64_t(n), c.at("training"), row);
    for (std::size_t t = 0; t < row.size(); ++t) mean[t] += row[t] / double(draws);
  }
  return mean;
}

double distance_by_kind(const std::string& spec, const Json& c) {
  const std::string kind = c.at("kind");
  if (kind == "weights") return largest_difference(attended(spec, c).weights, numbers(c, "weights"));
  if (kind == "output") return largest_difference(attended(spec, c).out, numbers(c, "out"));
  const auto want = numbers(c, "values");
  if (kind == "mean") return largest_difference(mean_of_draws(spec, c), want);
  const auto found = vectors(spec, c);
  const std::int64_t C = c.at("channels");
  if (kind == "input") return largest_difference(found, want);
  if (kind == "gram") return largest_difference(gram(found, C), want);
  if (kind == "rows") return largest_difference(sorted_rows(found, C), sorted_rows(want, C));
  if (kind == "moments") return moment_distance(found, c);
  ADD_FAILURE() << "unknown kind " << kind;
  return INFINITY;
}

const char* const kByKind[] = {"inputs",  "masks",    "samplers", "rotations", "relative",
                               "windows", "families", "content",  "flagships", "vision",
                               "sound",   "dense",    "authors"};

class GoldenFile : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Files, GoldenFile, testing::ValuesIn(kByKind),
                         [](const auto& file) { return std::string(file.param); });

TEST_P(GoldenFile, DefinitionsReproduceItAndOtherConventionsDoNot) {
  const Json golden =
      Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / (std::string(GetParam()) + ".json")));
  for (const Json& c : golden.at("cases")) {
    const double tolerance = c.at("tolerance");
    EXPECT_LE(distance_by_kind(c.at("spec"), c), tolerance) << c.at("spec") << ", by " << c.at("source");
    EXPECT_FALSE(c.at("wrong").empty());
    // A difference has to be a difference: well above the tolerance, and above what rounding does.
    for (const std::string wrong : c.at("wrong")) {
      const double factor = c.at("kind") == "mean" || c.at("kind") == "moments" ? 2 : 20;
      EXPECT_GT(distance_by_kind(wrong, c), factor * tolerance) << wrong << " passes for " << c.at("spec");
    }
    EXPECT_FALSE(c.at("source").get<std::string>().empty());
  }
}

// Every entry of the registry has a case, by code that is not ours.
TEST(Golden, EveryEncodingHasACase) {
  std::set<std::string> covered;
  std::vector<const char*> files(std::begin(kByKind), std::end(kByKind));
  files.insert(files.end(), {"alibi", "rope", "sinusoidal_paper", "sinusoidal_tensor2tensor", "t5"});
  for (const char* file : files) {
    const Json golden = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / (std::string(file) + ".json")));
    EXPECT_FALSE(golden.at("source").empty()) << file;
    for (const Json& c : golden.at("cases")) {
      const std::string spec = c.at("spec");
      covered.insert(spec.substr(0, spec.find('(')));
    }
  }
  for (const Entry* entry : encodings()) EXPECT_TRUE(covered.count(std::string(entry->name))) << entry->name;
}

// The values that the text of arXiv 2108.12409's users check first, and T5's: written out, no script needed.
TEST(Golden, WellKnownValues) {
  const double twelve[] = {.5,       .25,       .125,      .0625,     .03125,    .015625,
                           .0078125, .00390625, .70710678, .35355339, .17677670, .08838835};
  const auto alibi = make_encoding("alibi", {48, 12, 4, 16, true});
  const std::vector<double> two{0, 1}, zero(96);
  for (std::int64_t h = 0; h < 12; ++h)
    EXPECT_NEAR(Definition(*alibi, {two, zero, zero, {}}).logit(h, 1, 0), -twelve[h], 1e-8);

  const auto encoding = make_encoding("sinusoidal", {512, 1, 512, 16, true});
  const auto* kernel = part<InputPart>(*encoding);
  const double K[] = {.973055, .905209, .827146, .768313, .740612, .735344};
  for (int k = 1; k <= 6; ++k) {
    const std::vector<double> positions{0, double(k)};
    double dot = 0;
    for (std::int64_t c = 0; c < 512; ++c)
      dot += kernel->input({positions, {}, {}, {}}, 0, c) * kernel->input({positions, {}, {}, {}}, 1, c);
    EXPECT_NEAR(dot / 256, K[k - 1], 5e-7);
  }
}

}  // namespace
}  // namespace gnomon
