#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

// Programs that read the same file and do not compute the same from it.
enum class Reader {
  v5,  // transformers 5.23: what "right" means for a config.json, unless the family's own code says otherwise
  v4,  // transformers 4.57
  llama_cpp,  // llama.cpp, of a GGUF file, or of what its converter makes of a config.json
  vllm,       // vLLM 0.33
  vllm_24,    // vLLM 0.24, which reads the keys of YaRN's authors
  naive       // getattr(config, "rope_theta", 10000) and rope_scaling as it stood in 2023
};
std::span<const std::string_view> reader_names();  // "v5", "v4", "llama.cpp", "vllm", "vllm-0.24", "naive"
std::string_view reader_version(Reader reader);    // of the program whose code was read: "5.23.0"
std::string_view reader_title(Reader reader);      // with it: "transformers 5.23"

// Why something is as it is: every number of an answer has one.
struct Because {
  std::string what;   // an option of the spec ("theta", "factor", "window") or a size ("head_dim", "scale")
  std::string value;  // as printed
  std::string key;    // of the file, "rope_scaling.factor"; empty: no key says it
  std::string rule;  // "the dict's own, before the top level's (transformers 5, convert_rope_params_to_dict)"
};

// What generation keeps of a layer, where it is not a key and a value of each token that it sees.
struct KeptKeys {
  bool shared = false;        // keys are values: one vector
  std::int64_t window = 0;    // tokens whose keys are kept, where the spec has no window; 0 = all
  std::int64_t block = 0;     // tokens that one further key stands for; 0 = there is none
  std::int64_t channels = 0;  // of that key
  bool operator==(const KeptKeys&) const = default;
};

// What one layer does with position: a spec, and for what heads. All else (frequencies, factors, slopes, buckets) follows from
// it by the library itself.
struct LayerPosition {
  Spec spec;  // add(none, scale=off)+ what acts inside attention; the model's `input` stands apart
  std::int64_t number = 0;  // of the layer, from 0; a layer of two components has two entries
  std::int64_t heads = 0;   // of queries
  std::int64_t kv_heads = 0, head_dim = 0;
  std::int64_t value_dim = 0;  // of a vector of values; 0 = head_dim
  double scale = 0;            // of q·k; 0 = 1/√head_dim. A factor by position or by YaRN is in the spec
  bool causal = true;          // a query sees no key after it
  KeptKeys kept;
  std::string
      component;  // empty; "encoder" or "decoder" of a model that has both; "indexer" of DeepSeek's second attention
  std::vector<Because> because;
  bool same(const LayerPosition& other) const;  // all but `number` and `because`
};

// The first layer of each kind that does the same with position, in order; no more than `most` and one.
std::vector<const LayerPosition*> different_layers(const std::vector<LayerPosition>& layers,
                                                   std::size_t most);

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
