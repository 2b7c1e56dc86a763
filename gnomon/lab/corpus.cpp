#include "gnomon/lab/corpus.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/checkpoint/sha256.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Line and column of a byte, from 1, for messages.
std::string place(const std::string& bytes, std::size_t at) {
  const auto line = std::count(bytes.begin(), bytes.begin() + std::ptrdiff_t(at), '\n') + 1;
  const auto start = at == 0 ? std::string::npos : bytes.rfind('\n', at - 1);
  return text("byte ", at, " (line ", line, ", byte ", at - (start == std::string::npos ? 0 : start + 1) + 1,
              " of it)");
}

std::string hex(unsigned char c) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'0', 'x', digits[c >> 4], digits[c & 15]};
}

// Turns CRLF into LF, in one pass; how many there were.
std::int64_t read_line_ends_as_lf(std::string& bytes) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool before_lf = at + 1 < bytes.size() && bytes[at + 1] == '\n';
    if (bytes[at] != '\r' || !before_lf) bytes[kept++] = bytes[at];
  }
  const std::size_t dropped = bytes.size() - kept;
  bytes.resize(kept);
  return std::int64_t(dropped);
}

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

Corpus::Corpus(const Path& path, std::int64_t longest) : bytes_(read_file(path)) {
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  if (const auto at = bytes_.find('\0'); at != std::string::npos) {
    throw bad(place(bytes_, at), ": found a NUL byte; a text has none (is this a binary file?)");
  }
  if (const auto at = first_invalid_utf8(bytes_); at != std::string::npos) {
    throw bad(place(bytes_, at), ": found ", hex((unsigned char)bytes_[at]),
              ", which is not UTF-8 there; convert the text first (iconv -t UTF-8)");
  }
  if (const auto line_ends = read_line_ends_as_lf(bytes_))
    notes_.push_back(text(path.string(), ": ", line_ends, " Windows line ends (CRLF) were read as LF"));
  const std::int64_t n = std::int64_t(bytes_.size());
  if (n < least_bytes(longest)) {
    throw bad("the text has ", n, " bytes; windows of ", longest, " tokens need at least ",
              least_bytes(longest), " (shorten model.length or evaluate.lengths, or take a longer text)");
  }
  if (const double bits = bits_a_byte(bytes_); bits < kAlmostNothing)
    notes_.push_back(text(path.string(), ": the text says almost nothing: ", fixed(bits, 3),
                          " bits a byte; losses of all arms will look alike"));
  sha256_ = gnomon::sha256(bytes_);

  const std::int64_t parts = std::clamp<std::int64_t>(n / 10 / (8 * (longest + 1)), 1, 16),
                     size = n / 10 / parts;
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = (2 * i + 1) * n / (2 * parts) - size / 2;
    training_.emplace_back(from, begin);
    held_out_.emplace_back(begin, begin + size);
    from = begin + size;
  }
  training_.emplace_back(from, n);
  for (const auto& [begin, end] : training_) training_bytes_ += end - begin;
}

std::int64_t Corpus::held_out_bytes() const { return std::int64_t(bytes_.size()) - training_bytes_; }

std::int64_t Corpus::training_windows(std::int64_t T) const {
  std::int64_t count = 0;
  for (const auto& [begin, end] : training_) count += std::max<std::int64_t>(0, end - begin - T);
  return count;
}

std::int64_t Corpus::training_start(std::int64_t T, std::int64_t n) const {
  for (const auto& [begin, end] : training_) {
    const std::int64_t here = std::max<std::int64_t>(0, end - begin - T);
    if (n < here) return begin + n;
    n -= here;
  }
  throw Error(Fault::bug, "corpus: there is no such training window");
}

std::vector<Corpus::Part> Corpus::held_out(Held which) const {
  std::vector<Part> all;
  for (const auto& [begin, end] : held_out_) {
    const std::int64_t third = begin + (end - begin) / 3;
    all.emplace_back(which == Held::test ? third : begin, which == Held::validation ? third : end);
  }
  return all;
}

std::vector<std::int64_t> Corpus::held_out_ends(std::int64_t longest, std::int64_t count, Held which) const {
  const std::vector<Part> all = held_out(which);
  std::int64_t available = 0;
  for (const auto& [begin, end] : all) available += std::max<std::int64_t>(0, end - begin - longest);
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t n = (2 * k + 1) * available / (2 * count);
    for (const auto& [begin, end] : all) {
      const std::int64_t here = std::max<std::int64_t>(0, end - begin - longest);
      if (n < here) {
        ends.push_back(begin + longest + 1 + n);
        break;
      }
      n -= here;
    }
  }
  return ends;
}

}  // namespace gnomon
