#pragma once
#include "gnomon/study/data/data.h"
#include "gnomon/study/data/lines.h"

namespace gnomon {

// A user's own questions and answers as data; held to whole answers.
class LineData : public Data {
 public:
  explicit LineData(Lines lines) : lines_(std::move(lines)) {}

  std::string print() const override;
  Sample training(const StepBatch& batch) const override;
  Sample held_out(const Windows& windows) const override;  // validation or test, at most as many as there are
  std::vector<std::string> describe() const override;
  std::vector<std::string> notes() const override { return lines_.notes(); }
  double training_tokens() const override;
  std::string unit() const override { return "nats per answer byte"; }
  std::optional<Metric> metric() const override { return Metric::whole; }
  std::vector<std::int64_t> payloads() const override { return {0}; }  // as the lines are
  Examples examples(std::int64_t payload, const Windows& windows) const override;

 private:
  Lines lines_;
};

}  // namespace gnomon
