// What each family has beside positions, by the keys of its file: models/NAME/configuration_NAME.py and modeling_NAME.py of
// transformers 5.23.0; of GGUF files what llama.cpp's converter leaves of it (conversion/NAME.py).
#include <algorithm>
#include <cmath>

#include "gnomon/models/resolve/facts.h"

namespace gnomon {
namespace {

// Llama and its kin: RMS norms, a gate, few biases or none.
void rms_block(Facts& f, Architecture& a, std::int64_t hidden = 0) {
  a.norm = {.form = NormForm::rms,
            .epsilon = f.epsilon("rms_norm_eps", f.resolved.family == "phi3" ? 1e-5 : 1e-6)};
  a.feed_forward = {hidden ? hidden : f.hidden("intermediate_size"), f.activation("hidden_act", "silu"),
                    Gating::on};
  const bool attention = f.flag("attention_bias", false), mlp = f.flag("mlp_bias", false);
  a.biases = {attention, attention, attention, attention, mlp, mlp};
}

void gemma(Facts& f, Architecture& a, std::string_view activation) {
  rms_block(f, a);
  // The converter adds the 1 to the gains.
  a.norm.form = f.gguf ? NormForm::rms : NormForm::rms_one_plus;
  a.feed_forward.activation = f.activation(activation, "gelu_pytorch_tanh");
  a.head = f.head(true);
  a.word_scale = std::sqrt(double(a.width));
}

// Of the head's transform; where the feed-forward parts have the same, it goes without saying.
void head_activation(Architecture& a, Activation activation) {
  if (activation != a.feed_forward.activation) a.head.activation = activation;
}

}  // namespace

// BERT, RoBERTa and MPNet: norms after the sums.
void block_bert(Facts& f, Architecture& a) {
  a.norm = {.epsilon = f.epsilon("layer_norm_eps", 1e-12),
            .place = NormPlace::after_sum,
            .embedding = true,
            .last = false};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu")};
  a.head.form = HeadForm::none;
  if (f.gguf) return;  // its converter leaves the head out
  a.token_types = f.resolved.family == "mpnet" ? 0 : f.whole("type_vocab_size", 2);
  a.head = {.form = HeadForm::transform,
            .tied = f.flag("tie_word_embeddings", true),
            .bias = true,
            .transform_bias = true};
  // modeling_roberta.py, RobertaLMHead, and its like of CamemBERT, XLM-R and MPNet: gelu(x), whatever hidden_act says.
  if (f.resolved.family != "bert") head_activation(a, Activation::gelu);
}

void block_deberta_v2(Facts& f, Architecture& a) {
  if (f.whole("conv_kernel_size", 0) > 0) f.refuse("conv_kernel_size", "0: gnomon has no convolution");
  if (f.whole("embedding_size", a.width) != a.width) f.refuse("embedding_size", "hidden_size");
  if (f.flag("relative_attention", false) && f.resolved.layers.front().spec.attention.empty())
    f.refuse("pos_att_type", "c2p, p2c or both: gnomon cannot run a distance table that no term uses");
  a.norm = {.epsilon = f.epsilon("layer_norm_eps", 1e-7),
            .place = NormPlace::after_sum,
            .embedding = true,
            .last = false};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu")};
  a.token_types = f.whole("type_vocab_size", 0);
  a.head = {.form = HeadForm::none};
}

void block_deberta(Facts& f, Architecture& a) {
  if (f.flag("talking_head", false)) f.refuse("talking_head", "false: gnomon does not mix heads");
  block_deberta_v2(f, a);
  a.biases.k = false;
}

void block_modernbert(Facts& f, Architecture& a) {
  a.norm = {.form = f.flag("norm_bias", false) ? NormForm::layer : NormForm::layer_no_bias,
            .epsilon = f.epsilon("norm_eps", 1e-5),
            .embedding = true,
            .first = false};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_activation", "gelu"), Gating::on};
  const bool attention = f.flag("attention_bias", false), mlp = f.flag("mlp_bias", false);
  a.biases = {attention, attention, attention, attention, mlp, mlp};
  a.head = {.form = HeadForm::transform,
            .tied = f.flag("tie_word_embeddings", true),
            .bias = f.flag("decoder_bias", true),
            .transform_bias = f.flag("classifier_bias", false)};
  head_activation(a, f.activation("classifier_activation", "gelu"));
}

// T5, mT5 and umT5. The decoder is causal: it reads the encoder and has the head.
void block_t5(Facts& f, Architecture& a) {
  const auto type = f.file.text("model_type");
  const bool first = type != "mt5" && type != "umt5";
  a.norm = {.form = NormForm::rms, .epsilon = f.epsilon("layer_norm_epsilon", 1e-6)};
  const std::string kind = f.file.text("feed_forward_proj").value_or(first ? "relu" : "gated-gelu");
  const bool gated = kind.rfind("gated-", 0) == 0;
  const std::string name = gated ? kind.substr(6) : kind;
  // configuration_t5.py: "gated-gelu" means gelu_new.
  const auto activation = activation_named(gated && name == "gelu" ? "gelu_new" : name);
  if (!activation) f.refuse("feed_forward_proj", "relu, gelu, silu, gated-gelu, gated-relu and gated-silu");
  a.feed_forward = {f.hidden("d_ff"), *activation, gated ? Gating::on : Gating::off};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::none};
  if (!a.causal) return;
  a.cross = {.scale = 1};
  a.head = {.tied = true};
  // configuration_t5.py: of T5 1.1 and Flan-T5, whose files say that the head is not the word table, rows are not scaled; the
  // table is the head all the same where the file holds no other. modeling_umt5.py always scales, modeling_mt5.py never does.
  if (f.gguf) return;  // llama.cpp scales none
  const bool scales =
      type == "umt5" || (first && f.flag("scale_decoder_outputs", f.flag("tie_word_embeddings", true)));
  if (scales) a.head.scale = 1 / std::sqrt(double(a.width));
}

void block_gpt2(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_epsilon", 1e-5);
  a.feed_forward = {f.hidden("n_inner", 4 * a.width), f.activation("activation_function", "gelu_new")};
  a.head = f.head(true);
}

void block_gpt_neox(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_eps", 1e-5);
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu")};
  const bool attention = f.flag("attention_bias", true);
  a.biases.q = a.biases.k = a.biases.v = a.biases.out = attention;
  a.residual = f.flag("use_parallel_residual", true) ? Residual::parallel : Residual::in_turn;
  a.head = f.head(false);
}

void block_gptj(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_epsilon", 1e-5);
  a.feed_forward = {f.hidden("n_inner", 4 * a.width), f.activation("activation_function", "gelu_new")};
  a.biases.q = a.biases.k = a.biases.v = a.biases.out = false;
  a.residual = Residual::parallel_one_norm;
  a.head = f.head(false);
  a.head.bias = true;
}

// Llama, Mistral, Phi-3 and SmolLM3. GGUF files of Mixtral have Llama's architecture.
void block_llama(Facts& f, Architecture& a) {
  rms_block(f, a);
  if (f.gguf) a.feed_forward.experts = f.experts({}, 0, {}, 0);
  a.head = f.head(f.resolved.family == "smollm3");
}
void block_qwen2(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.biases.q = a.biases.k = a.biases.v = true;
  a.biases.out = false;
  a.head = f.head(false);
}
void block_qwen3(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm.qk = QkNorm::shared;
  a.head = f.head(false);
}

void block_gemma2(Facts& f, Architecture& a) {
  gemma(f, a, "hidden_activation");
  a.norm.place = NormPlace::before_and_after;
  a.attention.soft_cap = f.number_or_none("attn_logit_softcapping", 50);
  a.head.soft_cap = f.number_or_none("final_logit_softcapping", 30);
}
void block_gemma3(Facts& f, Architecture& a) {
  gemma(f, a, "hidden_activation");
  a.norm.place = NormPlace::before_and_after;
  a.norm.qk = QkNorm::shared;
  a.attention.soft_cap = f.number_or_none("attn_logit_softcapping", 0);
  a.head.soft_cap = f.number_or_none("final_logit_softcapping", 0);
}

void block_gemma(Facts& f, Architecture& a) {
  gemma(f, a, "hidden_act");
  // Of the first files: the tanh form is meant (configuration_gemma.py).
  if (a.feed_forward.activation == Activation::gelu) a.feed_forward.activation = Activation::gelu_tanh;
}

namespace {

// Layers with full attention have other heads than those with a window.
void gemma4_heads(Facts& f, Architecture& a) {
  const auto& layers = f.resolved.layers;
  OtherHeads& others = a.other_heads;
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const LayerPosition& layer = layers[std::size_t(l)];
    if (layer.head_dim == a.attention.head_dim && layer.kv_heads == a.attention.kv_heads) continue;
    if (!others.layers.empty() && (layer.head_dim != others.head_dim || layer.kv_heads != others.kv_heads))
      f.refuse("per_layer_config", "one kind of heads beside the first layer's");
    others.layers.push_back(l), others.head_dim = layer.head_dim, others.kv_heads = layer.kv_heads;
  }
}
bool has_full_attention(Facts& f, std::int64_t layer) {
  const auto& acting = f.resolved.layers[std::size_t(layer)].spec.attention;
  return std::none_of(acting.begin(), acting.end(), [](const Named& n) { return n.name == "window"; });
}
// Gemma4TextConfig.kv_sharing_modes: the last layers borrow from the last of their kind before them.
void gemma4_borrowing(Facts& f, Architecture& a) {
  const std::int64_t borrowing = f.whole("num_kv_shared_layers", 0), makers = a.layers - borrowing;
  if (borrowing < 0 || borrowing >= a.layers)
    f.refuse("num_kv_shared_layers", text("whole numbers from 0 to ", a.layers - 1));
  for (std::int64_t l = makers; l < a.layers; ++l) {
    std::int64_t from = makers - 1;
    while (from >= 0 && has_full_attention(f, from) != has_full_attention(f, l)) --from;
    if (from < 0)
      f.refuse("num_kv_shared_layers", text("fewer layers: none before is of the kind of layer ", l));
    a.keys_from.push_back(from);
  }
  if (!f.flag("use_double_wide_mlp", false)) return;
  for (std::int64_t l = makers; l < a.layers; ++l) a.feed_forward.others.layers.push_back(l);
  a.feed_forward.others.hidden = 2 * a.feed_forward.hidden;
}

}  // namespace

void block_gemma4(Facts& f, Architecture& a) {
  if (f.flag("enable_moe_block", false))
    f.refuse("enable_moe_block", "false: gnomon does not run Gemma 4 with experts");
  rms_block(f, a);
  a.feed_forward.activation = f.activation("hidden_activation", "gelu_pytorch_tanh");
  a.norm.place = NormPlace::before_and_after;
  a.norm.qk = QkNorm::shared, a.norm.values = true;
  a.word_scale = std::sqrt(double(a.width));
  a.head = f.head(true);
  a.head.soft_cap = f.number_or_none("final_logit_softcapping", 0);
  a.layer_scale = true;
  a.layer_words = f.whole("hidden_size_per_layer_input", 256);
  if (a.layer_words > 0 && f.whole("vocab_size_per_layer_input", 262144) != a.vocabulary)
    f.refuse("vocab_size_per_layer_input", "vocab_size: gnomon reads one table for all tokens");
  gemma4_heads(f, a);
  gemma4_borrowing(f, a);
  if (!f.flag("attention_k_eq_v", false)) return;
  if (a.other_heads.layers.empty())
    f.refuse("attention_k_eq_v", "false where all layers have the same heads");
  (has_full_attention(f, 0) ? a.attention.keys_are_values : a.other_heads.keys_are_values) = true;
}

// --- Decoders with layer norms

namespace {

// Layer norms, a feed-forward part without a gate, and a bias of every matrix or of none.
void layer_block(Architecture& a, double epsilon, std::int64_t hidden, bool biases) {
  a.norm.epsilon = epsilon;
  a.feed_forward = {hidden, Activation::gelu};
  if (!biases) a.biases = kNoBiases;
}

}  // namespace

void block_phi(Facts& f, Architecture& a) {
  layer_block(a, f.epsilon("layer_norm_eps", 1e-5), f.hidden("intermediate_size"), true);
  a.feed_forward.activation = f.activation("hidden_act", "gelu_new");
  if (f.flag("qk_layernorm", false)) a.norm.qk = QkNorm::shared;
  a.residual = Residual::parallel_one_norm;
  a.head = f.head(false);
  a.head.bias = true;
}

void block_falcon(Facts& f, Architecture& a) {
  layer_block(a, f.epsilon("layer_norm_epsilon", 1e-5), f.hidden("ffn_hidden_size", 4 * a.width),
              f.flag("bias", false));
  a.feed_forward.activation = f.activation("activation", "gelu");
  const bool parallel = f.flag("parallel_attn", true), second = f.flag("new_decoder_architecture", false);
  if (second && !parallel) f.refuse("parallel_attn", "true where new_decoder_architecture is");
  const bool two = second && f.whole("num_ln_in_parallel_attn", 2) == 2;
  a.residual = !parallel ? Residual::in_turn : two ? Residual::parallel : Residual::parallel_one_norm;
  a.head = f.head(true);
}

void block_bloom(Facts& f, Architecture& a) {
  if (f.flag("apply_residual_connection_post_layernorm", false))
    f.refuse("apply_residual_connection_post_layernorm", "false");
  layer_block(a, f.epsilon("layer_norm_epsilon", 1e-5), 4 * a.width, true);
  a.feed_forward.activation = Activation::gelu_tanh;
  a.norm.embedding = true;
  a.head = f.head(true);
}

// Its class has no biases and an expansion of 4, whatever the file says.
void block_mpt(Facts& f, Architecture& a) {
  layer_block(a, f.epsilon("layer_norm_epsilon", 1e-5), 4 * a.width, false);
  a.norm.form = NormForm::layer_no_bias;
  a.attention.clip = f.number("attn_config.clip_qkv", "attention.clamp_kqv", 0);
  a.head = f.head(true);
}

void block_opt(Facts& f, Architecture& a) {
  if (const std::int64_t words = f.whole("word_embed_proj_dim", a.width); words != a.width)
    a.narrow = {words, Widened::words};
  layer_block(a, double(kNormEpsilon), f.hidden("ffn_dim", 3072), f.flag("enable_bias", true));
  if (!f.flag("layer_norm_elementwise_affine", true)) a.norm.form = NormForm::layer_plain;
  a.feed_forward.activation = f.activation("activation_function", "relu");
  const bool before = f.flag("do_layer_norm_before", true);
  a.norm.place = before ? NormPlace::before : NormPlace::after_sum;
  a.norm.last = before && !f.flag("_remove_final_layer_norm", false);
  a.head = f.head(true);
}

void block_stablelm(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm = {.epsilon = f.epsilon("layer_norm_eps", 1e-5)};
  a.biases = kNoBiases;
  a.biases.q = a.biases.k = a.biases.v = f.flag("use_qkv_bias", false);
  if (f.flag("qk_layernorm", false)) a.norm.qk = QkNorm::own, a.norm.qk_form = NormForm::layer_no_bias;
  a.residual = f.flag("use_parallel_residual", false) ? Residual::parallel_one_norm : Residual::in_turn;
  a.head = f.head(false);
}

// --- More of Llama's kin

void block_olmo(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm = {.form = NormForm::layer_plain};
  a.attention.clip = f.number("clip_qkv", "attention.clamp_kqv", 0);
  a.head = f.head(false);
}
// OLMo 2 and 3.
void block_olmo2(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm.epsilon = f.epsilon("rms_norm_eps", 1e-5);
  a.norm.place = NormPlace::after_sublayer, a.norm.qk = QkNorm::whole;
  a.head = f.head(false);
}
void block_exaone4(Facts& f, Architecture& a) {
  block_olmo2(f, a);
  a.norm.qk = QkNorm::shared;
}

// GLM and GLM-4, which has norms after its sublayers too.
void block_glm(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm.epsilon = f.epsilon("rms_norm_eps", 1.5625e-7);
  a.biases.q = a.biases.k = a.biases.v = !f.gguf && f.flag("attention_bias", true);
  a.biases.out = false;
  const auto kind = f.gguf ? f.file.config().text("general.architecture") : f.file.text("model_type");
  if (kind == "glm4") a.norm.place = NormPlace::before_and_after;
  a.head = f.head(false);
}

void block_granite(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.word_scale = f.number("embedding_multiplier", "embedding_scale", 1);
  a.residual_scale = f.number("residual_multiplier", "residual_scale", 1);
  a.head = f.head(false);
  a.head.scale = 1 / f.number("logits_scaling", "logit_scale", 1);
}

// --- Experts

namespace {

// Layers without experts, of this hidden width: those of mlp_only_layers, and all but every decoder_sparse_step-th.
void dense_layers(Facts& f, Architecture& a, std::int64_t hidden) {
  const std::int64_t step = f.whole("decoder_sparse_step", 1);
  if (step < 1) f.refuse("decoder_sparse_step", "whole numbers of 1 or more");
  const auto plain = f.file.wholes("mlp_only_layers").value_or(std::vector<std::int64_t>());
  OtherHidden& others = a.feed_forward.others;
  others.hidden = hidden;
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const bool said = std::find(plain.begin(), plain.end(), l) != plain.end();
    if (said || (l + 1) % step != 0) others.layers.push_back(l);
  }
  if (std::int64_t(others.layers.size()) == a.layers) a.feed_forward = a.feed_forward_in(0);
}

}  // namespace

void block_mixtral(Facts& f, Architecture& a) {
  rms_block(f, a);
  a.norm.epsilon = f.epsilon("rms_norm_eps", 1e-5);
  a.biases = kNoBiases;
  a.feed_forward.experts = f.experts("num_local_experts", 8, "num_experts_per_tok", 2);
  a.head = f.head(false);
}
// llama.cpp always divides the weights by their sum.
void block_qwen3_moe(Facts& f, Architecture& a) {
  rms_block(f, a, f.whole("moe_intermediate_size", "expert_feed_forward_length", 768));
  a.norm.qk = QkNorm::shared;
  a.feed_forward.experts = f.experts("num_experts", 128, "num_experts_per_tok", 8);
  if (!f.gguf && !f.flag("norm_topk_prob", false)) a.feed_forward.experts.routing = Routing::of_all;
  if (!f.gguf) dense_layers(f, a, f.hidden("intermediate_size", 6144));
  a.head = f.head(false);
}
void block_gpt_oss(Facts& f, Architecture& a) {
  rms_block(f, a, f.whole("intermediate_size", "expert_feed_forward_length", 2880));
  a.norm.epsilon = f.epsilon("rms_norm_eps", 1e-5);
  const bool attention = f.flag("attention_bias", true);
  a.biases = {attention, attention, attention, attention, true, true};
  a.attention.sinks = true;
  if (f.number("swiglu_alpha", 1.702) != 1.702) f.refuse("swiglu_alpha", "1.702");
  a.feed_forward.activation = Activation::gelu_sigmoid;
  a.feed_forward.gating = Gating::clamped, a.feed_forward.limit = f.number("swiglu_limit", 7);
  a.feed_forward.experts = f.experts("num_local_experts", 128, "num_experts_per_tok", 4);
  a.feed_forward.experts.bias = true;
  a.head = f.head(false);
}

// --- More of BERT's kin

void block_distilbert(Facts& f, Architecture& a) {
  a.norm = {.epsilon = 1e-12, .place = NormPlace::after_sum, .embedding = true, .last = false};
  a.feed_forward = {f.hidden("hidden_dim", 3072), f.activation("activation", "gelu")};
  a.head = {.form = HeadForm::transform,
            .tied = f.flag("tie_word_embeddings", true),
            .bias = true,
            .transform_bias = true};
}

void block_electra(Facts& f, Architecture& a) {
  if (const std::int64_t words = f.whole("embedding_size", 128); words != a.width)
    a.narrow = {words, Widened::embedding, true};
  block_bert(f, a);
}

void block_nomic_bert(Facts& f, Architecture& a) {
  block_bert(f, a);
  a.feed_forward.gating = Gating::on;
  a.feed_forward.activation = f.activation("hidden_act", "silu");
  a.head.activation.reset();
  a.biases = kNoBiases;
}

}  // namespace gnomon
