#pragma once
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/data/vocabulary.h"

namespace gnomon {

// A text as data: byte-pair symbols that are learned on its training parts. Cut as its bytes are, then encoded part by part, so
// that losses by the byte compare with those of a model of bytes.
class SymbolText : public Data {
 public:
  // Learns `size` symbols. Throws as Vocabulary does, and Error(input) for a text with too few symbols for windows of `longest`.
  SymbolText(const Corpus& corpus, std::int64_t size, std::int64_t longest);

  std::string print() const override;
  std::int64_t vocabulary() const override { return vocabulary_.size(); }
  Sample training(const StepBatch& batch) const override;
  Sample held_out(const Windows& windows) const override;
  double bytes(std::int32_t symbol) const override { return double(vocabulary_.bytes(symbol).size()); }
  std::vector<std::int32_t> encode(std::string_view words) const override {
    return vocabulary_.encode(words);
  }
  std::string decode(std::span<const std::int32_t> symbols) const override {
    return vocabulary_.decode(symbols);
  }
  std::vector<std::string> describe() const override { return described_; }
  std::vector<std::string> notes() const override { return notes_; }
  std::int64_t memory_bytes() const override { return std::int64_t(symbols_.size() * sizeof(std::int32_t)); }
  double training_tokens() const override { return double(parts_.training_tokens()); }
  std::optional<ReferenceLosses> reference() const override { return reference_; }

 private:
  void read(const Corpus& corpus, std::int64_t longest);
  std::string text_sha256_;
  std::vector<std::string> described_, notes_;
  std::optional<ReferenceLosses> reference_;
  Vocabulary vocabulary_;
  std::vector<std::int32_t> symbols_;
  Parts parts_;
};

}  // namespace gnomon
