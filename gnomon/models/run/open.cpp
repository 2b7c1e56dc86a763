#include "gnomon/models/run/open.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/files/weights.h"
#include "gnomon/models/run/architecture.h"
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

const StoredTensor* find_any(const Weights& weights, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const StoredTensor* found = weights.find(name)) return found;
  }
  return nullptr;
}

// --- The head, which a file may lack.

// "BertForMaskedLM", "GPT2LMHeadModel": the class that was saved.
bool says_it_has_a_head(const Config& config) {
  const auto classes = config.texts("architectures").value_or(std::vector<std::string>());
  return std::any_of(classes.begin(), classes.end(), [](const std::string& name) {
    return name.find("CausalLM") != std::string::npos || name.find("MaskedLM") != std::string::npos ||
           name.find("LMHead") != std::string::npos;
  });
}
bool holds_head(const Names& names, const Weights& weights) {
  return std::any_of(names.sources.begin(), names.sources.end(), [&](const Source& s) {
    const bool of_head = s.ours.rfind("head.", 0) == 0 && s.ours.rfind("head.norm.", 0) != 0;
    return of_head && weights.find(s.theirs);
  });
}
OutputHead head_in(const Architecture& a, const Config& config, const std::string& family,
                   const Weights& weights) {
  OutputHead head = a.head;
  if (head.form == HeadForm::none) return head;
  const bool held = holds_head(names_of(family, a, config.gguf()), weights);
  if (config.gguf()) {
    head.tied = !held;
    return head;
  }
  if (head.form == HeadForm::matrix && head.tied) return head;
  return held || says_it_has_a_head(config) ? head : OutputHead{.form = HeadForm::none};
}

// What no key of a GGUF file says, and llama.cpp too takes from the tensors: how many tokens and token types there are, which
// matrices of attention have biases, which norms StableLM and Falcon have.
void fit_to_tensors(Architecture& a, const std::string& family, const Weights& weights) {
  const auto has = [&](std::string_view name) { return weights.find(text("blk.0.", name)) != nullptr; };
  const auto biased = [&](bool& bias, std::string_view name) { bias = bias || has(name); };
  biased(a.biases.q, "attn_q.bias"), biased(a.biases.k, "attn_k.bias"), biased(a.biases.v, "attn_v.bias");
  biased(a.biases.out, "attn_output.bias");
  if (family == "stablelm") {
    a.residual = has("ffn_norm.weight") ? Residual::in_turn : Residual::parallel_one_norm;
    if (has("attn_q_norm.weight")) a.norm.qk = QkNorm::own, a.norm.qk_form = NormForm::layer_no_bias;
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
  const StoredTensor* tensor;
};

std::vector<Found> find_all(const Config& config, const std::vector<Piece>& pieces, const Weights& weights) {
  std::vector<Found> all;
  std::vector<std::string> missing, wrong;
  for (const Piece& piece : pieces) {
    const StoredTensor* tensor = find_any(weights, piece.theirs);
    if (!tensor) {
      missing.push_back(piece.theirs.front());
    } else if (tensor->shape != piece.shape()) {
      wrong.push_back(
          text(tensor->name, " has ", shape_text(tensor->shape), " instead of ", shape_text(piece.shape())));
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
  for (const Found& f : found) used.insert(f.tensor->name);
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

// Rows at a time, so that a large table is not in memory twice.
constexpr std::int64_t kNumbersAtOnce = 1 << 22;

NotFinite fill(const Found& f, const Weights& weights, const AttentionRule& attention, Floats& w) {
  NotFinite wrong;
  const auto& shape = f.tensor->shape;
  const std::int64_t columns = shape.size() > 1 ? f.tensor->size() / shape[0] : 1,
                     at_once =
                         shape.size() > 1 ? std::max<std::int64_t>(1, kNumbersAtOnce / columns) : shape[0];
  for (std::int64_t row = f.piece.skipped; row < shape[0]; row += at_once) {
    const Floats numbers = weights.read_rows(*f.tensor, row, std::min(at_once, shape[0] - row));
    const std::int64_t first = (row - f.piece.skipped) * columns;
    for (std::int64_t n = 0; n < std::int64_t(numbers.size()); ++n)
      w[f.piece.place(first + n, attention)] = numbers[n];
    wrong.look_at(numbers, row * columns);
  }
  return wrong;
}
void must_be_finite(const Config& config, const StoredTensor& tensor, const NotFinite& wrong) {
  if (wrong.count == 0) return;
  throw Error(Fault::input, text(config.where(), ": tensor ", excerpt(tensor.name), " holds ",
                                 counted(std::size_t(wrong.count), "number"),
                                 wrong.count == 1 ? " that is" : " that are", " not finite: number ",
                                 wrong.first, " of ", tensor.size(), " is ", shortest(wrong.value)));
}

}  // namespace

OpenedModel open_model(const Path& path, const LoadProgress& progress) {
  const Config config = Config::open(path);
  Resolved resolved = resolve(config, config.gguf() ? Reader::llama_cpp : Reader::v5);
  Architecture a = architecture_of(config, resolved);
  const Weights weights = Weights::open(path);
  if (config.gguf()) fit_to_tensors(a, resolved.family, weights);
  a.head = head_in(a, config, resolved.family, weights);
  const Model model(a);
  const Names names = names_of(resolved.family, a, config.gguf());
  const std::vector<Found> found = find_all(config, pieces_of(names, model, resolved.table_first), weights);
  std::vector<std::string> beside = find_beside(config, found, names, weights);

  const std::int64_t bytes = model.param_count() * std::int64_t(sizeof(float));
  check_memory(text("the parameters of ", config.where(), " take"), std::uint64_t(bytes));
  Floats w(std::size_t(model.param_count()));
  std::int64_t done = 0;
  for (const Found& f : found) {
    must_be_finite(config, *f.tensor, fill(f, weights, a.attention, w));
    done += f.piece.size() * std::int64_t(sizeof(float));
    if (progress) progress(done, bytes);
  }
  return {config, std::move(resolved), model, std::move(w), std::move(beside)};
}

}  // namespace gnomon
