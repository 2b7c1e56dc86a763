#ifndef GNOMON_KERNELS_TERMS_BY_CODE_H_
#define GNOMON_KERNELS_TERMS_BY_CODE_H_
#include <cmath>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// The whole differences first..first+count−1 have entries; one beyond either end reads the entry at that end.
struct CodeRange {
  std::int64_t first, count;
  bool operator==(const CodeRange&) const = default;
};

// s[h,i,j] += Σ_g by_code[h, entry of group g at the difference x], x = code_of_query[g,i] − code_of_key[g,j], of which the
// whole part counts, rounded toward 0. A code puts the coordinates of a token into one number: a row and a column of a window
// are y·(2w − 1) + x. Swin, BEiT, LayoutLM, UDOP
struct ByCodeTerm {
  Floats by_code;                                  // (H, entries), those of the groups one after the other
  std::vector<CodeRange> code_ranges;              // of each group
  std::vector<double> code_of_query, code_of_key;  // (groups,tokens) or (B,groups,tokens), within ±2^53

  static constexpr TermFacts kFacts{.name = "by_code", .once = "look up tables by coordinates"};
  static constexpr std::array kArrays{
      ArrayOf<ByCodeTerm>{"by_code", &ByCodeTerm::by_code, {Dim::heads, Dim::own}, &ByCodeTerm::by_code}};
  std::int64_t own(const AttendShape&) const {
    std::int64_t entries = 0;
    for (const CodeRange& range : code_ranges) entries += range.count;
    return entries;
  }
  // Where the codes of sequence b begin.
  std::int64_t codes_of(std::int64_t b, std::int64_t tokens) const {
    const std::int64_t size = std::int64_t(code_ranges.size()) * tokens;
    return std::int64_t(code_of_key.size()) > size ? b * size : 0;
  }
  static constexpr std::int64_t kMost = 1 << 24;  // entries of a group, and where they begin
  void check(const AttendShape& s) const {
    if (by_code.empty()) return;
    const std::int64_t one = std::int64_t(code_ranges.size()) * s.keys;
    const auto queries = std::int64_t(code_of_query.size()), all = std::int64_t(code_of_key.size());
    if (queries != all || (all != one && all != s.B * one))
      throw Error(Fault::usage,
                  text("attend: terms.code_of_query has ", queries, " numbers and terms.code_of_key ", all,
                       "; allowed are ", one, " (one row) or ", s.B * one, " in both"));
    for (const auto* codes : {&code_of_query, &code_of_key}) {
      for (const double code : *codes) {
        if (!(std::abs(code) <= 0x1p53))
          throw Error(Fault::usage, text("attend: a code of by_code is ", shortest(code),
                                         "; allowed are numbers within ±2^53"));
      }
    }
    for (const CodeRange& range : code_ranges) {
      if (range.count < 1 || range.count > kMost || range.first < -kMost || range.first > kMost)
        throw Error(Fault::usage,
                    text("attend: a range of by_code has ", range.count, " entries from ", range.first,
                         " on; allowed are 1 to ", kMost, ", from within ±", kMost));
    }
    if (s.firsts || s.place(0) < 0 || s.place(s.queries) > s.keys)
      throw Error(Fault::usage, text("attend: terms of by_code have a code for each of ", s.keys,
                                     " tokens; each query must be one of them, the same in every sequence"));
  }
  bool operator==(const ByCodeTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<ByCodeTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    head_.check_tame(table_, entries_);
    at_.resize(std::size_t(ld_));
  }
  void add(const Tile& tile, const Seen& r, float* s) {
    each_group(tile, r, [&](const std::int32_t* at) {
      for (std::int64_t b = r.from; b < r.n; ++b) s[b] += table_[at[b]];
    });
  }

  void start_gradients() { dtable_.assign(std::size_t(entries_), 0); }
  void backward(const Tile& tile, const Seen& r, const float* ds) {
    each_group(tile, r, [&](const std::int32_t* at) {
      for (std::int64_t b = r.from; b < r.n; ++b) dtable_[std::size_t(at[b])] += double(ds[b]);
    });
  }
  void finish() {
    float* to = t_.dterms.of<&ByCodeTerm::by_code>();
    for (std::int64_t n = 0; to && n < entries_; ++n) to[n] += float(dtable_[std::size_t(n)]);
  }

 private:
  // f(entry of each column), for each group.
  template <class Body>
  void each_group(const Tile& tile, const Seen& r, const Body& f) {
    const ByCodeTerm& given = *t_.given;
    const std::int64_t codes = given.codes_of(t_.sequence, s_.keys), token = tile.i0 + r.a + shift_;
    const double *query = &given.code_of_query[std::size_t(codes)],
                 *key = &given.code_of_key[std::size_t(codes)];
    std::int64_t begin = 0;
    for (const CodeRange& range : given.code_ranges) {
      const double least = double(range.first), most = double(range.first + range.count - 1);
      const auto zero = std::int32_t(begin - range.first);  // the entry of the difference 0
      for (std::int64_t b = r.from; b < r.n; ++b)
        at_[std::size_t(b)] = zero + std::int32_t(std::clamp(query[token] - key[tile.j0 + b], least, most));
      f(at_.data());
      query += s_.keys, key += s_.keys, begin += range.count;
    }
  }
  const float* table_ = t_.terms.of<&ByCodeTerm::by_code>();
  const std::int64_t entries_ = t_.given->ByCodeTerm::own(s_);
  std::vector<std::int32_t> at_;
  std::vector<double> dtable_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
