// Relative keys and queries. Huang, Liang, Xu, Xiang 2020, https://arxiv.org/abs/2009.13658, method 4; Hugging Face
// transformers, modeling_bert.py, position_embedding_type="relative_key_query".
//
//   s[h,i,j] = (q_i·k_j + q_i·E[δ + L − 1] + k_j·E[δ + L − 1])/√D,   δ = p_i − p_j
//
// One table for both terms. A distance without a row is an error. Acts on cross. Parameters: table E (2L−1, D), shared by
// the heads, each layer its own.
#include "gnomon/encodings/distance_table.h"

namespace gnomon {
namespace {

class RelativeKeyQuery final : public DistanceTable {
 public:
  RelativeKeyQuery(const Options& options, const Shape& shape)
      : DistanceTable(options, shape, "relative_key_query", true) {}
};

}  // namespace

extern const Entry relative_key_query_entry;
const Entry relative_key_query_entry = entry<RelativeKeyQuery>(
    {.name = "relative_key_query",
     .title = "A learned vector for each distance, multiplied by query and key",
     .paper = "https://arxiv.org/abs/2009.13658",
     .formula = "s = (q_i*k_j + (q_i + k_j)*E[d + L - 1])/sqrt(D)",
     .latex = R"(s_{ij} = \frac{q_i \cdot k_j + (q_i + k_j) \cdot E_{d + L - 1}}{\sqrt{D}})",
     .pitfall = "both terms use the same table; a caller's scale applies to q*k only, not to these terms",
     .year = 2020,
     .relative = true,
     .options = DistanceTable::options()});

}  // namespace gnomon
