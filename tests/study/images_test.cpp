// Images as data: their parts, their windows, where encodings of one and of two axes see them, what is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/image_data.h"
#include "gnomon/study/run/job.h"
#include "tests/support/door.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

constexpr std::int64_t kSide = 4, kImages = 60;

class ImagesTest : public Files {
 protected:
  Path file(const std::string& bytes) const {
    std::ofstream(folder_ / "images", std::ios::binary | std::ios::trunc) << bytes;
    return folder_ / "images";
  }
  // Every image has other pixels, so a window says which it shows; none is empty at an edge.
  static std::vector<double> image(std::int64_t n) {
    std::vector<double> all;
    const Random random(std::uint64_t(n), "image");
    for (std::uint64_t p = 0; p < kSide * kSide; ++p) all.push_back(4 + double(random.below(p, 12)));
    all[0] = 15;
    return all;
  }
  static std::string lines() {
    std::string all;
    for (std::int64_t n = 0; n < kImages; ++n) {
      for (const double x : image(n)) all += text(std::int64_t(x), ",");
      all += text(n % 3, "\n");
    }
    return all;
  }
};

// The levels of the pixels of a window's square, read back from its patches.
std::vector<int> square_of(const Sample& s, std::int64_t window, std::int64_t side) {
  std::vector<int> pixels(std::size_t(4 * side * side));
  for (std::int64_t y = 0; y < 2 * side; ++y) {
    for (std::int64_t x = 0; x < 2 * side; ++x) {
      const std::int32_t patch = s.inputs[std::size_t(window * s.T + 1 + y / 2 * side + x / 2)];
      const int place = int(2 * (y % 2) + x % 2), of_four[] = {1, 4, 16, 64};
      pixels[std::size_t(y * 2 * side + x)] = patch / of_four[place] % 4;
    }
  }
  return pixels;
}

void expect_has(const std::string& message, const char* part) {
  EXPECT_NE(message.find(part), message.npos) << message;
}

// Which image a window shows, and that it shows nothing else; −1: none.
std::int64_t shown(const std::vector<int>& pixels, std::int64_t side, std::vector<std::vector<int>> images) {
  const std::int64_t wide = 2 * side;
  int ink = 0;
  for (const int level : pixels) ink += level;
  for (std::size_t n = 0; n < images.size(); ++n) {
    int own = 0;
    for (const int level : images[n]) own += level;
    for (std::int64_t at = 0; own == ink && at < (wide - kSide + 1) * (wide - kSide + 1); ++at) {
      const std::int64_t down = at / (wide - kSide + 1), across = at % (wide - kSide + 1);
      bool same = true;
      for (std::int64_t p = 0; p < kSide * kSide; ++p)
        same &=
            pixels[std::size_t((down + p / kSide) * wide + across + p % kSide)] == images[n][std::size_t(p)];
      if (same) return std::int64_t(n);
    }
  }
  return -1;
}

TEST_F(ImagesTest, EachWindowShowsOneImageOfItsPart) {
  const ImageData data(file(lines()));
  std::vector<std::vector<int>> images(kImages);
  for (std::int64_t n = 0; n < kImages; ++n) {
    for (const double x : image(n)) images[std::size_t(n)].push_back(int(x * 4 / 16));
  }
  EXPECT_EQ(data.payloads(), (std::vector<std::int64_t>{3, 4, 6}));
  EXPECT_EQ(data.trained(), 3);
  EXPECT_EQ(data.window_tokens(), 10);
  EXPECT_NEAR(data.chance(), 1 / 3.0, 1e-15);

  std::set<std::int64_t> of[3];
  const auto look = [&](const Sample& s, std::int64_t side, std::set<std::int64_t>& seen) {
    ASSERT_EQ(s.T, side * side + 1);
    for (std::int64_t w = 0; w < s.count(); ++w) {
      const std::int64_t n = shown(square_of(s, w, side), side, images);
      ASSERT_GE(n, 0);
      seen.insert(n);
      EXPECT_EQ(s.inputs[std::size_t(w * s.T)], 256);
      for (std::int64_t t = 0; t < s.T; ++t)
        EXPECT_EQ(s.targets[std::size_t(w * s.T + t)], t == 0 ? std::int32_t(n % 3) : kUnscored);
    }
  };
  for (std::int64_t step = 0; step < 40; ++step)
    look(data.training({.seed = 1, .step = step, .tokens = 10, .windows = 8, .causal = false}), 3, of[0]);
  look(data.held_out({.tokens = 10, .count = 1000, .held = Held::validation, .causal = false}), 3, of[1]);
  for (const std::int64_t side : {3, 4, 6})
    look(data.examples(side, {.tokens = 10, .count = 1000, .held = Held::test, .causal = false}), side,
         of[2]);
  std::set<std::int64_t> all;
  for (const auto& part : of) all.insert(part.begin(), part.end());
  EXPECT_EQ(of[0].size() + of[1].size() + of[2].size(), all.size());
  EXPECT_EQ(std::int64_t(all.size()), kImages);
}

TEST_F(ImagesTest, WindowsAreFunctionsOfTheirArguments) {
  const ImageData data(file(lines()));
  const StepBatch batch{.seed = 2, .step = 7, .tokens = 10, .windows = 8, .causal = false};
  StepBatch other = batch;
  other.step = 8;
  EXPECT_EQ(data.training(batch).inputs, data.training(batch).inputs);
  EXPECT_NE(data.training(batch).inputs, data.training(other).inputs);
  // The same image stands in many places.
  std::set<std::vector<std::int32_t>> seen;
  for (other.step = 0; other.step < 100; ++other.step) {
    const Sample s = data.training(other);
    for (std::int64_t w = 0; w < s.count(); ++w)
      seen.insert({s.inputs.begin() + w * s.T, s.inputs.begin() + (w + 1) * s.T});
  }
  EXPECT_GT(seen.size(), 200u);
}

TEST_F(ImagesTest, EncodingsOfTwoAxesSeeRowsAndColumns) {
  const ImageData data(file(lines()));
  Job job;
  job.data = &data, job.held = Held::test, job.windows = 8;
  job.model.width = 16, job.model.heads = 2, job.model.layers = 1, job.model.length = 10;
  job.model.vocabulary = ImageData::kSymbols, job.model.causal = false;
  for (const char* spec : {"none", "rope", "alibi", "sinusoidal"}) {
    job.spec = Spec::parse(spec);
    EXPECT_EQ(held_out(job, 10, 8, Held::test).placement, nullptr) << spec;
  }
  for (const char* spec : {"rope_axial", "add(peg, scale=off)", "rope+window_table", "rope_axial+alibi"}) {
    job.spec = Spec::parse(spec);
    for (const Sample& s : {held_out(job, 10, 8, Held::test), training_batch(job, 3),
                            static_cast<const Sample&>(examples(job, 4))}) {
      ASSERT_NE(s.placement, nullptr) << spec;
      ASSERT_EQ(s.placement->T(), s.T);
      const Positions places = *s.placement;
      const std::int64_t side = s.T == 10 ? 3 : 4;
      for (std::int64_t t = 0; t < s.T; ++t) {
        EXPECT_EQ(places.at(t, 0), t == 0 ? 0 : double(1 + (t - 1) / side));
        EXPECT_EQ(places.at(t, 1), t == 0 ? 0 : double(1 + (t - 1) % side));
      }
    }
  }
}

TEST_F(ImagesTest, WhatIsNoImageIsRefusedWithItsLine) {
  const auto why = [&](const std::string& bytes) -> std::string {
    try {
      const ImageData data(file(bytes));
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      return e.what();
    }
    return "";
  };
  const std::string good = lines();
  EXPECT_EQ(why(good), "");
  expect_has(why(good + "1,2,3\n"), "line 61: found 3 numbers");
  expect_has(why(good + "a" + good), "line 61");
  expect_has(why("1,2,3\n" + good), "line 1: found 3 numbers");
  expect_has(why(good + "-1" + good.substr(good.find(','))), "line 61: found -1");
  expect_has(why(good.substr(0, good.find('\n') + 1)), "found 1 image");
  expect_has(why(good + "\n"), "line 61");
}

}  // namespace
}  // namespace gnomon
