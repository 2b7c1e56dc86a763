#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/nn/model.h"

namespace gnomon {

// How a stored tensor becomes rows of one of our parameters.
enum class How {
  plain,       // as ours: (out, in)
  transposed,  // (in, out): GPT-2's Conv1D
  of_heads,    // rows of each key head: those of its queries, its key, its value. GPT-NeoX, Falcon
  // Of experts or heads, `parts` of them: (parts, out, in), (parts, in, out), and the latter with gate and up in turn, gpt-oss;
  // the first with gate and up in turn, gpt-oss in 4 bits.
  stacked,
  stacked_transposed,
  stacked_in_turn,
  stacked_rows_in_turn
};

// Rows of one of our parameters, from `first` on, by the name that they have in a file. "{}" in both names is the layer; a name
// with the layer's number stands for that layer instead. Of parts, these rows of every part.
struct Source {
  std::string ours, theirs;
  std::int64_t first = 0;
  How how = How::plain;
  std::int64_t parts = 1;
};

// What the tensors of a family are called. Sources of parameters that a model does not have are no matter: biases of a layer
// without biases, a head's matrix that is the word table. Two for the same rows are two names of one tensor.
struct Names {
  std::vector<Source> sources;
  std::string prefix;  // "bert.": files of the model without a head leave it out in every name
  // Tensors that may be there and are no part of the model, without the prefix; one * is any text: buffers, heads for other
  // tasks, copies.
  std::vector<std::string_view> beside;
  // Of our parameters those that are 0 in this family, with "{}" for the layer: DeBERTa's bias of projected distances.
  std::vector<std::string> zero = {};

  // The name without the prefix, if it begins with it.
  std::string_view bare(std::string_view name) const;
  bool is_beside(std::string_view name) const;
};

// Families that gnomon runs, by their names in Resolved: runnable.def. Others are explained only.
std::span<const std::string_view> runnable_families();
bool runs_gguf(std::string_view family);  // from GGUF files too
// transformers' names (modeling_FAMILY.py), or those of a GGUF file (llama.cpp, gguf-py/gguf/constants.py, TENSOR_NAMES), in
// which the tensors of q and k may be other rows than in transformers' files: see the pairing of the spec that resolve()
// gives. Throws Error(input) for a family that is none of the above,
// or whose GGUF files are explained only.
Names names_of(std::string_view family, const Architecture& a, bool gguf = false);

// One tensor and the rows of our parameter that it is.
struct Piece {
  const Param* ours;
  std::vector<std::string> theirs;  // the names that it may have, the usual one first
  std::int64_t first, rows;         // of ours, or of each of its parts
  How how;
  std::int64_t parts;
  std::int64_t skipped;  // rows of theirs before those that are ours: RoBERTa's of no token

  std::vector<std::int64_t> shape() const;  // that theirs must have
  std::int64_t size() const;                // numbers of ours
  Piece as_rows() const;                    // of a tensor that holds the same as (out, in)
  // Where number n of theirs, after the skipped rows, lies in the flat array of the model.
  std::int64_t place(std::int64_t n, const AttentionRule& attention) const;
};
// Every parameter of the model, piece by piece, for each layer. table_first: the row of a learned table that is the first token's
// (Resolved). Throws Error(input) for a parameter that has no name there.
std::vector<Piece> pieces_of(const Names& names, const Model& model, std::int64_t table_first = 0);

}  // namespace gnomon
