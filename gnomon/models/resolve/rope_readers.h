#pragma once
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/layers.h"
#include "gnomon/models/resolve/rope_dict.h"
#include "gnomon/models/resolve/rope_part.h"

namespace gnomon {

// What a reader makes of the settings of RoPE: a complete dictionary for each kind of layer, and its rules for the rest.
struct RopeReading {
  RopeKinds kinds;
  RopeRules rules;
  std::vector<Remark> remarks;
  std::int64_t table = 0;  // rows of the reader's table of cos and sin; 0: it has none
  const std::optional<RopeDict>& of(std::string_view label) const;  // of all, where one is for all
};

// transformers 5.23.0: configuration_utils.py and modeling_rope_utils.py, convert_rope_params_to_dict and
// standardize_rope_params, and the configurations that override them. `labels`: the layer types of the file.
RopeReading read_rope_v5(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                         std::int64_t longest);

// transformers 4.57.6: modeling_rope_utils.py. It knows rope_scaling and keys at the top level, and one dictionary.
RopeReading read_rope_v4(FileReading& file, const Family& family, std::int64_t longest);
// vLLM 0.33.0 and 0.24.0 (`old`), model_executor/layers/rotary_embedding/__init__.py, get_rope, of what transformers 5 makes of
// the file. The older one hands attn_factor, extrapolation_factor and apply_yarn_scaling to YaRN and no attention_factor; the
// newer one attention_factor, mscale and mscale_all_dim, and none of those.
RopeReading read_rope_vllm(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                           std::int64_t longest, bool old);
// SGLang 0.5.23, srt/layers/rotary_embedding/factory.py, get_rope, and srt/models/llama.py, likewise.
RopeReading read_rope_sglang(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                             std::int64_t longest);
// mlx-lm 0.32.2, models/rope_utils.py, initialize_rope, and the class of the model's type. Throws Error(input) for a type whose
// class is not known here, and for a file that the class refuses.
RopeReading read_rope_mlx(FileReading& file, const Family& family, std::int64_t longest);
// TGI 3.3.7 (the last release), server/text_generation_server/layers/rotary.py, PositionRotaryEmbedding.static, and the class of
// the model's type, with what transformers 4.51.3 makes of the file. Throws likewise.
RopeReading read_rope_tgi(FileReading& file, const Family& family, std::int64_t longest);
// The windows that mlx-lm's class has, in place of those of transformers' class. Throws likewise.
void see_as_mlx(FileReading& file, const Family& family, std::vector<LayerKind>& kinds,
                std::vector<Remark>& remarks);
// getattr(config, "rope_theta", 10000) and rope_scaling as LlamaAttention._init_rope of transformers 4.31 (July 2023) had it.
RopeReading read_rope_naive(FileReading& file);
// llama.cpp, src/llama-model.cpp, load_hparams, and src/llama-context.cpp, of GGUF keys (0.5.0).
RopeReading read_rope_gguf(FileReading& file, std::int64_t longest);
// As the reader does it.
RopeReading read_rope(Reader reader, FileReading& file, const Family& family,
                      const std::vector<std::string>& labels, std::int64_t longest);

}  // namespace gnomon
