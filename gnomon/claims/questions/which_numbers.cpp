// Which numbers does the formula give?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/measures.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/which_numbers.txt.inc"
    ;
Question question_which_numbers{.key = "which_numbers", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding code_of_the_answer(Experiment&) {
  Finding f;
  const Matrix near_ = sinusoid(16, 128), far = sinusoid(16, 2, 100005);
  f.near("paper.105_106", "product of positions 105 and 106", dot(near_.row(105), near_.row(106)),
         7.485166243, 1e-6, 9);
  f.near("paper.5_6", "product of positions 5 and 6", dot(near_.row(5), near_.row(6)), 7.485166243, 1e-6, 9);
  f.near("paper.5_10", "product of positions 5 and 10", dot(near_.row(5), near_.row(10)), 6.137039961, 1e-6,
         9);
  const Matrix t2t = sinusoid(16, 128, 0, kTensor2tensor);
  f.near("t2t.5_6", "tensor2tensor: product of positions 5 and 6", dot(t2t.row(5), t2t.row(6)), 7.501743870,
         1e-6, 9);
  f.near("t2t.5_10", "tensor2tensor: product of positions 5 and 10", dot(t2t.row(5), t2t.row(10)),
         6.442037617, 1e-6, 9);
  f.near("far.double", "product of positions 100,005 and 100,006, angles in double",
         dot(far.row(0), far.row(1)), 7.485166243, 1e-6, 9);
  double single = 0;
  for (int i = 0; i < 8; ++i) {
    const float w = std::pow(10000.0f, -2.0f * float(i) / 16.0f), a = 100005.0f * w, b = 100006.0f * w;
    single += double(std::sin(a) * std::sin(b) + std::cos(a) * std::cos(b));
  }
  f.between("far.float32", "error of the product of positions 100,005 and 100,006, angles in float32",
            std::abs(single - 7.485166243), 1e-5, 1e-2, 6);
  const double kernel[] = {8, 7.4852, 6.3683, 5.5431, 5.5597, 6.1370, 6.4448, 5.8922, 4.6972};
  for (int k = 0; k < 9; ++k)
    f.near(text("distance.", k), text("dot product at distance ", k), dot(near_.row(20), near_.row(20 + k)),
           kernel[k], 5.1e-5);
  return f;
}
const Record claim_004_16 = Claim{
    .question = &question_which_numbers,
    .id = "004-16",
    .text = claim_text(kText, "004-16"),
    .recorded = holds,
    .verdicts = {{holds, {asked("paper"), asked("distance")}}},
    .measure = code_of_the_answer,
};

Finding formula(Experiment&) {
  const Shape shape = width_of(512);
  const auto encoding = make_encoding(kPaper, shape);
  const Placement places = Placement::consecutive(0, 512);
  const auto& waves = *part<InputPart>(*encoding);
  const Floats tables = waves.tables(places);
  std::vector<float> e(512 * 512);
  waves.input({places, tables, nullptr}, e.data());
  long double worst = 0;
  for (int t = 0; t < 512; ++t) {
    for (int i = 0; i < 256; ++i) {
      const long double angle = t * std::pow(10000.0L, -2.0L * i / 512);
      worst = std::max({worst, std::abs(std::sin(angle) - e[std::size_t(t * 512 + 2 * i)]),
                        std::abs(std::cos(angle) - e[std::size_t(t * 512 + 2 * i + 1)])});
    }
  }
  Finding f;
  f.between("error", "largest error of the float32 table", double(worst), 0, 1e-6, 9);
  return f;
}
const Record claim_002_01 = Claim{
    .question = &question_which_numbers,
    .id = "002-01",
    .text = claim_text(kText, "002-01"),
    .recorded = holds,
    .verdicts = {{holds, {asked("error")}}},
    .measure = formula,
};

Finding wavelengths(Experiment&) {
  Finding f;
  const std::pair<std::int64_t, double> longest[] = {
      {16, 3162.28}, {64, 7498.94}, {512, 9646.62}, {768, 9763.00}};
  for (const auto& [d, expected] : longest) {
    const auto w = sinusoid_frequencies(d);
    f.near(text("shortest.", d), text("shortest wavelength / 2π, d = ", d), 1 / w.front(), 1, 1e-12, 2);
    f.near(text("longest.", d), text("longest wavelength / 2π, d = ", d), 1 / w.back(), expected, 6e-3, 2);
  }
  f.near("longest_t2t", "longest wavelength / 2π, tensor2tensor, d = 512",
         1 / sinusoid_frequencies(512, kTensor2tensor).back(), 10000, 1e-6, 2);
  return f;
}
const Record claim_003_06 = Claim{
    .question = &question_which_numbers,
    .id = "003-06",
    .text = claim_text(kText, "003-06"),
    .recorded = holds_if,
    .verdicts = {{holds, {at_least("longest.512", 9999)}},
                 {holds_if, {asked("longest_t2t")}},
                 otherwise(wrong)},
    .measure = wavelengths,
};

Finding pairs(Experiment&) {
  Finding f;
  const auto w = sinusoid_frequencies(512);
  f.near("pairs", "pairs at d = 512", double(w.size()), 256, 0, 0);
  f.near("exponent", "exponent of the last frequency", -std::log(w.back()) / std::log(10000.0),
         2.0 * 255 / 512, 1e-12, 6);
  return f;
}
const Record claim_003_07 = Claim{
    .question = &question_which_numbers,
    .id = "003-07",
    .text = claim_text(kText, "003-07"),
    .recorded = holds,
    .verdicts = {{holds, {asked("pairs"), asked("exponent")}}},
    .measure = pairs,
};

Finding stripes(Experiment&) {
  Finding f;
  const auto flat = [](std::string_view spec, std::int64_t T) {
    const Matrix e = sinusoid(512, T, 0, spec);
    double count = 0;
    for (std::int64_t i = 0; i < 256; ++i) {
      bool all = true;
      for (std::int64_t p = 0; p < T; ++p) all &= std::abs(e.at(p, 2 * i)) < .1 && e.at(p, 2 * i + 1) > .995;
      count += all;
    }
    return count;
  };
  const double fifty = flat(kPaper, 50), all = flat(kPaper, 128);
  f.near("flat.50", "flat pairs, positions below 50", fifty, 83, 0, 0);
  f.near("flat.128", "flat pairs, positions below 128", all, 57, 0, 0);
  f.near("flat_t2t", "flat pairs in tensor2tensor's layout, positions below 50", flat(kTensor2tensor, 50), 0,
         0, 0);
  f.figures = {
      picture_of_table("Fifty positions, 512 channels: the paper's layout",
                       "To the right, sines near 0 alternate with cosines near 1.", kPaper, 50, 512),
      picture_of_table("The same, tensor2tensor's layout",
                       "Sines on the left half, cosines on the right: no stripes.", kTensor2tensor, 50, 512)};
  return f;
}
const Record claim_003_08 = Claim{
    .question = &question_which_numbers,
    .id = "003-08",
    .text = claim_text(kText, "003-08"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_least("flat.50", 1), at_most("flat_t2t", 0)}},
                 {holds, {at_least("flat.50", 1)}},
                 otherwise(wrong)},
    .measure = stripes,
};

Finding small_example(Experiment&) {
  Finding f;
  const Matrix e = sinusoid(32, 16);
  const std::int64_t rows[] = {0, 1, 2, 15}, channels[] = {0, 1, 2, 3, 30, 31};
  const double expected[4][6] = {{0, 1, 0, 1, 0, 1},
                                 {.8415, .5403, .5332, .8460, .0002, 1},
                                 {.9093, -.4161, .9021, .4315, .0004, 1},
                                 {.6503, -.7597, .8358, -.5490, .0027, 1}};
  double worst = 0;
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 6; ++c) {
      worst = std::max(worst, std::abs(e.at(rows[r], channels[c]) - expected[r][c]));
      f.near(text("row.", rows[r], ".", channels[c]), text("row ", rows[r], ", channel ", channels[c]),
             e.at(rows[r], channels[c]), expected[r][c], 5.1e-5);
    }
  }
  f.figures = {picture_of_table("Sixteen positions, 32 channels",
                                "One row for each position: fast pairs on the left, slow ones on the right.",
                                kPaper, 16, 32)};
  const auto values = double(f.numbers.size());
  f.number("values", "values of the example", values, 0);
  f.number("worst", "largest difference from the formula", worst, 6);
  return f;
}
const Record claim_003_09 = Claim{
    .question = &question_which_numbers,
    .id = "003-09",
    .text = claim_text(kText, "003-09"),
    .recorded = answered,
    .verdicts = {{answered, {asked("row")}}},
    .measure = small_example,
};

Finding slow_channels(Experiment&) {
  struct Row {
    std::string_view spec;
    std::int64_t d, channel;
    double values[4];
  };
  const Row rows[] = {{kPaper, 512, 511, {1, .99997867, .99997799, .99991334}},
                      {kTensor2tensor, 512, 511, {1, .99998016, .99997952, .99991936}},
                      {kTensor2tensor, 128, 127, {1, .99998016, .99997952, .99991936}},
                      {kPaper, 512, 510, {0, .00653074, .00663440, .01316486}},
                      {kTensor2tensor, 512, 255, {0, .00629996, .00639996, .01269966}},
                      {kTensor2tensor, 128, 63, {0, .00629996, .00639996, .01269966}},
                      {kPaper, 512, 496, {0, .00840109, .00853443, .01693491}},
                      {kTensor2tensor, 512, 496, {1, .99994135, .99993948, .99976169}},
                      {kTensor2tensor, 128, 112, {1, .99840670, .99835573, .99353050}},
                      {kPaper, 512, 495, {1, .99996208, .99996086, .99984590}},
                      {kTensor2tensor, 512, 495, {1, .99993696, .99993494, .99974384}},
                      {kTensor2tensor, 128, 111, {1, .99786576, .99779750, .99133646}}};
  const double positions[] = {0, 63, 64, 127};
  Finding f;
  for (const Row& r : rows) {
    const Matrix e = sinusoid(r.d, 128, 0, r.spec);
    for (int n = 0; n < 4; ++n)
      f.near(text(r.spec == kPaper ? "paper." : "t2t.", r.d, ".", r.channel, ".", positions[n]),
             text(r.spec == kPaper ? "paper" : "t2t", " d = ", r.d, ", channel ", r.channel, ", position ",
                  positions[n]),
             e.at(std::int64_t(positions[n]), r.channel), r.values[n], 1.1e-8, 8);
  }
  const Matrix e = sinusoid(512, 128), short_ = sinusoid(128, 128, 0, kTensor2tensor);
  const auto moves = [](const Matrix& m, std::int64_t channel, std::int64_t to) {
    return std::abs(m.at(to, channel) - m.at(0, channel));
  };
  f.figures = {picture_of_table(
      "The sinusoid of 128 positions with 512 channels (the paper's layout)",
      "Left: fast pairs. Right: slow pairs, alternating near 0 (sine) and 1 (cosine).", kPaper, 128, 512)};
  const double sine = moves(e, 510, 127), cosine = moves(e, 511, 127), quoted = moves(short_, 112, 127),
               t2t = moves(sinusoid(512, 128, 0, kTensor2tensor), 496, 127), paper = moves(e, 496, 127);
  f.number("moves.sine", "movement of the paper's last sine over 128 positions", sine, 4);
  f.number("moves.cosine", "movement of the paper's last cosine over 128 positions", cosine, 5);
  f.number("moves.quoted", "movement 16 from the end, tensor2tensor's layout, 128 channels", quoted, 4);
  f.number("moves.t2t", "movement 16 from the end, tensor2tensor's layout, 512 channels", t2t, 5);
  f.number("moves.paper", "movement 16 from the end, the paper's layout, 512 channels", paper, 4);
  f.number("moves.paper_64", "the same over 64 positions", moves(e, 496, 63), 4);
  f.number("moves.quoted_64",
           "movement 16 from the end over 64 positions, tensor2tensor's layout, 128 channels",
           moves(short_, 112, 63), 4);
  return f;
}
const Record claim_001_11 = Claim{
    .question = &question_which_numbers,
    .id = "001-11",
    .text = claim_text(kText, "001-11"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("paper"), asked("t2t")}}},
    .measure = slow_channels,
};

Finding repeats(Experiment&) {
  Finding f;
  const std::pair<std::int64_t, double> widths[] = {{16, 1.014725}, {64, 1.471848}, {512, 3.714270}};
  for (const auto& [d, expected] : widths) {
    const auto w = sinusoid_frequencies(d);
    double least = INFINITY;
    std::int64_t at = 0;
    for (std::int64_t k = 1; k <= 20000; ++k) {  // |e_{p+k} − e_p|² = d·(1 − K(k)), for every p
      const double squared = double(d) * (1 - sinusoid_kernel(w, double(k)));
      if (squared < least) least = squared, at = k;
    }
    f.near(text("least.", d), text("least distance, d = ", d), std::sqrt(least), expected, 1e-6, 6);
    f.near(text("offset.", d), text("offset of the least distance, d = ", d), double(at), 1, 0, 0);
  }
  const double far = std::sqrt(512 * (1 - sinusoid_kernel(sinusoid_frequencies(512), 10000)));
  f.near("distance", "distance of positions 0 and 10,000, d = 512", far, 23.3, .05, 2);
  f.near("longest", "longest wavelength / 2π, d = 512", 1 / sinusoid_frequencies(512).back(), 9646.62, .01,
         2);
  f.near("longest_t2t", "longest wavelength / 2π, tensor2tensor",
         1 / sinusoid_frequencies(512, kTensor2tensor).back(), 10000, 1e-6, 2);
  const double most = 2 * std::sqrt(256.0);  // all pairs opposite
  f.number("most", "the largest distance that 256 pairs can have", most, 0);
  return f;
}
const Record claim_001_16 = Claim{
    .question = &question_which_numbers,
    .id = "001-16",
    .text = claim_text(kText, "001-16"),
    .recorded = wrong,
    .verdicts = {{wrong, {asked("offset"), at_least("distance", 1)}}, {holds, {at_most("distance", 1e-6)}}},
    .measure = repeats,
};

}  // namespace
}  // namespace gnomon::claims
