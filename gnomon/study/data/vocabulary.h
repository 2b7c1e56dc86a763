#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/files/byte_pairs.h"

namespace gnomon {

// Symbols in place of bytes. The first 256 are the bytes; each of the others joins two symbols before it, in the order in which
// byte-pair encoding learned them (Sennrich, Haddow, Birch 2016, arXiv 1508.07909, section 3.2; on bytes, as in Radford et al.
// 2019, "Language models are unsupervised multitask learners", section 2.2). No two symbols are the same bytes.
class Vocabulary {
 public:
  static constexpr std::int64_t kLeast = 257, kMost = 65'536;  // symbols
  static constexpr std::int64_t kLongest = 256;                // bytes of a symbol
  static constexpr std::int64_t kMostText = 1 << 30;           // bytes to learn from, or to encode at once

  // Learns `size` symbols from texts of any bytes: merges the pair that stands side by side most often in them, again and again;
  // of pairs that are equally frequent the one with the smaller left symbol, then the smaller right one. No merge crosses from
  // one piece of a text to the next, makes a symbol of more than kLongest bytes, or joins what stands together only once. Throws
  // Error(usage) for another size than kLeast to kMost, and Error(input) for texts that are too long or have fewer symbols to give.
  static Vocabulary learn(std::span<const std::string_view> texts, std::int64_t size);
  static Vocabulary learn(std::string_view text, std::int64_t size) {
    return learn(std::span(&text, 1), size);
  }

  // What print() wrote to a file. Throws Error(resource) where it cannot be read, and Error(input) for a file that is anything
  // else or was changed.
  static Vocabulary read(const Path& path);
  std::string print() const;   // JSON: the merges, and a SHA-256 of all before it
  std::string sha256() const;  // of print()

  std::int64_t size() const { return std::int64_t(bytes_.size()); }
  std::span<const Merge> merges() const { return merges_; }  // the n-th makes symbol 256 + n
  // What a symbol stands for. Throws Error(usage) for a number that is no symbol, as decode() does.
  std::string_view bytes(std::int32_t symbol) const;

  // The symbols of a text, of any bytes: each piece by itself, by all merges in their order, from left to right.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> symbols) const;  // its inverse, to the byte

 private:
  Vocabulary();
  void add(Merge merge);
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& to) const;

  std::vector<Merge> merges_;
  std::vector<std::string> bytes_;
  Merges joins_;  // the same merges, to encode by
};

// The first piece of a text that is not empty. Pieces are what merges stay within: a run of letters, of digits or of other
// characters, with the one space before it if there is one, or a run of blanks, without its last space where that belongs to
// the piece after it. Letters are A to Z, a to z and all bytes from 0x80, so that a character of several bytes is not cut;
// blanks are the space, \t, \n, \v, \f and \r. As a regular expression on bytes, with L for letters and B for blanks:
//    ?L+| ?[0-9]+| ?[^LB0-9]+|B+(?= [^B])|B+
// which is that of GPT-2 (github.com/openai/gpt-2, src/encoder.py) without English contractions and tables of Unicode.
std::string_view first_piece(std::string_view text);

}  // namespace gnomon
