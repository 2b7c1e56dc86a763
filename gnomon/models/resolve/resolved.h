#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

// Programs that read the same file but may compute something different from it.
enum class Reader {
  v5,  // transformers 5.23: what "right" means for a config.json, unless the family's own code says otherwise
  v4,  // transformers 4.57
  llama_cpp,  // llama.cpp, for a GGUF file, or for a config.json after its converter
  vllm,       // vLLM 0.33
  vllm_24,    // vLLM 0.24, which reads the keys of YaRN's authors
  sglang,     // SGLang 0.5.23
  mlx,        // mlx-lm 0.32
  tgi,        // TGI 3.3.7, the last release
  naive       // getattr(config, "rope_theta", 10000) and rope_scaling as in 2023
};
std::span<const std::string_view> reader_names();  // "v5", "v4", "llama.cpp", "vllm", …
std::string_view reader_version(Reader reader);    // version of the program: "5.23.0"
std::string_view reader_title(Reader reader);      // with version: "transformers 5.23"

// The reason for a value; every number of an answer has one.
struct Because {
  std::string what;   // an option of the spec ("theta", "factor", "window") or a size ("head_dim", "scale")
  std::string value;  // as printed
  std::string key;    // key in the file, "rope_scaling.factor"; empty: no key gives it
  std::string rule;  // "the dict's own, before the top level's (transformers 5, convert_rope_params_to_dict)"
  bool follows = false;  // from that key, by a rule: the key itself says another thing
  bool said() const { return !key.empty() && !follows; }  // the file says it, and no convention of a class
};

// The cache of a layer, if it differs from one key and one value per visible token.
struct KeptKeys {
  bool shared = false;        // key and value are one vector
  std::int64_t window = 0;    // number of cached tokens, if the spec has no window; 0 = all
  std::int64_t block = 0;     // tokens per additional summary key; 0 = no such keys
  std::int64_t channels = 0;  // channels of that key
  std::int64_t latent =
      0;  // channels of the one vector kept for all heads, in place of keys and values; 0 = none
  bool elsewhere = false;  // none: an earlier layer's keys and values serve this one too
  bool operator==(const KeptKeys&) const = default;
};

// What one layer does with position: a spec, and the sizes of its heads. The library derives everything else from them:
// frequencies, factors, slopes, buckets.
struct LayerPosition {
  Spec spec;                // add(none, scale=off)+ the encodings inside attention; see also Resolved::input
  std::int64_t number = 0;  // number of the layer, from 0; a layer of two components has two entries
  std::int64_t heads = 0;   // query heads
  std::int64_t kv_heads = 0, head_dim = 0;
  std::int64_t value_dim = 0;  // channels of a value; 0 = head_dim
  double scale = 0;    // factor on q·k; 0 = 1/√head_dim. A factor by position or by YaRN is in the spec
  bool causal = true;  // a query sees no key after it
  KeptKeys kept;
  // Empty: attention. Else the layer has none between tokens, so no position, no heads and no cache of keys: "linear_attention",
  // "conv", "moe", "fourier", "latents".
  std::string mixer;
  std::string
      component;  // empty; "encoder" or "decoder" in a model with both; "indexer" for DeepSeek's second attention
  std::vector<Because> because;
  bool same(const LayerPosition& other) const;  // compares all but `number` and `because`
};

// The first layer of each group with the same position encoding, in order; at most `most` + 1 of them.
std::vector<const LayerPosition*> different_layers(const std::vector<LayerPosition>& layers,
                                                   std::size_t most);

struct Remark {
  std::string key,
      says;  // what the reader does unexpectedly with a key: ignores it, overwrites it, guesses it
  std::string_view rule =
      {};  // the rule of `gnomon lint` (lint.h) with the same finding; empty for readers other than v5
  std::string instead = {};  // what to write instead; empty: the rule says it
  bool refused = false;      // transformers 5.23 raises an error for it: no model computes these numbers
};

// A tower for images or sound beside the language model, or a file of one alone: what transformers 5.23 does with position in it.
// All of its layers turn alike.
struct Tower {
  std::string part;       // the object that configures it, "vision_config"; empty: the document itself does
  std::string component;  // "encoder" in a file that has a decoder as well; else empty
  std::string type;       // its model_type
  bool known = false;     // false: gnomon has no row of it, or cannot read it, and the rest is empty
  std::string wrong;      // why it cannot
  bool sound = false;     // it reads sound, not images
  std::int64_t layers = 0, width = 0;
  LayerPosition position;         // heads, and the encodings inside attention
  std::vector<std::string> axes;  // what each coordinate of the rotation is: "row", "column"
  std::string coordinates;        // where they begin, or what they count; empty: patches from 0 on
  std::string unit;               // what a coordinate of 1 is; empty: a patch
  std::string window;             // layers that see a part of the image, in words; empty: none
  // Of layers that do not attend: "conv". Empty for one that does, and where all do, the whole list.
  std::vector<std::string> mixers;
  // Added to the patches, or to the frames: "add(learned(length=577), scale=off)". by_coordinates: a row of a table for the column
  // plus one for the row, which no spec says.
  Spec input;
  bool by_coordinates = false;
  std::int64_t rows = 0;     // of that table; of each of two
  std::int64_t first = 0;    // row of the first patch
  std::int64_t beside = 0;   // rows of tokens that are no patches
  std::int64_t without = 0;  // tokens that have neither a row nor a turn
  std::int64_t grid_rows = 0,
               grid_columns = 0;  // patches of an image of the size that the file says; 0: it says none
  std::string
      resized;  // how rows are resampled for an image of another size, "bicubic"; empty: the class refuses it
  bool asked = false;  // only where interpolate_pos_encoding is true, else the class refuses it
  std::vector<Because> because;
};

// The position settings of a model's file, as one reader understands them.
struct Resolved {
  std::string family;  // "llama"; for an unknown family, its model_type
  bool known = false;  // false: explained only from its keys
  Reader reader = Reader::v5;
  bool causal = true;                          // all layers are causal
  std::int64_t width = 0, trained_length = 0;  // trained_length: tokens before any extension; 0 = not given
  std::int64_t longest = 0;                    // tokens that the file promises: max_position_embeddings
  std::int64_t table_rows = 0;                 // of the reader's table of cos and sin; 0: it has none
  std::int64_t table_first = 0;                // row of a learned table for the first token
  // Tokens that the encoder's table beside has; 0: as many as `longest`, which of two stacks is the decoder's
  std::int64_t encoder_longest = 0;
  Spec input;  // the combination and input encoding: "add(learned, scale=off)", "add(none, scale=off)"
  std::vector<Because> because;       // reasons for the values above
  std::vector<LayerPosition> layers;  // one for each, in order
  std::vector<Remark> remarks;
  std::vector<Tower> towers;  // for transformers 5.23
  bool tower_alone = false;   // the file has no language model: the layers above are those of its tower
};

// Throws Error(input) for impossible values (a negative width, a list with the wrong number of layers), Error(usage) for a reader
// that cannot read this kind of file.
Resolved resolve(const Config& config, Reader reader);
// The same for the default reader: llama.cpp for a GGUF file, transformers 5.23 for a config.json.
Resolved resolve(const Config& config);

}  // namespace gnomon
