#pragma once
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/layers.h"
#include "gnomon/models/resolve/reading.h"
#include "gnomon/models/resolve/rope_part.h"

namespace gnomon {

// What stands beside the words: nothing, or a learned row for each of so many tokens, added as it is.
Spec words_alone();
Spec learned_table(std::int64_t rows);

// What the methods of position fill in, one file each. `answer` has family, reader and sizes already.
struct Resolving {
  FileReading& file;
  const Family& family;
  const Sizes& sizes;
  Resolved& answer;
};
void resolve_rotary(const Resolving& task);
void resolve_table(const Resolving& task);
void resolve_alibi(const Resolving& task);
void resolve_baichuan(const Resolving& task);
void resolve_deepseek_v4(const Resolving& task);
void resolve_falcon(const Resolving& task);
void resolve_t5(const Resolving& task);
void resolve_xlnet(const Resolving& task);
void resolve_mpnet(const Resolving& task);
void resolve_table_t5(const Resolving& task);
void resolve_deberta(const Resolving& task);
void resolve_profile(const Resolving& task);
void resolve_recurrence(const Resolving& task);
// The whole of a GGUF file, as llama.cpp reads it.
Resolved resolve_gguf(const Config& config);

// A layer with these encodings inside attention, in the words of a spec, of the heads that the sizes say. Throws Error(input) for
// what no encoding can be.
LayerPosition make_layer(const Resolving& task, const LayerKind& kind, const std::vector<SpecPart>& parts);
// Throws Error(input) for a layer whose encodings cannot be made for its heads, and for more different layers than a model
// has: what is computed of a file is bounded before it is.
void check_layers(const Config& config, const std::vector<LayerPosition>& layers);
// The factor of q·k of layer `number`, 0 for 1/√head_dim; says why in `layer`.
double attention_scale(const Resolving& task, std::int64_t number, LayerPosition& layer);

}  // namespace gnomon
