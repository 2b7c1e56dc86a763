// Relative keys, one row for each distance. Huang, Liang, Xu, Xiang 2020, https://arxiv.org/abs/2009.13658, method 2; Hugging
// Face transformers, modeling_bert.py, position_embedding_type="relative_key".
//
//   s[h,i,j] = (q_i·k_j + q_i·E[p_i − p_j + L − 1])/√D
//
// Shaw's key term without clipping and without values. A distance without a row is an error. Acts on cross. Parameters:
// table E (2L−1, D), shared by the heads, each layer its own.
#include "gnomon/encodings/distance_table.h"

namespace gnomon {
namespace {

class RelativeKey final : public DistanceTable {
 public:
  RelativeKey(const Options& options, const Shape& shape)
      : DistanceTable(options, shape, "relative_key", false) {}
};

}  // namespace

extern const Entry relative_key_entry;
const Entry relative_key_entry = entry<RelativeKey>(
    {.name = "relative_key",
     .aliases = {"rpe", "relative"},
     .title = "A learned vector for each distance, multiplied by the query",
     .paper = "https://arxiv.org/abs/2009.13658",
     .formula = "s = (q_i*k_j + q_i*E[d + L - 1])/sqrt(D)",
     .latex = R"(s_{ij} = \frac{q_i \cdot k_j + q_i \cdot E_{d + L - 1}}{\sqrt{D}})",
     .pitfall = "distances are not clipped: longer texts have no row; Wav2Vec2-BERT's relative_key is "
                "shaw(values=off), which clips; a caller's scale applies to q*k only, not to this term",
     .year = 2020,
     .relative = true,
     .options = DistanceTable::options()});

}  // namespace gnomon
