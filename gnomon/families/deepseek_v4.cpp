#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/families/methods.h"
#include "gnomon/families/rope_readers.h"

// DeepSeek-V4, transformers 5.23, configuration_deepseek_v4.py and modeling_deepseek_v4.py: layers with a window turn plainly by one
// base; layers that also see compressed blocks turn by another, which may be scaled. Keys are values, so values turn and
// what attention returns turns back.
namespace gnomon {
namespace {

constexpr std::string_view kSliding = "sliding_attention";

class DeepseekV4 {
 public:
  explicit DeepseekV4(const Resolving& task) : task_(task), file_(task.file) {}

  void resolve() {
    const RopeHead head{task_.sizes.head_dim, task_.sizes.head_dim, true, task_.sizes.longest};
    RopeRules rules;
    rules.plain_forgets_part = false;
    rules.source = "transformers 5.23";
    rules.truncate = true;
    SpecPart plain = rope_part(main(), head, task_.family.rope, rules);
    if (plain.text.starts_with("rope(")) plain.text = "rope_value" + plain.text.substr(4);
    const SpecPart compressed = rope_part(compress(), head, task_.family.rope, rules);
    const auto kinds = types();
    for (std::size_t l = 0; l < kinds.size(); ++l) {
      LayerKind kind;
      kind.type = kinds[l];
      const bool slides = kinds[l] == kSliding;
      if (slides) kind.window = file_.whole("sliding_window", 1, 1'000'000'000).value_or(128);
      LayerPosition layer = make_layer(task_, kind, {slides ? plain : compressed});
      layer.scale = attention_scale(task_, std::int64_t(l), layer);
      layer.number = std::int64_t(l);
      task_.answer.layers.push_back(std::move(layer));
    }
    if (std::all_of(kinds.begin(), kinds.end(), [](const std::string& k) { return k == kSliding; })) return;
    task_.answer.remarks.push_back(
        {file_.at(file_.has("compress_ratios") ? "compress_ratios" : "layer_types"),
         "layers without a window see the tokens within it and compressed blocks beyond, "
         "at the positions of blocks, and turn values too: no spec says so",
         "positions-of-blocks-untold"});
  }

 private:
  std::vector<std::string> types() {
    const std::size_t n = std::size_t(task_.sizes.layers);
    std::vector<std::string> types;
    if (file_.has("layer_types")) {
      types = *file_.texts("layer_types");
    } else if (const auto ratios = file_.wholes("compress_ratios")) {
      for (const std::int64_t r : *ratios)
        types.emplace_back(r == 0   ? kSliding
                           : r == 4 ? "compressed_sparse_attention"
                                    : "heavily_compressed_attention");
    } else {
      for (std::size_t l = 0; l < n; ++l)
        types.emplace_back(l < 2 || (l - 2) % 2 == 0 ? "heavily_compressed_attention"
                                                     : "compressed_sparse_attention");
    }
    if (types.size() < n) file_.wrong("layer_types", text("a list of ", n, " kinds, one for each layer"));
    types.resize(n);
    return types;
  }

  RopeValue part() {
    if (const auto x = file_.number("partial_rotary_factor"))
      return rope_number(*x, file_.at("partial_rotary_factor"), "the file's own");
    if (const auto x = file_.whole("qk_rope_head_dim"))
      return rope_number(double(*x) / double(task_.sizes.head_dim), file_.at("qk_rope_head_dim"),
                         "qk_rope_head_dim / head_dim");
    return rope_number(64.0 / 512, "", "no key says it: the class's own");
  }
  RopeValue theta(std::string_view key, double standard) {
    if (const auto x = file_.number(key)) return rope_number(*x, file_.at(key), "the top level's");
    return rope_number(standard, "", "no key says it: the class's own");
  }
  std::string_view object() { return file_.has("rope_scaling") ? "rope_scaling" : "rope_parameters"; }
  bool nested() { return file_.has(text(object(), ".main")) && file_.has(text(object(), ".compress")); }
  void complete(RopeDict& dict) {
    if (!dict.find("rope_type"))
      dict.set("rope_type",
               dict.find("type") ? *dict.find("type") : rope_word("default", "", "no key says it"));
    const bool whole =
        nested() && *dict.word("rope_type") == "default" && !file_.has("partial_rotary_factor");
    if (whole && !dict.find("partial_rotary_factor"))
      task_.answer.remarks.push_back({file_.at(object()),
                                      "transformers 5.23 fills the share of the head that turns into one "
                                      "dictionary for all alone: where "
                                      "one of two leaves it out and is not scaled, the whole head turns",
                                      "part-of-blocks-unsaid"});
    dict.set_default("partial_rotary_factor",
                     whole ? rope_number(1, "", "the dictionary has none: the whole head") : part());
    dict.set_default("original_max_position_embeddings",
                     rope_number(double(task_.sizes.longest), file_.at("max_position_embeddings"),
                                 "the dictionary has none: the longest"));
  }
  RopeDict main() {
    RopeDict dict(file_.config().where());
    if (nested()) dict = RopeDict::read(file_, text(object(), ".main"), "the dictionary's own");
    dict.set_default("rope_theta", theta("rope_theta", 10000));
    complete(dict);
    return dict;
  }
  RopeDict compress() {
    if (nested()) {
      RopeDict dict = RopeDict::read(file_, text(object(), ".compress"), "the dictionary's own");
      dict.set_default("rope_theta", theta("rope_theta", 10000));
      complete(dict);
      if (*dict.word("rope_type") == "yarn" && !dict.find("attention_factor"))
        task_.answer.remarks.push_back({file_.at(text(object(), ".compress")),
                                        "transformers 5.23 puts attention_factor 1 into one dictionary for "
                                        "all alone: here YaRN's factor "
                                        "multiplies cos and sin",
                                        "yarn-temperature-added"});
      return dict;
    }
    RopeDict dict = RopeDict::read(file_, object(), "the dictionary's own");
    dict.set("rope_theta", theta("compress_rope_theta", 160000));
    dict.set("partial_rotary_factor", part());  // whatever the dictionary says
    complete(dict);
    if (*dict.word("rope_type") == "yarn")
      dict.set_default("attention_factor",
                       rope_number(1, "", "no key says it: this family does not multiply cos and sin"));
    return dict;
  }

  const Resolving& task_;
  FileReading& file_;
};

}  // namespace

void resolve_deepseek_v4(const Resolving& task) { DeepseekV4(task).resolve(); }

}  // namespace gnomon
