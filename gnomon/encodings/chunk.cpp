// Chunks. Llama 4 2025, https://github.com/meta-llama/llama-models: layers with rotation see their chunk of 8192 tokens only,
// every fourth layer has no rotation and sees everything (iRoPE).
//
//   query i sees key j where ⌊p_i/size⌋ = ⌊p_j/size⌋
//
// Acts on the mask; keys outside are not computed. No parameters. `[rope+chunk(size=8192), rope+chunk(size=8192),
// rope+chunk(size=8192), log_n(rule=llama4)]` is iRoPE.
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Chunk final : public Encoding, public MaskPart {
 public:
  Chunk(const Options& options, const Shape& shape) : Encoding(shape), size_(options.number("size")) {}
  bool sees(const Scene& s, std::int64_t i, std::int64_t j) const override {
    return together(s.positions, i, j);
  }
  void lower(const Batch& b, Terms& terms) const override {
    limit_keys(terms, b.positions,
               [&](const Positions& row, std::int64_t i, std::int64_t j) { return together(row, i, j); });
  }

 private:
  bool together(const Positions& row, std::int64_t i, std::int64_t j) const {
    return std::floor(row[i] / size_) == std::floor(row[j] / size_);
  }
  const double size_;
};

}  // namespace

extern const Entry chunk_entry;
const Entry chunk_entry = entry<Chunk>(
    {.name = "chunk",
     .aliases = {"chunked", "block_local"},
     .title = "Chunks: a query sees only the keys in its chunk",
     .paper = "https://github.com/meta-llama/llama-models",
     .formula = "i sees j where floor(p_i/size) = floor(p_j/size)",
     .latex =
         R"(i \;\text{sees}\; j \;\text{where}\; \left\lfloor \frac{p_i}{\mathrm{size}} \right\rfloor = \left\lfloor \frac{p_j}{\mathrm{size}} \right\rfloor)",
     .pitfall = "the first tokens of a chunk see almost nothing",
     .year = 2025,
     .relative = false,
     .options = {{.name = "size",
                  .help = "size of a chunk, in tokens",
                  .standard = "32",
                  .least = 1,
                  .most = 1000000000.0,
                  .whole = true}}});

}  // namespace gnomon
