#include "gnomon/study/data/corpus.h"

#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/study/data/plain_text.h"

namespace gnomon {
namespace {

// Order-0 entropy of the bytes, in bits: prose has about 4.
double bits_a_byte(const std::string& bytes) {
  std::array<std::int64_t, 256> counts{};
  for (const char c : bytes) ++counts[(unsigned char)c];
  double sum = 0;
  for (const std::int64_t count : counts) {
    const double share = double(count) / double(bytes.size());
    if (count) sum -= share * std::log2(share);
  }
  return sum;
}
constexpr double kAlmostNothing = 0.5;  // bits

}  // namespace

Corpus::Corpus(const Path& path, std::int64_t longest, Cut held_out) {
  PlainText read = read_plain_text(path);
  bytes_ = std::move(read.bytes), notes_ = std::move(read.notes);
  const std::int64_t n = std::int64_t(bytes_.size());
  if (n < least_bytes(longest, held_out)) {
    throw Error(Fault::input, text(path.string(), ": the text has ", n, " bytes; windows of ", longest,
                                   " tokens need at least ", least_bytes(longest, held_out),
                                   "; shorten model.length or evaluate.lengths, or take a longer text"));
  }
  if (const double bits = bits_a_byte(bytes_); bits < kAlmostNothing)
    notes_.push_back(text(path.string(), ": the text has almost no information, ", fixed(bits, 3),
                          " bits per byte; the losses of all arms will look alike"));
  sha256_ = gnomon::sha256(bytes_);
  parts_ = cut(n, longest);
}

std::string Corpus::print() const { return text("text ", sha256_); }

Sample Corpus::training(const StepBatch& batch) const {
  return training_windows(
      parts_, [&](std::int64_t at) { return std::int32_t((unsigned char)bytes_[std::size_t(at)]); }, batch);
}

Sample Corpus::held_out(const Windows& windows) const {
  return held_out_windows(
      parts_, [&](std::int64_t at) { return std::int32_t((unsigned char)bytes_[std::size_t(at)]); }, windows);
}

std::vector<std::string> Corpus::describe() const {
  const std::int64_t training = parts_.training_tokens();
  std::vector<std::string> all{
      text(grouped(double(bytes_.size())), " bytes, SHA-256 ", sha256_, "; ", grouped(double(training)),
           " bytes for training, ", grouped(double(bytes_.size()) - double(training)),
           " held out in evenly spaced blocks. A third of each block is for the choice of rates.")};
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

// Counted on the training text; a pair that it has not is as likely as its letter (Jelinek, Mercer 1980: interpolated with weight
// 1 / (count + 1)).
std::optional<ReferenceLosses> Corpus::reference() const {
  constexpr std::size_t kSymbols = 256;
  using Counts = std::array<double, kSymbols>;
  const auto symbol = [&](std::int64_t at) { return std::size_t((unsigned char)bytes_[std::size_t(at)]); };
  Counts single{};
  const auto pairs = std::make_unique<std::array<Counts, kSymbols>>();
  double all = 0;
  for (const auto& [begin, end] : parts_.training) {
    for (std::int64_t at = begin; at < end; ++at) {
      single[symbol(at)] += 1, all += 1;
      if (at > begin) (*pairs)[symbol(at - 1)][symbol(at)] += 1;
    }
  }
  Counts before{};  // how often a byte is followed by another
  for (std::size_t a = 0; a < kSymbols; ++a) {
    for (const double count : (*pairs)[a]) before[a] += count;
  }
  ReferenceLosses sum{0, 0};
  double scored = 0;
  for (const auto& [begin, end] : parts_.held(Held::test)) {
    for (std::int64_t at = begin + 1; at < end; ++at) {
      const std::size_t a = symbol(at - 1), b = symbol(at);
      const double letter = (single[b] + 1) / (all + kSymbols),
                   pair = ((*pairs)[a][b] + letter) / (before[a] + 1);
      sum.letters -= std::log(letter), sum.pairs -= std::log(pair), scored += 1;
    }
  }
  return ReferenceLosses{sum.letters / scored, sum.pairs / scored};
}

}  // namespace gnomon
