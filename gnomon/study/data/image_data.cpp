#include "gnomon/study/data/image_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/plain_text.h"

namespace gnomon {
namespace {

constexpr std::int64_t kLevels = 4, kMostPixels = 64;
constexpr std::int32_t kAsks = 256;
constexpr double kMostNumber = 65535;

// Pixels and class of a line. Throws what is wrong with it.
std::vector<double> numbers_of(std::string_view line) {
  std::vector<double> all;
  for (const std::string_view word : split(line, ',')) {
    all.push_back(double(integer(word, "a pixel or class")));
    if (all.back() < 0 || all.back() > kMostNumber)
      throw Error(Fault::input, text("found ", shortest(all.back()), ", allowed are 0 to ", kMostNumber));
  }
  return all;
}

Placement square(std::int64_t side) {
  std::vector<double> places{0, 0};
  for (std::int64_t n = 0; n < side * side; ++n)
    places.push_back(double(1 + n / side)), places.push_back(double(1 + n % side));
  return Placement::of(places, 1, 2);
}

}  // namespace

ImageData::ImageData(const Path& path) {
  const std::string bytes = read_plain_text(path).bytes;
  sha256_ = gnomon::sha256(bytes);
  std::string_view rest = bytes;
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  std::vector<double> pixels;
  const std::vector<std::string_view> lines = split(rest, '\n');
  for (std::size_t n = 0; n < lines.size(); ++n) {
    try {
      const std::vector<double> found = numbers_of(lines[n]);
      if (n == 0) pixels_ = std::int64_t(std::sqrt(double(found.size() - 1)));
      if (std::int64_t(found.size()) != pixels_ * pixels_ + 1 || pixels_ < 2 || pixels_ > kMostPixels)
        throw Error(Fault::input, text("found ", counted(found.size(), "number"),
                                       ", allowed are the pixels of a square of 2 to ", kMostPixels,
                                       " a side, as in the first line, and a class"));
      if (found.back() > 255)
        throw Error(Fault::input, text("found the class ", found.back(), ", allowed are 0 to 255"));
      pixels.insert(pixels.end(), found.begin(), found.end() - 1);
      labels_.push_back(std::int32_t(found.back()));
      const std::uint64_t part = Random(0, lines[n]).below(0, 20);
      parts_[part < 14 ? kTraining : part < 16 ? kValidation : kTest].push_back(std::int64_t(n));
    } catch (const Error& e) {
      throw Error(Fault::input, text(path.string(), ": line ", n + 1, ": ", e.what()));
    }
  }
  for (const auto& part : parts_) {
    if (part.empty())
      throw Error(Fault::input, text(path.string(), ": found ", counted(lines.size(), "image"),
                                     "; training, choice of rates and test need some each"));
  }
  const double brightest = *std::max_element(pixels.begin(), pixels.end());
  for (const double x : pixels) images_.push_back(std::uint8_t(x * kLevels / (brightest + 1)));
  classes_ = std::int64_t(std::set<std::int32_t>(labels_.begin(), labels_.end()).size());
  const std::int64_t patches = (pixels_ + 1) / 2;
  trained_ = patches + patches / 2 + patches % 2;
  for (const std::int64_t side : payloads()) placements_.emplace(side, square(side));
}

std::vector<std::int64_t> ImageData::payloads() const {
  const std::int64_t patches = (pixels_ + 1) / 2;
  return {trained_, 2 * patches, 3 * patches};
}

std::string ImageData::print() const { return text("images ", sha256_); }

Sample ImageData::windows(std::span<const std::int64_t> which, std::int64_t side, const Random& places,
                          std::uint64_t first) const {
  Sample s{tokens(side), {}, {}, &placements_.at(side)};
  const auto free = std::uint64_t(2 * side - pixels_ + 1);
  for (std::size_t n = 0; n < which.size(); ++n) {
    const std::int64_t down = std::int64_t(places.below(first + 2 * n, free)),
                       across = std::int64_t(places.below(first + 2 * n + 1, free));
    std::vector<std::int32_t> patches(std::size_t(side * side), 0);
    for (std::int64_t p = 0; p < pixels_ * pixels_; ++p) {
      const std::int64_t y = down + p / pixels_, x = across + p % pixels_;
      const std::int32_t level = images_[std::size_t(which[n] * pixels_ * pixels_ + p)];
      patches[std::size_t(y / 2 * side + x / 2)] += level << (2 * (y % 2 * 2 + x % 2));
    }
    s.inputs.push_back(kAsks), s.targets.push_back(labels_[std::size_t(which[n])]);
    s.inputs.insert(s.inputs.end(), patches.begin(), patches.end());
    s.targets.insert(s.targets.end(), patches.size(), kUnscored);
  }
  return s;
}

Sample ImageData::training(const StepBatch& b) const {
  const Random order(b.seed, "order of images"), places(b.seed, "places of images");
  const auto first = std::uint64_t(b.step * b.windows);
  const std::vector<std::int64_t>& all = parts_[kTraining];
  std::vector<std::int64_t> which;
  for (std::uint64_t n = 0; n < std::uint64_t(b.windows); ++n)
    which.push_back(all[order.below(first + n, all.size())]);
  return windows(which, trained_, places, 2 * first);
}

// Of each image at most one window.
Sample ImageData::held_out(const Windows& w, std::int64_t side) const {
  const std::vector<std::int64_t>& all = parts_[w.held == Held::validation ? kValidation : kTest];
  const std::int64_t images = std::int64_t(all.size()), count = std::min(w.count, images);
  std::vector<std::int64_t> which;
  for (std::int64_t n = 0; n < count; ++n)
    which.push_back(all[std::size_t((2 * n + 1) * images / (2 * count))]);
  return windows(which, side, Random(w.draw, "places of held-out images"), 0);
}
Sample ImageData::held_out(const Windows& w) const { return held_out(w, trained_); }
Examples ImageData::examples(std::int64_t payload, const Windows& w) const {
  return {held_out(w, payload), {}};
}

std::vector<std::string> ImageData::describe() const {
  const auto count = [&](Part part) { return text(parts_[part].size()); };
  return {text("Images of ", pixels_, " × ", pixels_, " pixels in ", classes_, " classes: ", count(kTraining),
               " for training, ", count(kValidation), " for the choice of rates, ", count(kTest),
               " for the test; SHA-256 ", sha256_, "."),
          text("Each stands somewhere on an empty square of ", trained_, " × ", trained_,
               " patches; a patch is 2 × 2 pixels of four levels of grey. Tests have larger squares, too."),
          "A token before the patches is asked for the class. Encodings of two axes read rows and columns; "
          "the others count tokens row by row."};
}

}  // namespace gnomon
