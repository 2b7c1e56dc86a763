// What each family has beside positions, by the keys of its file: models/NAME/configuration_NAME.py and modeling_NAME.py of
// transformers 5.23.0; of GGUF files what llama.cpp's converter leaves of it (conversion/NAME.py).
#include <cmath>

#include "gnomon/models/resolve/facts.h"

namespace gnomon {
namespace {

// Llama and its kin: RMS norms, a gate, few biases or none.
void rms_block(Facts& f, Architecture& a) {
  a.norm = {.form = NormForm::rms,
            .epsilon = f.epsilon("rms_norm_eps", f.resolved.family == "phi3" ? 1e-5 : 1e-6)};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "silu"), true};
  const bool attention = f.flag("attention_bias", false), mlp = f.flag("mlp_bias", false);
  a.biases = {attention, attention, attention, attention, mlp, mlp};
}

void gemma(Facts& f, Architecture& a) {
  rms_block(f, a);
  // The converter adds the 1 to the gains.
  a.norm.form = f.gguf ? NormForm::rms : NormForm::rms_one_plus, a.norm.place = NormPlace::before_and_after;
  a.feed_forward.activation = f.activation("hidden_activation", "gelu_pytorch_tanh");
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
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu"), false};
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
  if (f.flag("relative_attention", false) && !f.flag("share_att_key", false))
    f.refuse("share_att_key",
             "true: gnomon cannot run projections of the distance table that differ by layer");
  if (f.flag("relative_attention", false) && f.resolved.layers.front().spec.attention.empty())
    f.refuse("pos_att_type", "c2p, p2c or both: gnomon cannot run a distance table that no term uses");
  a.norm = {.epsilon = f.epsilon("layer_norm_eps", 1e-7),
            .place = NormPlace::after_sum,
            .embedding = true,
            .last = false};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu"), false};
  a.token_types = f.whole("type_vocab_size", 0);
  a.head = {.form = HeadForm::none};
}

void block_modernbert(Facts& f, Architecture& a) {
  a.norm = {.form = f.flag("norm_bias", false) ? NormForm::layer : NormForm::layer_no_bias,
            .epsilon = f.epsilon("norm_eps", 1e-5),
            .embedding = true,
            .first = false};
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_activation", "gelu"), true};
  const bool attention = f.flag("attention_bias", false), mlp = f.flag("mlp_bias", false);
  a.biases = {attention, attention, attention, attention, mlp, mlp};
  a.head = {.form = HeadForm::transform,
            .tied = f.flag("tie_word_embeddings", true),
            .bias = f.flag("decoder_bias", true),
            .transform_bias = f.flag("classifier_bias", false)};
  head_activation(a, f.activation("classifier_activation", "gelu"));
}

// The encoder.
void block_t5(Facts& f, Architecture& a) {
  a.norm = {.form = NormForm::rms, .epsilon = f.epsilon("layer_norm_epsilon", 1e-6)};
  const std::string kind = f.file.text("feed_forward_proj").value_or("relu");
  const bool gated = kind.rfind("gated-", 0) == 0;
  const std::string name = gated ? kind.substr(6) : kind;
  // configuration_t5.py: "gated-gelu" means gelu_new.
  const auto activation = activation_named(gated && name == "gelu" ? "gelu_new" : name);
  if (!activation) f.refuse("feed_forward_proj", "relu, gelu, silu, gated-gelu, gated-relu and gated-silu");
  a.feed_forward = {f.hidden("d_ff"), *activation, gated};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::none};
}

void block_gpt2(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_epsilon", 1e-5);
  a.feed_forward = {f.hidden("n_inner", 4 * a.width), f.activation("activation_function", "gelu_new"), false};
  a.head = f.head(true);
}

void block_gpt_neox(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_eps", 1e-5);
  a.feed_forward = {f.hidden("intermediate_size"), f.activation("hidden_act", "gelu"), false};
  const bool attention = f.flag("attention_bias", true);
  a.biases.q = a.biases.k = a.biases.v = a.biases.out = attention;
  a.residual = f.flag("use_parallel_residual", true) ? Residual::parallel : Residual::in_turn;
  a.head = f.head(false);
}

void block_gptj(Facts& f, Architecture& a) {
  a.norm.epsilon = f.epsilon("layer_norm_epsilon", 1e-5);
  a.feed_forward = {f.hidden("n_inner", 4 * a.width), f.activation("activation_function", "gelu_new"), false};
  a.biases.q = a.biases.k = a.biases.v = a.biases.out = false;
  a.residual = Residual::parallel_one_norm;
  a.head = f.head(false);
  a.head.bias = true;
}

// Llama, Mistral, Phi-3 and SmolLM3.
void block_llama(Facts& f, Architecture& a) {
  rms_block(f, a);
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
  a.norm.heads = true;
  a.head = f.head(false);
}

void block_gemma2(Facts& f, Architecture& a) {
  gemma(f, a);
  a.attention.soft_cap = f.number_or_none("attn_logit_softcapping", 50);
  a.head.soft_cap = f.number_or_none("final_logit_softcapping", 30);
}
void block_gemma3(Facts& f, Architecture& a) {
  gemma(f, a);
  a.norm.heads = true;
  a.attention.soft_cap = f.number_or_none("attn_logit_softcapping", 0);
  a.head.soft_cap = f.number_or_none("final_logit_softcapping", 0);
}

}  // namespace gnomon
