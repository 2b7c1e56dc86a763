#include "gnomon/models/run/open.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/models/run/architecture.h"
#include "gnomon/models/run/file_tensor.h"
#include "gnomon/models/run/names.h"

namespace gnomon {
namespace {

// A list for a message: the first of them, and how many there are.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::string all;
  for (std::size_t n = 0; n < names.size() && n < kMost; ++n) all += (n ? ", " : "") + excerpt(names[n]);
  if (names.size() > kMost) all += text(" and ", names.size() - kMost, " more");
  return all;
}
std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string all = "(";
  for (std::size_t n = 0; n < shape.size(); ++n) all += text(n ? ", " : "", shape[n]);
  return all + ")";
}

FileTensor find_any(const Weights& weights, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const FileTensor found = find_tensor(weights, name)) return found;
  }
  return {};
}

// --- The head, which a file may lack.

// "BertForMaskedLM", "GPT2LMHeadModel": the class that was saved.
bool says(const Config& config, std::initializer_list<std::string_view> words) {
  const auto classes = config.texts("architectures").value_or(std::vector<std::string>());
  return std::any_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
  });
}
bool says_it_has_a_head(const Config& config) {
  return says(config, {"CausalLM", "MaskedLM", "LMHead", "ConditionalGeneration"});
}
bool holds_head(const Names& names, const Weights& weights) {
  return std::any_of(names.sources.begin(), names.sources.end(), [&](const Source& s) {
    const bool of_head = s.ours.rfind("head.", 0) == 0 && s.ours.rfind("head.norm.", 0) != 0;
    return of_head && weights.find(s.theirs);
  });
}
// The tensor that becomes all of one of our parameters.
FileTensor find_whole(const Names& names, std::string_view ours, const Weights& weights) {
  for (const Source& s : names.sources) {
    const FileTensor found = s.ours == ours ? find_tensor(weights, s.theirs) : FileTensor();
    if (found) return found;
  }
  return {};
}
bool equal(const FileTensor& a, const FileTensor& b, const Weights& weights) {
  const auto shape = a.shape();
  if (shape != b.shape() || a.size() == 0) return false;
  const std::int64_t at_once = a.rows_at_once();
  for (std::int64_t row = 0; row < shape[0]; row += at_once) {
    const std::int64_t count = std::min(at_once, shape[0] - row);
    if (a.read_rows(weights, row, count) != b.read_rows(weights, row, count)) return false;
  }
  return true;
}
// modeling_utils.py, tie_weights: a head that should be the word table is its own where the file holds both and they differ.
bool holds_another_head(const Names& names, const Weights& weights) {
  const FileTensor head = find_whole(names, "head.weight", weights),
                   words = find_whole(names, "embed.word", weights);
  return head && words && !equal(head, words, weights);
}
OutputHead head_in(const Architecture& a, const Config& config, const std::string& family,
                   const Weights& weights) {
  OutputHead head = a.head;
  if (head.form == HeadForm::none) return head;
  const Names names = names_of(family, a, config.gguf());
  const bool held = holds_head(names, weights);
  if (config.gguf()) {
    head.tied = !held;
    return head;
  }
  if (head.form == HeadForm::matrix && head.tied) {
    head.tied = !holds_another_head(names, weights);
    return head;
  }
  // Encoders are often saved without the head that their class names: sentence-transformers/all-mpnet-base-v2.
  const bool named = head.form != HeadForm::transform && says_it_has_a_head(config);
  return held || named ? head : OutputHead{.form = HeadForm::none};
}

void set_option(Named& named, std::string_view name, const OptionValue& value) {
  std::erase_if(named.options, [&](const auto& option) { return option.first == name; });
  named.options.emplace_back(name, value);
}

// What no key of a GGUF file says, and llama.cpp too takes from the tensors: how many tokens and token types there are, which
// matrices of attention have biases, which norms StableLM and Falcon have.
void fit_to_tensors(Architecture& a, const std::string& family, const Weights& weights) {
  const std::string_view stack = family != "t5" ? "" : a.cross ? "dec." : "enc.";
  const auto has_in = [&](int layer, std::string_view name) {
    return weights.find(text(stack, "blk.", layer, ".", name)) != nullptr;
  };
  const auto has = [&](std::string_view name) { return has_in(0, name); };
  const auto biased = [&](bool& bias, std::string_view name) { bias = bias || has(name); };
  biased(a.biases.q, "attn_q.bias"), biased(a.biases.k, "attn_k.bias"), biased(a.biases.v, "attn_v.bias");
  biased(a.biases.out, "attn_output.bias");
  if (family == "stablelm") {
    a.residual = has("ffn_norm.weight") ? Residual::in_turn : Residual::parallel_one_norm;
    if (has("attn_q_norm.weight")) a.norm.qk = QkNorm::own, a.norm.qk_form = NormForm::layer_no_bias;
  }
  if (family == "t5") {  // the buckets of umT5's layers are their own; a gate is that of T5 1.1
    if (has_in(1, "attn_rel_b.weight")) set_option(a.position.attention.front(), "layers", "own");
    if (has("ffn_gate.weight"))
      a.feed_forward.gating = Gating::on, a.feed_forward.activation = Activation::gelu_tanh;
  }
  if (family == "falcon")
    a.residual = has("attn_norm_2.weight") ? Residual::parallel : Residual::parallel_one_norm;
  for (const Source& s : names_of(family, a, true).sources) {
    std::int64_t* rows = s.ours == "embed.word"   ? &a.vocabulary
                         : s.ours == "embed.type" ? &a.token_types
                                                  : nullptr;
    const StoredTensor* table = rows ? weights.find(s.theirs) : nullptr;
    if (table && !table->shape.empty()) *rows = table->shape[0];
  }
}

// --- Tensors

struct Found {
  Piece piece;
  FileTensor tensor;
  const std::string& name() const { return tensor.numbers->name; }
};

std::vector<Found> find_all(const Config& config, const std::vector<Piece>& pieces, const Weights& weights) {
  std::vector<Found> all;
  std::vector<std::string> missing, wrong;
  for (const Piece& named : pieces) {
    const FileTensor tensor = find_any(weights, named.theirs);
    const Piece piece = tensor.packed() ? named.as_rows() : named;
    if (!tensor) {
      missing.push_back(piece.theirs.front());
    } else if (tensor.shape() != piece.shape()) {
      wrong.push_back(text(tensor.numbers->name, " has ", shape_text(tensor.shape()), " instead of ",
                           shape_text(piece.shape())));
    } else {
      all.push_back({piece, tensor});
    }
  }
  const auto refuse = [&](const std::vector<std::string>& names, std::string_view what) {
    if (names.empty()) return;
    throw Error(Fault::input,
                text(config.where(), ": ", counted(names.size(), "tensor"), what, ": ", listed(names)));
  };
  refuse(missing, " missing in the file");
  refuse(wrong, " with another shape than in the model");
  return all;
}

// Those that no parameter is made of.
std::vector<std::string> find_beside(const Config& config, const std::vector<Found>& found,
                                     const Names& names, const Weights& weights) {
  std::set<std::string_view> used;
  for (const Found& f : found) {
    used.insert(f.name());
    if (f.tensor.packed()) used.insert(f.tensor.scales->name);
  }
  std::vector<std::string> beside, left_over;
  for (const StoredTensor& t : weights.tensors()) {
    if (!used.count(t.name)) (names.is_beside(t.name) ? beside : left_over).push_back(t.name);
  }
  if (!left_over.empty()) {
    throw Error(Fault::input, text(config.where(), ": ", counted(left_over.size(), "tensor"),
                                   " in the file that gnomon's model does not have: ", listed(left_over)));
  }
  return beside;
}

// How many numbers of a tensor are not finite, and which is the first.
struct NotFinite {
  std::int64_t count = 0, first = 0;
  double value = 0;
  void look_at(const Floats& numbers, std::int64_t from) {
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      if (std::isfinite(numbers[n])) continue;
      if (count++ == 0) first = from + std::int64_t(n), value = double(numbers[n]);
    }
  }
};

NotFinite fill(const Found& f, const Weights& weights, const AttentionRule& attention, Floats& w) {
  NotFinite wrong;
  const auto shape = f.tensor.shape();
  const std::int64_t columns = shape.size() > 1 ? f.tensor.size() / shape[0] : 1,
                     at_once = f.tensor.rows_at_once();
  for (std::int64_t row = f.piece.skipped; row < shape[0]; row += at_once) {
    const Floats numbers = f.tensor.read_rows(weights, row, std::min(at_once, shape[0] - row));
    const std::int64_t first = (row - f.piece.skipped) * columns;
    for (std::int64_t n = 0; n < std::int64_t(numbers.size()); ++n)
      w[f.piece.place(first + n, attention)] = numbers[n];
    wrong.look_at(numbers, row * columns);
  }
  return wrong;
}
void must_be_finite(const Config& config, const Found& f, const NotFinite& wrong) {
  if (wrong.count == 0) return;
  throw Error(Fault::input, text(config.where(), ": tensor ", excerpt(f.name()), " holds ",
                                 counted(std::size_t(wrong.count), "number"),
                                 wrong.count == 1 ? " that is" : " that are", " not finite: number ",
                                 wrong.first, " of ", f.tensor.size(), " is ", shortest(wrong.value)));
}

// --- Parts: the model, or its encoder and its decoder.

// Whether the file has the decoder that its config describes.
bool has_decoder(const Config& config, const Resolved& resolved, const Weights& weights) {
  const bool described = std::any_of(resolved.layers.begin(), resolved.layers.end(),
                                     [](const LayerPosition& layer) { return layer.component == "decoder"; });
  const auto& all = weights.tensors();
  const bool held = std::any_of(all.begin(), all.end(), [&](const StoredTensor& t) {
    return t.name.starts_with(config.gguf() ? "dec.blk." : "decoder.");
  });
  return described && (held || says(config, {"ConditionalGeneration"}));
}

struct Planned {
  Model model;
  std::vector<Found> found;
  std::vector<std::string> beside;
  std::int64_t bytes() const { return model.param_count() * std::int64_t(sizeof(float)); }
};
Planned planned(const Config& config, const Resolved& resolved, const Weights& weights, Component part) {
  Architecture a = architecture_of(config, resolved, part);
  if (config.gguf()) fit_to_tensors(a, resolved.family, weights);
  a.head = head_in(a, config, resolved.family, weights);
  const Model model(a);
  const Names names = names_of(resolved.family, a, config.gguf());
  std::vector<Found> found = find_all(config, pieces_of(names, model, resolved.table_first), weights);
  std::vector<std::string> beside = find_beside(config, found, names, weights);
  return {model, std::move(found), std::move(beside)};
}

class Loading {
 public:
  Loading(const Config& config, const Weights& weights, const LoadProgress& progress, std::int64_t bytes)
      : config_(config), weights_(weights), progress_(progress), bytes_(bytes) {
    check_memory(text("the parameters of ", config.where(), " take"), std::uint64_t(bytes));
  }
  Floats load(const Planned& part) {
    Floats w(std::size_t(part.model.param_count()));
    for (const Found& f : part.found) {
      must_be_finite(config_, f, fill(f, weights_, part.model.architecture().attention, w));
      done_ += f.piece.size() * std::int64_t(sizeof(float));
      if (progress_) progress_(done_, bytes_);
    }
    return w;
  }

 private:
  const Config& config_;
  const Weights& weights_;
  const LoadProgress& progress_;
  const std::int64_t bytes_;
  std::int64_t done_ = 0;
};

// T5's class names none; its files do, or mean the token that pads.
std::int32_t start_of(const Config& config) {
  const std::string key = config.gguf()
                              ? config.text("general.architecture").value_or("") + ".decoder_start_token_id"
                              : "decoder_start_token_id";
  const std::int64_t start = config.whole(key).value_or(config.whole("pad_token_id").value_or(0));
  if (start < 0 || start > INT32_MAX)
    throw Error(Fault::input, text(config.where(), ": ", key, " is ", start, "; allowed is a token"));
  return std::int32_t(start);
}
// What no part of the model is made of.
std::vector<std::string> beside_both(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> both;
  for (const std::string& name : a) {
    if (std::find(b.begin(), b.end(), name) != b.end()) both.push_back(name);
  }
  return both;
}

}  // namespace

OpenedModel open_model(const Path& path, const LoadProgress& progress, Component part) {
  const Config config = Config::open(path);
  Resolved resolved = resolve(config, config.gguf() ? Reader::llama_cpp : Reader::v5);
  const bool one = resolved.layers.empty() || resolved.layers.front().component.empty();
  if (one && part == Component::encoder)
    throw Error(Fault::usage, text(config.where(), ": the family ", resolved.family,
                                   " has no encoder beside a decoder; allowed is the whole model"));
  const Weights weights = Weights::open(path);
  if (part == Component::decoder && !has_decoder(config, resolved, weights)) part = Component::encoder;
  const Planned main = planned(config, resolved, weights, part);
  const bool two = main.model.architecture().cross.has_value();
  std::optional<Planned> encoder;
  if (two) encoder.emplace(planned(config, resolved, weights, Component::encoder));
  Loading loading(config, weights, progress, main.bytes() + (two ? encoder->bytes() : 0));
  OpenedModel opened{config, std::move(resolved), main.model, loading.load(main), main.beside, {}};
  if (!two) return opened;
  opened.beside = beside_both(main.beside, encoder->beside);
  opened.encoder.emplace(OpenedEncoder{encoder->model, loading.load(*encoder), start_of(config)});
  return opened;
}

}  // namespace gnomon
