#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/rope_readers.h"

// DeepSeek-V4, transformers 5.23, configuration_deepseek_v4.py and modeling_deepseek_v4.py: layers with a window turn plainly by one
// base; layers that also see compressed blocks turn by another, which may be scaled. Keys are values, so values turn and
// what attention returns turns back.
namespace gnomon {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr std::string_view kSliding = "sliding_attention", kSparse = "compressed_sparse_attention",
                           kHeavy = "heavily_compressed_attention";

class DeepseekV4 {
 public:
  explicit DeepseekV4(const Resolving& task) : task_(task), file_(task.file) {}

  void resolve() {
    for (const char* read : {"rope_parameters", "qk_rope_head_dim"}) file_.has(read);  // if only in part
    const RopeHead head{task_.sizes.head_dim, task_.sizes.head_dim, true, task_.sizes.longest};
    RopeRules rules;
    rules.plain_forgets_part = false;
    rules.source = "transformers 5.23";
    rules.truncate = true;
    SpecPart plain = rope_part(main(), head, task_.family.rope, rules);
    if (plain.encoding.name == "rope") plain.encoding.name = "rope_value";
    const SpecPart compressed = rope_part(compress(), head, task_.family.rope, rules);
    const auto kinds = types();
    for (std::size_t l = 0; l < kinds.size(); ++l) {
      LayerKind kind;
      kind.type = kinds[l];
      const bool slides = kinds[l] == kSliding;
      const std::int64_t window = file_.whole("sliding_window", 1, kMostTokens).value_or(128);
      if (slides) kind.window = window;
      kind.kv_heads = 1;
      LayerPosition layer = make_layer(task_, kind, {slides ? plain : compressed});
      layer.because.push_back(
          {"kv_heads", "1", "", "keys and values are the same, one vector for all heads"});
      layer.kept = slides ? KeptKeys{.shared = true} : blocks(kinds[l], window, layer);
      layer.scale = attention_scale(task_, std::int64_t(l), layer);
      layer.number = std::int64_t(l);
      task_.answer.layers.push_back(std::move(layer));
    }
    if (std::all_of(kinds.begin(), kinds.end(), [](const std::string& k) { return k == kSliding; })) return;
    task_.answer.remarks.push_back(
        {file_.at(file_.has("compress_ratios") ? "compress_ratios" : "layer_types"),
         "layers without a window see the tokens within sliding_window, and compressed blocks beyond it at "
         "the positions of the blocks. They rotate values too. No spec can express this",
         "positions-of-blocks-untold"});
  }

 private:
  std::vector<std::string> types() {
    const std::size_t n = std::size_t(task_.sizes.layers);
    std::vector<std::string> types;
    if (file_.has("layer_types")) {
      types = *file_.texts("layer_types");
    } else if (const auto ratios = file_.wholes("compress_ratios")) {
      for (const std::int64_t r : *ratios) types.emplace_back(of_ratio(r));
    } else {
      for (std::size_t l = 0; l < n; ++l) types.emplace_back(l < 2 || (l - 2) % 2 == 0 ? kHeavy : kSparse);
    }
    if (types.size() < n)
      file_.wrong("layer_types", text("a list of ", n, " layer types, one for each layer"));
    types.resize(n);
    for (const std::string& type : types)
      if (type != kSliding && type != kSparse && type != kHeavy)
        file_.wrong("layer_types", text(kSliding, ", ", kSparse, " or ", kHeavy, ", not ", type));
    return types;
  }
  std::string_view of_ratio(std::int64_t ratio) {
    if (ratio != 0 && ratio != 4 && ratio != 128) file_.wrong("compress_ratios", "a list of 0, 4 and 128");
    return ratio == 0 ? kSliding : ratio == 4 ? kSparse : kHeavy;
  }

  // The classes' own caches: the window's keys, and one key for each block of tokens; where attention chooses blocks, the
  // indexer's key of each block, too. The tokens of a block that is not full are left out.
  KeptKeys blocks(const std::string& type, std::int64_t window, LayerPosition& layer) {
    const bool sparse = type == kSparse;
    const std::string_view older = sparse ? "compress_rate_csa" : "compress_rate_hca";
    const std::string named = text("compress_rates.", type);
    const auto old = file_.whole(older, 1, kMostTokens);
    const auto rate = old ? old : file_.whole(named, 1, kMostTokens);
    if (!rate && file_.has("compress_rates")) file_.wrong(named, "a number of tokens");
    KeptKeys kept{true, window, rate.value_or(sparse ? 4 : 128), task_.sizes.head_dim};
    layer.because.push_back({"block", text(kept.block),
                             rate ? file_.at(old ? std::string(older) : named) : "",
                             rate ? "tokens per compressed key" : "no key sets it: default of the class"});
    if (!sparse) return kept;
    const auto indexer = file_.whole("index_head_dim", 1, 65536);
    kept.channels += indexer.value_or(128);
    layer.because.push_back({"indexer", text(indexer.value_or(128)),
                             indexer ? file_.at("index_head_dim") : "",
                             "channels of the indexer key that selects a block"});
    return kept;
  }

  RopeValue part() {
    file_.has("qk_rope_head_dim");  // read, if only to be outweighed
    if (const auto x = file_.number("partial_rotary_factor"))
      return rope_number(*x, file_.at("partial_rotary_factor"), "from the file");
    if (const auto x = file_.whole("qk_rope_head_dim"))
      return rope_number(double(*x) / double(task_.sizes.head_dim), file_.at("qk_rope_head_dim"),
                         "qk_rope_head_dim / head_dim");
    return rope_number(64.0 / 512, "", "no key sets it: default of the class");
  }
  RopeValue theta(std::string_view key, double standard) {
    if (const auto x = file_.number(key)) return rope_number(*x, file_.at(key), "from the top level");
    return rope_number(standard, "", "no key sets it: default of the class");
  }
  std::string_view object() { return file_.has("rope_scaling") ? "rope_scaling" : "rope_parameters"; }
  bool nested() { return file_.has(text(object(), ".main")) && file_.has(text(object(), ".compress")); }
  void complete(RopeDict& dict) {
    if (!dict.find("rope_type"))
      dict.set("rope_type",
               dict.find("type") ? *dict.find("type") : rope_word("default", "", "no key sets it"));
    const bool whole =
        nested() && *dict.word("rope_type") == "default" && !file_.has("partial_rotary_factor");
    if (whole && !dict.find("partial_rotary_factor"))
      task_.answer.remarks.push_back(
          {file_.at(object()),
           "with two dictionaries transformers 5.23 adds no default partial_rotary_factor: a dictionary of "
           "type default without it rotates the whole head",
           "part-of-blocks-unsaid"});
    dict.set_default("partial_rotary_factor",
                     whole ? rope_number(1, "", "the dictionary has none: the whole head") : part());
    dict.set_default("original_max_position_embeddings",
                     rope_number(double(task_.sizes.longest), file_.at("max_position_embeddings"),
                                 "the dictionary has none: the longest context"));
  }
  RopeDict main() {
    RopeDict dict(file_.config().where());
    if (nested()) dict = RopeDict::read(file_, text(object(), ".main"), "from the dictionary");
    dict.set_default("rope_theta", theta("rope_theta", 10000));
    complete(dict);
    return dict;
  }
  RopeDict compress() {
    if (nested()) {
      RopeDict dict = RopeDict::read(file_, text(object(), ".compress"), "from the dictionary");
      dict.set_default("rope_theta", theta("rope_theta", 10000));
      complete(dict);
      if (*dict.word("rope_type") == "yarn" && !dict.find("attention_factor"))
        task_.answer.remarks.push_back(
            {file_.at(text(object(), ".compress")),
             "transformers 5.23 sets attention_factor to 1 only in a single dictionary for all layers; here "
             "YaRN's factor multiplies cos and sin",
             "yarn-temperature-added"});
      return dict;
    }
    RopeDict dict = RopeDict::read(file_, object(), "from the dictionary");
    dict.set("rope_theta", theta("compress_rope_theta", 160000));
    dict.set("partial_rotary_factor", part());  // whatever the dictionary says
    complete(dict);
    if (*dict.word("rope_type") == "yarn")
      dict.set_default("attention_factor",
                       rope_number(1, "", "no key sets it: this family does not multiply cos and sin"));
    return dict;
  }

  const Resolving& task_;
  FileReading& file_;
};

}  // namespace

void resolve_deepseek_v4(const Resolving& task) { DeepseekV4(task).resolve(); }

}  // namespace gnomon
