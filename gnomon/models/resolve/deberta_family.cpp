#include <algorithm>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"

namespace gnomon {
namespace {

// The members of "c2p|p2c", or of a list.
std::vector<std::string> position_terms(FileReading& file) {
  if (file.kind("pos_att_type") == Config::Kind::list) return *file.texts("pos_att_type");
  std::vector<std::string> terms;
  const std::string written = file.text("pos_att_type").value_or("");
  for (const std::string_view term : split(written, '|'))
    if (!trim(term).empty()) terms.emplace_back(trim(term));
  for (std::string& term : terms)
    for (char& c : term)
      if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return terms;
}

class Deberta {
 public:
  Deberta(const Resolving& task, bool second) : task_(task), file_(task.file), second_(second) {}

  void resolve() {
    beside_the_words();
    std::vector<SpecPart> parts;
    if (file_.flag("relative_attention").value_or(false)) {
      if (auto part = relative()) parts.push_back(std::move(*part));
    } else if (!file_.has("relative_attention")) {
      task_.answer.remarks.push_back({file_.at("relative_attention"),
                                      "absent: no relative position, whatever the other keys say",
                                      "relative-attention-unsaid"});
    }
    if (!second_ && file_.flag("talking_head").value_or(false))
      task_.answer.remarks.push_back(
          {file_.at("talking_head"), "mixes the heads before and after the softmax; no spec can express that",
           "talking-heads-untold"});
    for (std::int64_t l = 0; l < task_.sizes.layers; ++l) {
      LayerPosition layer = make_layer(task_, {}, parts);
      layer.scale = attention_scale(task_, l, layer);
      if (parts.empty()) layer.scale = alone(layer);
      layer.number = l;
      task_.answer.layers.push_back(std::move(layer));
    }
  }

 private:
  void beside_the_words() {
    const bool biased = file_.flag("position_biased_input").value_or(true);
    task_.answer.because.push_back({"input", biased ? "learned" : "none", file_.at("position_biased_input"),
                                    biased
                                        ? "a learned vector for each position is added to the word embedding"
                                        : "word embeddings only"});
    if (biased) task_.answer.input = learned_table(task_.sizes.longest);
  }

  // Without a relative part the terms still count in what q·k is divided by.
  double alone(LayerPosition& layer) {
    const std::size_t terms = position_terms(file_).size();
    if (terms == 0) return layer.scale;
    const double scale = 1 / std::sqrt(double(layer.head_dim) * double(1 + terms));
    layer.because.back() = {
        "scale", shortest(scale), file_.at("pos_att_type"),
        "1/sqrt(head_dim · (1 + terms)): it counts the terms that the key names, although none is added"};
    return scale;
  }

  std::optional<SpecPart> relative() {
    const auto terms = position_terms(file_);
    const auto has = [&](std::string_view term) {
      return std::find(terms.begin(), terms.end(), term) != terms.end();
    };
    const bool c2p = has("c2p"), p2c = has("p2c");
    if (std::size_t(c2p) + std::size_t(p2c) != terms.size())
      file_.wrong("pos_att_type", "c2p, p2c or both, with | between them");
    if (terms.empty()) {
      task_.answer.because.push_back(
          {"relative", "none", file_.at("pos_att_type"),
           "it names no term: the model has a distance table and adds nothing from it"});
      return std::nullopt;
    }
    const std::string both = c2p && p2c ? "c2p_p2c" : c2p ? "c2p" : "p2c";
    say("terms", both, "pos_att_type", "the terms that are added; their number + 1 enters the scale");
    const std::int64_t span = this->span(),
                       buckets = file_.whole("position_buckets", -1, 1 << 20).value_or(-1);
    Named spec;
    if (second_ && buckets > 0) {
      if (buckets % 2 || span - 1 <= buckets / 2)
        file_.wrong("position_buckets",
                    text("an even number below 2 · (largest distance - 1); the largest distance is ", span));
      say("buckets", text(buckets), "position_buckets", "on each side, logarithmic");
      spec = {"deberta_v2", {{"buckets", buckets}, {"distance", span}}};
    } else {
      spec = {"deberta", {{"span", span}}};
    }
    const bool shared = second_ && file_.flag("share_att_key").value_or(false);
    const bool norm =
        second_ && file_.text("norm_rel_ebd").value_or("none").find("layer_norm") != std::string::npos;
    say("projections", shared ? "shared" : "own", second_ ? "share_att_key" : "",
        "projections of the distance table");
    if (second_) say("norm", norm ? "on" : "off", "norm_rel_ebd", "LayerNorm of the distance table");
    spec.options.emplace_back("terms", both);
    spec.options.emplace_back("projections", shared ? "shared" : "own");
    if (!shared) spec.options.emplace_back("layers", "own");
    spec.options.emplace_back("norm", norm ? "on" : "off");
    if (const auto epsilon = file_.number("layer_norm_eps"); norm && epsilon)
      spec.options.emplace_back("epsilon", *epsilon);
    return SpecPart{std::move(spec), std::move(because_), {}};
  }
  std::int64_t span() {
    const auto own = file_.whole("max_relative_positions");
    if (own && *own >= 1) {
      say(second_ ? "distance" : "span", text(*own), "max_relative_positions", "from the file");
      return *own;
    }
    say(second_ ? "distance" : "span", text(task_.sizes.longest), "max_position_embeddings",
        "max_relative_positions is below 1");
    return task_.sizes.longest;
  }
  void say(std::string_view what, std::string value, std::string_view key, std::string rule) {
    because_.push_back(
        {std::string(what), std::move(value), key.empty() ? "" : file_.at(key), std::move(rule)});
  }

  const Resolving& task_;
  FileReading& file_;
  const bool second_;
  std::vector<Because> because_;
};

}  // namespace

void resolve_deberta(const Resolving& task) {
  Deberta(task, task.family.method == Method::deberta2).resolve();
}

}  // namespace gnomon
