#pragma once
#include <map>

#include "gnomon/core/file.h"
#include "gnomon/study/data/data.h"

namespace gnomon {

// Small grey images and their classes, as data for an encoder: which class an image is of. A file has a line for each image:
// the numbers of its pixels, row by row, then its class, with commas between them. Images are square and of one size.
//
// Each window shows one image somewhere on an empty square that is half as large again; tests have larger squares, too. A
// token is a patch of 2 × 2 pixels, each cut to one of four levels of grey: 256 symbols. Another token stands before them, at row 0
// and column 0, and is asked for the class; patches have rows and columns from 1 on. Where an image stands is drawn for each window
// and counts pixels, so patches differ with it. Training, choice of rates and test have other images.
class ImageData : public Data {
 public:
  // Throws Error(resource) for a file that cannot be read, and Error(input), with the line, for one that is none.
  explicit ImageData(const Path& path);

  std::int64_t window_tokens() const { return tokens(trained_); }
  std::string print() const override;
  std::int64_t vocabulary() const override { return kSymbols; }
  Sample training(const StepBatch& batch) const override;
  Sample held_out(const Windows& windows) const override;  // on squares as large as in training
  std::vector<std::string> describe() const override;
  std::int64_t memory_bytes() const override { return std::int64_t(images_.size()); }
  std::string unit() const override { return "nats per image"; }
  std::optional<Metric> metric() const override { return Metric::symbols; }
  double chance() const override { return 1 / double(classes_); }
  double trained() const override { return double(trained_); }
  std::vector<std::int64_t> payloads() const override;  // patches a side
  Examples examples(std::int64_t payload, const Windows& windows) const override;

  static constexpr std::int64_t kSymbols = 257;  // patches, and what asks

 private:
  enum Part : std::size_t { kTraining, kValidation, kTest };
  // Windows of these images on squares of so many patches a side; where they stand is drawn from `places`.
  Sample windows(std::span<const std::int64_t> which, std::int64_t side, const Random& places,
                 std::uint64_t first) const;
  Sample held_out(const Windows& windows, std::int64_t side) const;
  static std::int64_t tokens(std::int64_t side) { return side * side + 1; }

  std::string sha256_;
  std::int64_t pixels_ = 0;   // of a side of an image
  std::int64_t trained_ = 0;  // patches of a side of the squares of training
  std::int64_t classes_ = 0;
  std::vector<std::uint8_t> images_;  // levels, image by image
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> parts_[3];            // images of each part
  std::map<std::int64_t, Placement> placements_;  // by patches of a side
};

}  // namespace gnomon
