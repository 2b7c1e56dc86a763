#pragma once
#include "gnomon/study/data/parts.h"
#include "gnomon/study/data/token_file.h"

namespace gnomon {

// A file of token ids as data. What a token stands for is not known, so losses are by the token.
class TokenText : public Data {
 public:
  // Throws as TokenFile does, and Error(input) for a file too short for windows of `longest` tokens.
  TokenText(const Path& path, std::int64_t id_bytes, std::int64_t vocabulary, std::int64_t longest);

  std::string print() const override;
  std::int64_t vocabulary() const override { return file_.vocabulary(); }
  Sample training(const StepBatch& batch) const override;
  Sample held_out(const Windows& windows) const override;
  std::vector<std::int32_t> encode(std::string_view words) const override;  // throws, as decode does
  std::string decode(std::span<const std::int32_t> symbols) const override;
  std::vector<std::string> describe() const override;
  std::string unit() const override { return "nats per token"; }
  double training_tokens() const override { return double(parts_.training_tokens()); }

 private:
  std::int32_t symbol(std::int64_t at) const;
  TokenFile file_;
  std::string sha256_;
  Parts parts_;
};

}  // namespace gnomon
