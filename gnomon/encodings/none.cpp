// No position encoding. A causal mask alone lets a Transformer of two or more layers tell positions apart
// (Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466); without the mask the
// tokens are a bag of words.
//
//   s[h,i,j] = q_i·k_j/√D
//
// Acts nowhere. No parameters.
#include "gnomon/encodings/encoding.h"

namespace gnomon {

extern const Entry none_entry;
const Entry none_entry = entry<Encoding>({.name = "none",
                                          .aliases = {"nope", "no position", "bag_of_words"},
                                          .title = "No position encoding (NoPE)",
                                          .paper = "https://arxiv.org/abs/2305.19466",
                                          .formula = "s = q*k/sqrt(D)",
                                          .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}})",
                                          .pitfall = "without a causal mask the model sees a bag of words",
                                          .year = 2023,
                                          .relative = true,
                                          .options = {}});

}  // namespace gnomon
