#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/parts.h"

namespace gnomon {

// What is known of a family of models beside its files: one row each (families/), which is all that a family with no rule
// of its own needs. Numbers and names are those of transformers 5.23.0, models/NAME/configuration_NAME.py and
// modeling_NAME.py, unless the row says otherwise.

enum class Method {
  rotary,
  table,  // rows beside the words, learned or sines
  alibi,
  falcon,    // ALiBi or RoPE, as its key `alibi` says
  t5,        // T5's buckets
  xlnet,     // Transformer-XL's terms, two-sided
  mpnet,     // a table and T5's buckets, of fixed sizes
  table_t5,  // a table and T5's buckets
  deberta,   // version 1
  deberta2,  // versions 2 and 3
  profile,   // Inkling
  baichuan,  // ALiBi in the model of 40 layers, RoPE in the others
  deepseek_v4,
  recurrence  // no layer attends: Mamba, RWKV, xLSTM
};

// What a file that leaves a size out means. heads_kv 0: as many as heads; head_dim 0: width / heads; longest 0: not said.
struct Sizes {
  std::int64_t width = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, longest = 0;
};
// The file's own words for them, where they are not hidden_size, num_hidden_layers, num_attention_heads,
// num_key_value_heads, head_dim and max_position_embeddings; those names are obeyed as well, and first.
struct SizeKeys {
  std::string_view width = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                   kv_heads = "num_key_value_heads", head_dim = "head_dim",
                   longest = "max_position_embeddings";
  std::string_view first_width = {};  // where the file has it, it is the width, whatever else says
  std::string_view first_kv = {};     // the same of kv_heads
  bool apart =
      false;  // num_hidden_layers and num_attention_heads are those of an encoder beside: only `layers` and `heads` count
};

// Which layers see a window only, if `layer_types` does not say.
struct WindowRule {
  enum class Which {
    none,     // of all, or of what layer_types says
    all,      // every layer, where the file has a window
    all_but,  // full attention in the last layer of every `every`, or the first (full_at 0)
    pattern,  // `start`, then `cycle` again and again, one letter for each layer
    from_layer,  // Qwen: from layer max_window_layers (`every`, where the file has none) on, if use_sliding_window
    before_layer,     // Qwen's mixtures of experts: every second one before that layer
    ends,             // the first layer and the last are of the other kind, unless use_key is false
    without_position  // SmolLM3: layers that do not turn, if use_sliding_window
  } which = Which::none;
  std::int64_t every = 0, full_at = 0;
  std::string_view every_key = {};  // the file's word for `every`
  std::string_view at_key =
      {};  // the file's word for which of `every` it is, from 0; `at`, where it has none
  std::int64_t at = 0;
  // The kinds of all_but and full_key: of the layers that see everything, and of the others.
  std::string_view full = "full_attention", other = "sliding_attention";
  // f full_attention, s sliding_attention, l linear_attention, c conv, h hybrid, i indexed_attention, k cross_attention, m moe,
  // r reference_sliding_attention, x mlp.
  // `cycle` counts from layer 0, and `start` takes the place of its first letters. all_but counts after `start`.
  std::string_view start = {}, cycle = {};
  bool last_full = false;            // the last layer has full attention, whatever the pattern says
  bool one_full = false;             // it has it, if no other layer has
  std::string_view full_key = {};    // a list of the layers that have full attention
  std::int64_t full_from = 0;        // what that list calls the first layer
  std::string_view other_key = {};   // a list of the others
  std::string_view cycle_key = {};   // Recurrent Gemma's cycle of kinds, where `attention` has a window
  std::string_view full_means = {};  // what full_attention in layer_types stands for, if for another kind
  bool full_slides = false;          // layers of full attention see the window too, where the file has one
  bool from_end = false;             // all_but counts from the last layer
  bool counted = false;  // there are as many layers as the list or the letters name, whatever the file says
  std::string_view types_key = "layer_types", letters_key = {};  // a kind for each layer; the same in letters
  std::string_view more_key = {};  // that list may go on for so many layers, which predict further tokens
  std::string_view key = "sliding_window";
  std::string_view beside_key =
      {};  // the tokens beside the query, which win over `key`: one less than the window
  std::string_view spare_key = {};  // in place of `key`, where the file has none: its value, divided
  std::int64_t spare_divisor = 1;
  std::int64_t standard = 0;           // tokens, where the file has none; 0 = no window
  std::int64_t fixed = 0;              // tokens, whatever the file says; 0 = as it says
  std::int64_t divisor = 1, more = 0;  // tokens = value / divisor + more: ModernBERT counts both sides
  // A layer may have a value of its own in per_layer_config. Where the file has no such object, every second layer with a window
  // has this one. 0: the class reads no window there.
  std::int64_t second = 0;
  std::int8_t two_sided_more = 0;  // tokens = value / 2 + this, where queries see later keys; 0: not halved
  bool split = false;  // (value + 1) / 2 tokens up to the query, value / 2 + 1 from it on: T5Gemma 2
  std::string_view use_key = {};  // the rule counts only where it is true, as use_sliding_window
  bool unused_is_none = false;    // where it is not, the class forgets the window, whatever layer_types says
  std::int64_t chunk = 0;         // of chunked_attention: attention_chunk_size, where the file has none
  bool typed = true;              // the class has layer_types
  std::string_view repeated_key =
      {};  // lists of kinds, each with how often it comes: [[["global", "local"], 12]]
};

// Multi-head latent attention: a slice of each head, at its end, turns, and the others do not.
struct Mla {
  // Channels; value 0: as the head; latent: kv_lora_rank, kept in place of keys and values.
  std::int64_t nope = 0, rope = 0, value = 0, latent = 512;
  bool value_by_width = false;  // width / heads, where the file has no v_head_dim
  bool sliceless = false;       // latent attention without a slice, rope 0
  bool bare_latent = false;     // a layer that does not turn keeps no slice beside the latent vector
  bool whole_slice = false;     // the share in the dictionary counts the whole head, and comes to the slice
  std::string_view pairing_key = {};  // true: adjacent
  bool unscaled = false;              // mscale_all_dim multiplies only cos and sin, not q·k
  bool unscaled_in_v4 = false;        // transformers 4 forgets the softmax factor of mscale_all_dim
  bool present() const { return rope != 0 || sliceless; }
};

// A second attention of a layer, which chooses the keys that the first one sees: DeepSeek V3.2. It has one KV head.
struct Indexer {
  std::string_view heads_key = {}, dim_key = {};  // empty: the family has none
  std::int64_t heads = 0, dim = 0;                // where the file does not say; dim 0: then there is none
  Pairing pairing = Pairing::halves;
  std::string_view kind = {};  // of the layers that have it; empty: all
  bool trailing = false;       // the end of its head turns, not the beginning
  // Beyond the first two layers one in so many has it, and the others use what it chose; 0: each has, whatever the file says.
  std::int64_t every = 0;
  bool every_said = false;  // if indexer_types, index_topk_pattern or index_topk_freq does not say it
};

// Heads that divide another width than the model's, or of which attention has a part only.
struct HeadShare {
  std::string_view width_key = {}, width_if = {};  // MobileBERT's bottleneck, unless the flag is false
  std::int64_t width = 0;
  std::string_view ratio_key =
      {};  // ConvBERT: one head of so many; half of the width is left to a convolution
  std::int64_t ratio = 0;
};

// Layers that see everything have other heads: Gemma 4.
struct FullHeads {
  std::string_view head_dim_key = {};
  std::int64_t head_dim = 0;                             // where the file has none; 0 = as the others
  std::string_view kv_heads_key = {}, kv_heads_if = {};  // the second: only where it is true; empty: always
  std::int64_t kv_heads = 0;                             // where the file has none; 0 = as the others
  bool last = false;                                     // the last layer always is one of them
};

// The first layers, which are dense in a mixture of experts, have a rule of their own: Command A.
struct DenseFirst {
  std::string_view count_key = {};  // how many
  std::string_view kinds_key = {};  // or which: a list in which they are called dense
  std::string_view every_key = {};  // of them, every so-many-th sees everything; 1: each does, and turns
};

// The same layers run again and again, and each time keep keys of their own: HRM, Perceiver. A file that has `stack_key` counts
// all runs as layers; another counts one: times outer · (inner + 1).
struct Reruns {
  std::string_view stack_key = {}, outer_key = {}, inner_key = {};
  std::int64_t outer = 1, inner = 0;  // where the file has none
};

// Layers with a window have other heads than the file says: MiMo, Inkling, Dots, Step.
struct SlidingHeads {
  std::int64_t kv_times = 1;  // as many KV heads
  // Where the file has no swa_num_attention_heads, …; 0: those of the other layers.
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t nope = 0, value = 0, latent = 0;  // of latent attention
  std::string_view heads_key = {},
                   older_heads_key = {};  // query heads; the first of these keys that the file has
};

// The factor of q that grows with position.
enum class Temperature {
  none,
  llama4,
  ministral3,
  beam,
  learned  // s·ln(p + 1) + b with two learned numbers for each head, which no file says: Mistral Large 4
};

// Which layers carry no position.
enum class NoPosition {
  never,
  always,           // none has any: position comes from the mask and from recurrent layers
  full,             // those that see everything
  listed,           // no_rope_layers, in which 1 is a layer *with* RoPE, or every no_rope_layer_interval-th
  full_if_windows,  // those that see everything, where others have a window
  unless_said,      // all, unless turning_key is true, or rope
  theta_zero,       // layer_rope_theta, where it is 0
  theta_zero_or_end  // the same, and the base is that of all; where the file has none, every fourth, from the last one on
};

// How the dictionaries of RoPE come about in the class (its convert_rope_params_to_dict).
enum class RopeDicts {
  none,       // the class has no dictionary: width_key says how many channels turn, or nothing turns
  base_only,  // it has none either, and all channels turn, by the base under theta_key, or by the class's
  standard,
  by_kind,         // one for full and one for sliding layers, whose scaling is that of the full ones
  both_kinds,      // the same, and the scaling is of both (ModernBERT)
  nested,          // one for all, or one for each kind of layer
  as_written,      // nothing is filled in: one for each kind of layer
  filled,          // one for each kind of layer, with base and share filled in
  copied,          // the same, and one for all is copied to each kind (Dots)
  filled_by_kind,  // filled with the base and the share that the class has for the kind (NeoMME)
  listed,  // as_written, or bases and shares in lists with one for each layer, of which the first of a kind counts
  phi3,    // su and yarn mean longrope
  mrope,   // the type mrope means default
  hunyuan  // the type dynamic with alpha means a larger base
};

enum class AttentionScale {
  root,        // 1/√head_dim
  half_head,   // 1/√(head_dim / 2)
  one,         // none
  by_scalar,   // 1/√query_pre_attn_scalar
  by_head,     // 1/head_dim: q and k are normalised
  multiplier,  // attention_multiplier; where the file has none, see scale_standard
  mpt,         // attn_config.softmax_scale
  weights,     // 1/√head_dim, if scale_attn_weights
  gpt2         // the same, and scale_attn_by_inverse_layer_idx
};

// The types of RoPE beside default that a class lets through; none: it does not look at them.
struct RopeTypes {
  std::vector<std::string_view> names = {};
  std::size_t members = 0;  // that the dictionary must have, `type` under this name among them; 0 = any
};

// Which of three streams of positions, time, height and width, a pair turns by (M-RoPE).
enum class StreamOrder {
  sections,           // each stream has its own section of the pairs
  in_turns,           // pair by pair; what is left over follows time
  height_width_time,  // height and width in turns, then time; mrope_section counts height, width, time
  rows_columns,       // two streams, row and column of an image, pair by pair
  by_channel  // sections of single channels, so that a pair follows two streams: of text alone it is a rotation
};

struct RopeFacts {
  double theta = 10000, sliding_theta = 0;  // of sliding layers, where they have their own
  double theta_v4 = 0;                      // of transformers 4, where it is another
  std::string_view theta_key = "rope_theta", sliding_theta_key = {};
  std::string_view idle_theta_key = {};  // a base that the class of transformers 5.23 takes and does not use
  Pairing pairing = Pairing::halves;
  std::string pairing_key = {};  // of the file, where one has said it
  bool backward = false;         // pairs turn by minus the angle: NanoChat
  RopeDicts dicts = RopeDicts::standard;
  double partial = 0;                                      // 0: the class has none
  std::string_view partial_key = "partial_rotary_factor";  // at the top level; empty: the class's own counts
  bool plain_partial = false;  // the type default rotates that part; elsewhere it forgets it
  bool part_fails = false;     // it has frequencies for that part, and an attention that turns the whole head
  bool null_theta = false;     // a base of null means that no layer turns
  // rope_scaling is not read, and nothing is filled into rope_parameters: Command A's mixture of experts.
  bool scaling_unread = false;
  bool odd_part = false;  // of an odd number of channels one more turns: the class takes as many as cos has
  std::string_view standard =
      {};  // what stands for an absent rope_parameters, as JSON: in it those of kinds, if so
  // Of the rotated channels, where they are no share: rotary_dim of GPT-J. Beside dictionaries a share, where said, counts first.
  std::string_view width_key = {};
  std::string_view scaled_key =
      {};  // a list of the layers that the dictionary is for; the others have its base alone
  std::string_view shares_key = {};  // of RopeDicts::listed, the shares of the layers
  std::int64_t original = 0;  // of the class, where the top level has no original_max_position_embeddings
  std::string_view sections = {};  // M-RoPE, where the file has no mrope_section
  StreamOrder streams = StreamOrder::sections;
  bool width_by_sections = false;  // where no share is said, the parts of M-RoPE are all pairs that turn
  // Phi-3.5-MoE: longrope asks for short_mscale and long_mscale, the factors of cos and sin by length; its frequencies are computed
  // without a length, so they are those of the short list.
  bool own_mscales = false;
  RopeTypes types = {},
            types_v4 = {};  // validate_rope; _rope_scaling_validation of transformers 4, or what it computes
  // Without head_dim no dynamic, yarn or longrope, which multiply None: an absent one, an absent one in transformers 4. Every
  // class has that of a head_dim written as null, but for those that fill it in.
  bool null_head = false, null_head_v4 = false, fills_null_head = false;

  bool no_dictionary() const { return dicts == RopeDicts::none || dicts == RopeDicts::base_only; }
};

// T5's buckets of distances: the file's words for their number and for the distance from which all share the last one.
struct BucketTable {
  std::string_view count_key = "relative_attention_num_buckets",
                   distance_key = "relative_attention_max_distance";
  std::int64_t count = 32, distance = 128;  // where the file has none
  bool scaled = false;                      // q·k is divided by √head_dim, which T5 leaves out
  std::string_view use_key = {};            // without them, where it is false
  std::string_view note = {};               // what else the class adds there, which no spec says
};

// A model with an encoder and a decoder. Sizes, keys and windows of its row are the encoder's; these are the decoder's, which is
// causal and has all else alike.
struct DecoderStack {
  std::string_view layers_key = {}, heads_key = {}, longest_key = {};
  std::int64_t layers = 0, heads = 0, longest = 0;  // where the file has none; 0: as many as the encoder has
  bool unwindowed = false;                          // it sees all before a token, whatever the encoder sees
  // Each stack is a model of its own, in one of these objects, and of the type that the object names, or of this one.
  std::string_view encoder_part = {}, encoder_type = {}, part = {}, type = {};
  bool in_objects() const { return !part.empty(); }
  bool present() const { return in_objects() || !layers_key.empty(); }
};

// Rows of positions beside the words.
struct PlaceTable {
  std::int64_t offset = 0;  // rows before that of the first token
  bool padded = false;      // RoBERTa: the rows up to pad_token_id come before it
  std::int64_t pad = 1;     // pad_token_id, where the file has none
  bool pad_fixed = false;   // whatever the file says (MPNet)
  // Sines in place of learned rows: the options of the encoding. With learned_key, only where the file has false for it; then they
  // are padded, whatever the learned rows are.
  std::string_view sines = {}, learned_key = {};
  // Words are multiplied by √width: where scaled_key is true, which stands for an absent one as `scaled` says.
  bool scaled = false;
  std::string_view scaled_key = {};
  // The layers turn in place of it where the file has this word under this key (ESM).
  std::string_view turned_key = {}, turned_word = {};
  std::string_view note = {};  // what else the class does there, which no spec says
};

struct Family {
  std::string_view name;
  std::vector<std::string_view> types;      // model_type
  std::vector<std::string_view> gguf = {};  // general.architecture
  std::vector<std::string_view> own_code =
      {};  // of `types`, those that transformers 5.23 has no class for: the repository's own code counts
  Method method = Method::rotary;
  Sizes sizes = {};
  SizeKeys keys = {};
  bool width_by_heads = false;  // transformers 5.23 refuses a width that the heads do not divide
  bool causal = true;
  std::string_view two_sided_key = {};  // true or "all": no query is kept from the keys after it
  std::string_view causal_key =
      {};  // true: every query is, though the class is two-sided without (is_decoder)
  bool two_sided_by_kernel = false;  // that key reaches the attention kernel alone, and the mask stays causal
  AttentionScale scale = AttentionScale::root;
  double scale_standard = 0;  // of its key, where the file has none; 0: what makes it 1/√head_dim
  WindowRule windows = {};
  NoPosition no_position = NoPosition::never;
  std::string_view turning_first_key = {};  // so many first layers turn, whatever they see
  std::string_view turning_key = {};        // of unless_said
  DenseFirst dense_first = {};
  Reruns reruns = {};
  Temperature temperature = Temperature::none;
  Mla mla = {};
  Indexer indexer = {};
  FullHeads full = {};
  SlidingHeads sliding = {};
  std::string_view heads_list = {};  // query heads of each layer
  std::int64_t head_times =
      1;  // heads are so many times as wide as width / heads, where the file has no width of them
  bool head_by_width = false;        // width / heads, whatever head_dim says
  std::string_view per_kv_key = {};  // query heads for each KV head, in place of a number of heads
  std::int64_t per_kv = 0;
  std::int64_t attentions = 1;  // of each layer; they are numbered as layers
  HeadShare share = {};
  std::string_view one_kv_key = {};  // true or absent: one KV head for all, whatever keys.kv_heads says
  std::string_view shared_key = {};  // so many of the last layers use the keys of earlier ones
  std::int64_t shared = 0;
  std::string_view source_key = {};  // the layer whose keys each layer uses: its own, or an earlier one
  std::int64_t value = 0;            // channels of a value, v_head_dim, where they are not those of the head
  std::int64_t log_floor = 0;  // log_scaling_n_floor of Inkling, where the file has none; 0: no temperature
  RopeFacts rope = {};
  BucketTable buckets = {};
  PlaceTable table = {};
  DecoderStack decoder = {};
  std::string_view logits_note = {};  // what each layer adds to its logits by the content, which no spec says
  std::string_view mixer = {};        // what every layer has in place of attention between tokens (Resolved)
};

// The key that says the width, where several may: `has` tells which the file has.
template <class Has>
std::string_view width_key(const SizeKeys& keys, const Has& has) {
  if (!keys.first_width.empty() && has(keys.first_width)) return keys.first_width;
  return has(SizeKeys{}.width) ? SizeKeys{}.width : keys.width;
}

std::span<const Family> families();
// The row whose model_type, or GGUF architecture, this is; null: unknown.
const Family* find_family(std::string_view model_type);
const Family* find_gguf_family(std::string_view architecture);

// The row of the class that AutoConfig takes for a config.json whose language part has this type and whose top level has that
// one; null: unknown. Mistral with layer_types at the top level is read as Ministral (transformers 4.57 and 5.23,
// models/auto/configuration_auto.py).
const Family* find_family(std::string_view type, std::string_view outer, bool layer_types);

}  // namespace gnomon
