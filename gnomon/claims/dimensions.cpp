// How many dimensions have words and positions, and what do they do by chance?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {
namespace {

Finding nearly_orthogonal(Desk& desk) {
  Finding f;
  struct Row {
    std::int64_t d;
    double mean, sd, at99;
  };
  const Row rows[] = {{64, .100, .125, .322},
                      {128, .071, .088, .228},
                      {384, .041, .051, .132},
                      {512, .035, .044, .114},
                      {768, .029, .036, .093}};
  const std::int64_t pairs = desk.draws(40000);
  report::LineChart chart{"The cosine of two random vectors",
                          text("Share of ", pairs, " Gaussian pairs in each bin of 0.02."),
                          {"|cos|"},
                          {"share of the pairs"},
                          {}};
  int style = 0;
  for (const Row& r : rows) {
    const Matrix a = gaussian_words(pairs, r.d, 11), b = gaussian_words(pairs, r.d, 12);
    std::vector<double> cosines;
    double mean = 0, square = 0;
    for (std::int64_t n = 0; n < pairs; ++n) {
      const double c =
          std::abs(dot(a.row(n), b.row(n))) / std::sqrt(dot(a.row(n), a.row(n)) * dot(b.row(n), b.row(n)));
      cosines.push_back(c), mean += c / double(pairs), square += c * c / double(pairs);
    }
    std::sort(cosines.begin(), cosines.end());
    // The printed digits, and three standard errors of this many pairs.
    const double error = 3 * r.sd / std::sqrt(double(pairs));
    f.near(text("E|cos|, d = ", r.d), mean, r.mean, 5e-4 + .6 * error, 3);
    f.near(text("deviation of cos, d = ", r.d), std::sqrt(square), r.sd, 5e-4 + .71 * error, 3);
    f.near(text("99 % of |cos| below, d = ", r.d), cosines[std::size_t(.99 * double(pairs))], r.at99,
           5e-4 + 3.5 * error, 3);
    if (r.d == 384) continue;
    report::Series s{text("d = ", r.d), {}, style++};
    for (double low = 0; low < .4; low += .02) {
      const auto in =
          std::count_if(cosines.begin(), cosines.end(), [&](double c) { return c >= low && c < low + .02; });
      s.points.emplace_back(low + .01, double(in) / double(pairs));
    }
    chart.series.push_back(std::move(s));
  }
  const SubspaceSizes sizes{512, 42, 256};
  const OverlapNull null = random_overlap(sizes, desk.draws(40), 3);
  f.near("mean cos² of random subspaces of 42 and 256 dimensions, d = 512", null.mean_cos2, .5, .01, 3);
  f.figures = draw(chart);
  f.conclude(Verdict::conditional,
             "True of pairs of vectors: at d = 512 the cosine is 0.035 on average. It says nothing about "
             "subspaces: a random one of 42 dimensions lies half inside a random one of 256.");
  return f;
}

Finding dimensions(Desk& desk) {
  Finding f;
  struct Row {
    std::int64_t d, T;
    std::int64_t count[4];
  };
  const Row rows[] = {{512, 20, {5, 6, 7, 8}},         {512, 50, {12, 14, 16, 17}},
                      {512, 128, {28, 34, 40, 42}},    {512, 512, {80, 96, 111, 116}},
                      {64, 128, {16, 18, 20, 20}},     {128, 128, {23, 26, 29, 30}},
                      {384, 128, {28, 34, 40, 42}},    {384, 512, {72, 84, 96, 99}},
                      {768, 512, {90, 111, 133, 139}}, {512, 2048, {148, 169, 187, 193}}};
  const double shares[] = {.9, .95, .99, .999};
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  for (const Row& r : rows) {
    if (desk.quick && r.T > 512) continue;
    const Spectrum s = spectrum(sinusoid(r.d, r.T));
    std::vector<double> found;
    for (int k = 0; k < 4; ++k) {
      found.push_back(double(s.count(shares[k])));
      f.near(text("components for ", 100 * shares[k], " %, d = ", r.d, ", T = ", r.T), found.back(),
             double(r.count[k]), 0, 0);
    }
    found.insert(found.end(), {s.participation_ratio(), s.effective_rank(), double(r.T) / 3.14159265});
    shown.emplace_back(text("d = ", r.d, ", T = ", r.T), found);
    if (r.d == 512 && r.T == 20) f.near("participation ratio, T = 20", s.participation_ratio(), 4.3, .06, 1);
    if (r.d == 512 && r.T == 128) {
      f.near("participation ratio, T = 128", s.participation_ratio(), 13.5, .06, 1);
      f.near("effective rank, T = 128", s.effective_rank(), 23.3, .06, 1);
    }
    if (r.d == 512 && r.T == 512)
      f.near("participation ratio, T = 512", s.participation_ratio(), 24.1, .06, 1);
  }
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, 64);
  const Estimate words = mean_interval(
      each(desk, r, [&](const Outcome& o) { return spectrum(words_of(o, sample)).participation_ratio(); }));
  const Estimate start = mean_interval(each(desk, r, [&](const Outcome& o) {
    return spectrum(words_of(at_start(o), sample)).participation_ratio();
  }));
  f.estimate(text("participation ratio of the trained words, d = ", r.width), words, 1);
  f.estimate("the same at the start", start, 1);
  f.figures = table(
      {{"sinusoid", "90 %", "95 %", "99 %", "99.9 %", "participation", "effective rank", "T/π"}, shown, 1});
  f.conclude(Verdict::conditional, text("Positions do: about T/π dimensions, 42 of 512 at T = 128, whatever "
                                        "the width. Words much less: in trained models of width ",
                                        r.width, " the participation ratio of the letters is ",
                                        told(words, 1), ", from ", told(start, 1), " at the start."));
  return f;
}

Finding dims_move(Desk&) {
  Finding f;
  struct Row {
    std::int64_t T;
    double count[6], variance;
  };
  const Row rows[] = {{20, {362, 250, 181, 120, 97, 201}, 58.2},
                      {50, {415, 304, 234, 173, 149, 252}, 83.6},
                      {128, {450, 356, 287, 226, 203, 304}, 109.7},
                      {512, {489, 434, 365, 303, 280, 382}, 148.2}};
  const double thresholds[] = {.007, .1, .5, 1, 1.9};
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  for (const Row& r : rows) {
    const Channels c = channels(sinusoid(512, r.T));
    std::vector<double> found;
    for (const double t : thresholds) found.push_back(double(c.range_above(t)));
    found.push_back(double(c.deviation_above(.1)));
    double total = 0;
    for (const double v : c.variance) total += v;
    for (int k = 0; k < 6; ++k)
      f.near(text("T = ", r.T, k < 5 ? ", range > " : ", deviation > ", k < 5 ? thresholds[k] : .1),
             found[std::size_t(k)], r.count[k], 0, 0);
    f.near(text("T = ", r.T, ", total variance of 256"), total, r.variance, .06, 1);
    found.push_back(total);
    shown.emplace_back(text("T = ", r.T), found);
  }
  const Channels c = channels(sinusoid(512, 128));
  const auto flagged = double(c.range_above(.9));
  f.number("T = 128, range > 0.9", flagged, 0);
  report::LineChart chart{"How far each channel moves over 128 positions",
                          "512 channels of the paper's sinusoid, sorted.",
                          {"channel, sorted by its range"},
                          {"range: largest less smallest value", true, {.001, .01, .1, .5, 1, 2}},
                          {}};
  std::vector<double> sorted = c.range;
  std::sort(sorted.rbegin(), sorted.rend());
  report::Series s{"range", {}, 0};
  for (std::size_t k = 0; k < sorted.size(); ++k) s.points.emplace_back(double(k), std::max(sorted[k], 1e-4));
  chart.series = {s};
  chart.y = {"range: largest less smallest value"};
  f.figures =
      draw(chart) +
      table({{"d = 512", "range > .007", "> .1", "> .5", "> 1", "> 1.9", "deviation > .1", "variance of 256"},
             shown,
             1});
  f.conclude(Verdict::conditional,
             "The count is the threshold: over 128 positions 356 channels move by more than 0.1, 226 by more "
             "than 1; 256 needs a threshold of about 0.9. 57 % of the energy of the code is one constant "
             "vector, a bias.");
  return f;
}

}  // namespace

extern const Claim claim_000_05;
const Claim claim_000_05 = {
    .id = "000-05",
    .question = "orthogonal",
    .says = "Random vectors of high dimension are almost orthogonal.",
    .method =
        "|cos| of Gaussian pairs at five widths, against √(2/(πd)) and 1/√d; overlap of random subspaces",
    .expects =
        "E|cos| = 0.035 at d = 512; but mean cos² of random subspaces of 42 and 256 dimensions is 256/512",
    .advice = "Never argue about subspaces from the angle of two vectors.",
    .expected = Verdict::conditional,
    .measure = nearly_orthogonal};

extern const Claim claim_000_07;
const Claim claim_000_07 = {
    .id = "000-07",
    .question = "orthogonal",
    .says = "Words and positions each live in a smaller subspace.",
    .method =
        "principal components for 90, 95, 99 and 99.9 % of the variance about the mean; participation ratio "
        "(Σλ)²/Σλ²; exp of the entropy of λ",
    .expects =
        "the sinusoid has about T/π dimensions: its fastest frequency is 1 radian a token (Slepian's count)",
    .advice = "Budget T/π dimensions for the position; a wider model leaves the rest to words.",
    .expected = Verdict::conditional,
    .recipes = additive,
    .measure = dimensions};

extern const Claim claim_001_13;
const Claim claim_001_13 = {
    .id = "001-13",
    .question = "orthogonal",
    .says = "Only about 256 of the 512 values of the code move with the position.",
    .method = "range and deviation of every channel over T positions; counts above thresholds",
    .expects = "any number between 200 and 450, by the threshold",
    .advice = "Give the threshold and the length with such a count; 42 principal components say more.",
    .expected = Verdict::conditional,
    .measure = dims_move};

}  // namespace gnomon::claims
