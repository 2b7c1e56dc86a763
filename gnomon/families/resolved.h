#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/combine/spec.h"
#include "gnomon/families/config.h"

namespace gnomon {

// Programs that read the same file and do not compute the same from it.
enum class Reader {
  v5,  // transformers 5.23: what "right" means for a config.json, unless the family's own code says otherwise
  v4,  // transformers 4.57
  llama_cpp,  // llama.cpp, of a GGUF file, or of what its converter makes of a config.json
  vllm,       // vLLM
  naive       // getattr(config, "rope_theta", 10000) and rope_scaling as it stood in 2023
};
std::span<const std::string_view> reader_names();  // "v5", "v4", "llama.cpp", "vllm", "naive"

// Why something is as it is: every number of an answer has one.
struct Because {
  std::string what;   // an option of the spec ("theta", "factor", "window") or a size ("head_dim", "scale")
  std::string value;  // as printed
  std::string key;    // of the file, "rope_scaling.factor"; empty: no key says it
  std::string rule;  // "the dict's own, before the top level's (transformers 5, convert_rope_params_to_dict)"
};

// What one layer does with position: a spec, and for what heads. All else (frequencies, factors, slopes, buckets) follows from
// it by the library itself.
struct LayerPosition {
  Spec spec;  // add(none, scale=off)+ what acts inside attention; the model's `input` stands apart
  std::int64_t number = 0;  // of the layer, from 0; a layer of two components has two entries
  std::int64_t heads = 0;   // of queries
  std::int64_t kv_heads = 0, head_dim = 0;
  double scale = 0;    // of q·k; 0 = 1/√head_dim. A factor by position or by YaRN is in the spec
  bool causal = true;  // a query sees no key after it
  std::string
      component;  // empty; "encoder" or "decoder" of a model that has both; "indexer" of DeepSeek's second attention
  std::vector<Because> because;
  bool same(const LayerPosition& other) const;  // all but `number` and `because`
};

struct Remark {
  std::string key,
      says;  // what the reader makes of a key that one would not expect: ignored, overwritten, guessed
  std::string_view rule =
      {};  // of `gnomon lint` (lint.h), which tells the same; empty: of another reader than v5
};

// What a model's file says of position, as one reader understands it.
struct Resolved {
  std::string family;  // "llama"; of an unknown one its model_type
  bool known = false;  // false: explained from its keys alone
  Reader reader = Reader::v5;
  bool causal = true;                          // every layer is
  std::int64_t width = 0, trained_length = 0;  // trained_length: tokens before any extension; 0 = not said
  std::int64_t longest = 0;                    // tokens that the file promises: max_position_embeddings
  std::int64_t table_first = 0;                // the row of a learned table that is the first token's
  Spec input;                    // what joins the words, "add(learned, scale=off)"; "add(none, scale=off)"
  std::vector<Because> because;  // of the above
  std::vector<LayerPosition> layers;  // one for each, in order
  std::vector<Remark> remarks;
};

// Throws Error(input) for values that cannot be (a negative width, a list of another length than the layers), Error(usage) for
// a reader that cannot read this kind of file.
Resolved resolve(const Config& config, Reader reader);
// As llama.cpp reads a GGUF file, as transformers 5.23 reads a config.json.
Resolved resolve(const Config& config);

}  // namespace gnomon
