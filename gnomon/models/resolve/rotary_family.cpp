#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/rope_readers.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

void add_new(std::vector<Remark>& to, const std::vector<Remark>& remarks) {
  for (const Remark& remark : remarks) {
    const bool there = std::any_of(
        to.begin(), to.end(), [&](const Remark& r) { return r.key == remark.key && r.says == remark.says; });
    if (!there) to.push_back(remark);
  }
}

// What each layer sees, as the reader has it.
std::vector<LayerKind> seen(const Resolving& task) {
  std::vector<LayerKind> kinds = read_layers(task.file, task.family, task.sizes);
  if (task.answer.reader == Reader::mlx) see_as_mlx(task.file, task.family, kinds, task.answer.remarks);
  return kinds;
}

class RotaryLayers {
 public:
  explicit RotaryLayers(const Resolving& task) : task_(task), facts_(task.family.rope), kinds_(seen(task)) {
    read_pairing();
    reading_ = read_rope(task.answer.reader, task.file, task.family, labels(), task.sizes.longest);
    softmax_scale();
    task.answer.table_rows = reading_.table;
    add_new(task.answer.remarks, reading_.remarks);
  }

  void resolve() {
    for (std::size_t l = 0; l < kinds_.size(); ++l) {
      const LayerKind& kind = kinds_[l];
      std::vector<SpecPart> parts;
      if (const SpecPart* rope = rope_of(kind)) parts.push_back(*rope);
      if (auto part = temperature(kind)) parts.push_back(std::move(*part));
      for (const SpecPart& part : parts) written_ += part.encoding.print_given().size();
      if (written_ > kMostWritten)
        throw Error(Fault::input,
                    text(task_.file.config().where(), ": the settings of ", kinds_.size(),
                         " layers, with their lists, have more than ", kMostWritten, " characters"));
      LayerPosition layer = make_layer(task_, kind, parts);
      layer.number = std::int64_t(l);
      if (!attends(kind.type)) {
        layer.mixer = kind.type;
        task_.answer.layers.push_back(std::move(layer));
        continue;
      }
      layer.scale = attention_scale(task_, std::int64_t(l), layer);
      layer.kept.elsewhere = kind.shares_keys;
      value_width(kind, layer), latent(kind, layer);
      task_.answer.layers.push_back(std::move(layer));
      if (auto chooser = indexer(kind)) {
        chooser->number = std::int64_t(l);
        task_.answer.layers.push_back(std::move(*chooser));
      }
    }
    ask_one_number_of_heads();
    // The length before any extension: what a layer that sees everything calls original.
    for (const auto& [key, part] : made_)
      for (const Because& b : part.because)
        if (b.what == "original") task_.answer.trained_length = std::stoll(b.value);
  }

 private:
  void softmax_scale() {
    const bool forgets = task_.family.mla.unscaled_in_v4 && task_.answer.reader == Reader::v4;
    reading_.rules.softmax_mscale = task_.family.mla.rope != 0 && !task_.family.mla.unscaled && !forgets;
    if (forgets && task_.file.has("rope_scaling.mscale_all_dim"))
      task_.answer.remarks.push_back(
          {task_.file.at("rope_scaling.mscale_all_dim"),
           "transformers 4.57 multiplies only cos and sin by it and forgets q·k (corrected in 5)"});
  }
  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    for (const LayerKind& kind : kinds_)
      if (task_.family.windows.typed && attends(kind.type) &&
          std::find(labels.begin(), labels.end(), kind.type) == labels.end())
        labels.push_back(kind.type);
    return labels;
  }
  // Values of other channels than the head that is compared.
  void value_width(const LayerKind& kind, LayerPosition& layer) {
    const Mla& mla = task_.family.mla;
    const std::int64_t by_width = mla.value_by_width ? task_.sizes.width / task_.sizes.heads : mla.value;
    const std::int64_t own = mla.present() ? by_width : task_.family.value;
    if (own == 0) return;
    const auto said = task_.file.whole("v_head_dim", 1, 65536);
    const std::int64_t width = kind.value_dim ? kind.value_dim : said.value_or(own);
    if (width == layer.head_dim) return;
    layer.value_dim = width;
    if (kind.value_dim) return;  // said already
    layer.because.push_back({"value_dim", text(width), said ? task_.file.at("v_head_dim") : "",
                             said                 ? "channels of a value"
                             : mla.value_by_width ? "width / heads, because no key sets it"
                                                  : "no key sets it: default of the class"});
  }
  // One vector for all heads, and the slice that turns.
  void latent(const LayerKind& kind, LayerPosition& layer) {
    const Mla& mla = task_.family.mla;
    if (!mla.present() || task_.answer.reader == Reader::llama_cpp) return;
    const auto said = task_.file.whole("kv_lora_rank", 1, 1 << 20);
    const bool bare = mla.sliceless || (mla.bare_latent && !kind.position);
    layer.kept.latent = (kind.latent ? kind.latent : said.value_or(mla.latent)) + (bare ? 0 : slice(kind));
    layer.because.push_back(
        {"kept", text(layer.kept.latent), said ? task_.file.at("kv_lora_rank") : "",
         text("kv_lora_rank", bare ? "" : " + qk_rope_head_dim", ": one vector for all heads")});
  }
  std::int64_t slice(const LayerKind& kind) const {
    return kind.slice >= 0 ? kind.slice : slice_of(task_.file, task_.family.mla);
  }
  void read_pairing() {
    const std::string_view key = task_.family.mla.pairing_key;
    if (key.empty()) return;
    if (const auto adjacent = task_.file.flag(key)) {
      facts_.pairing = *adjacent ? Pairing::adjacent : Pairing::halves;
      facts_.pairing_key = task_.file.at(key);
    }
  }

  RopeHead head(const LayerKind& kind) {
    const std::int64_t dim = kind.head_dim ? kind.head_dim : task_.sizes.head_dim;
    RopeHead head{dim, dim, false, task_.sizes.longest};
    if (const Mla& mla = task_.family.mla; mla.present())
      head.rotated = slice(kind), head.trailing = true, head.whole = mla.whole_slice;
    return head;
  }
  // Null: the layer does not turn.
  const SpecPart* rope_of(const LayerKind& kind) {
    const auto& dict = reading_.of(kind.type);
    const RopeHead turning = head(kind);
    if (!kind.position || !attends(kind.type) || !dict || turning.rotated == 0) return nullptr;
    const Key key{kind.type, kind.theta.value_or(0), kind.share.value_or(0), turning.attended, kind.unscaled};
    const auto there = made_.find(key);
    if (there != made_.end()) return &there->second;
    const SpecPart part = rope_part(own_dict(kind, *dict), turning, facts_, reading_.rules);
    add_new(task_.answer.remarks, part.remarks);
    return &made_.emplace(key, part).first->second;
  }

  // The dictionary of its kind, with what the layer has of its own.
  RopeDict own_dict(const LayerKind& kind, const RopeDict& dict) const {
    RopeDict own = dict;
    if (kind.unscaled) {
      own = RopeDict(task_.file.config().where());
      own.set("rope_type",
              rope_word("default", task_.file.at(facts_.scaled_key), "it does not list this layer"));
      own.set("rope_theta", *dict.find("rope_theta"));
    }
    const auto set = [&](std::string_view name, std::optional<double> x, std::string_view key) {
      if (x) own.set(name, rope_number(*x, task_.file.at(key), "for this layer"));
    };
    set("rope_theta", kind.theta, kind.theta_key);
    set("partial_rotary_factor", kind.share, facts_.shares_key);
    return own;
  }

  std::optional<SpecPart> temperature(const LayerKind& kind) {
    switch (task_.family.temperature) {
      case Temperature::none:
        return std::nullopt;
      case Temperature::llama4:
        return llama4(kind);
      case Temperature::ministral3:
        return ministral3(kind);
      case Temperature::beam:
        return beam(kind);
      case Temperature::learned:
        return learned_temperature();
    }
    return std::nullopt;
  }
  std::optional<SpecPart> llama4(const LayerKind& kind) {
    FileReading& file = task_.file;
    // A number in the files of Llama 4, a flag in its class.
    const bool on = file.kind("attn_temperature_tuning") == Config::Kind::number
                        ? *file.number("attn_temperature_tuning") != 0
                        : file.flag("attn_temperature_tuning").value_or(true);
    if (kind.position || !on) return std::nullopt;
    const double scale = file.number("attn_scale").value_or(0.1);
    const std::int64_t floor = file.whole("floor_scale", 1, 1'000'000'000).value_or(8192);
    SpecPart part{{"log_n", {{"rule", "llama4"}, {"scale", scale}, {"floor", floor}}}, {}, {}};
    part.because.push_back({"temperature", shortest(scale), file.at("attn_scale"),
                            "q grows with position in layers without RoPE"});
    part.because.push_back({"floor", text(floor), file.at("floor_scale"), "tokens"});
    return part;
  }
  // Where the kind has no dictionary.
  std::optional<SpecPart> beam(const LayerKind& kind) {
    if (reading_.of(kind.type)) return std::nullopt;
    SpecPart part{{"log_n", {{"rule", "beam"}, {"scale", 0.1}, {"floor", 2048}}}, {}, {}};
    part.because.push_back(
        {"temperature", "0.1", "", "fixed by the class: q grows with position in layers without RoPE"});
    part.because.push_back({"floor", "2048", "", "fixed by the class"});
    return part;
  }
  std::optional<SpecPart> ministral3(const LayerKind& kind) {
    const auto& dict = reading_.of(kind.type);
    const auto beta = dict ? dict->number("llama_4_scaling_beta") : std::nullopt;
    const auto L0 = dict ? dict->number("original_max_position_embeddings") : std::nullopt;
    if (!beta || *beta == 0 || !L0) return std::nullopt;
    SpecPart part{{"log_n", {{"rule", "ministral3"}, {"scale", *beta}, {"floor", *L0}}}, {}, {}};
    const auto say = [&](std::string_view what, double x, std::string_view name) {
      const RopeValue& from = *dict->find(name);
      part.because.push_back({std::string(what), shortest(x), from.key, from.rule});
    };
    say("temperature", *beta, "llama_4_scaling_beta");
    say("floor", *L0, "original_max_position_embeddings");
    return part;
  }

  static SpecPart learned_temperature() {
    SpecPart part{{"log_temperature", {}}, {}, {}};
    part.because.push_back(
        {"temperature", "learned", "",
         "q is multiplied by s ln(p + 1) + b; the weights hold both numbers of each head"});
    return part;
  }

  // Whether layers have different numbers of heads: those of one kind, or all of them.
  bool heads_differ(std::string_view kind) const {
    std::set<std::int64_t> heads;
    for (const LayerPosition& layer : task_.answer.layers) {
      const bool of_kind = kind.empty() || kinds_[std::size_t(layer.number)].type == kind;
      if (of_kind && layer.component.empty()) heads.insert(layer.heads);
    }
    return heads.size() > 1;
  }
  // Step: some types divide the width by the heads. longrope asks for one number in the model, dynamic and yarn for one of a kind.
  void ask_one_number_of_heads() {
    const SlidingHeads& own = task_.family.sliding;
    if ((own.heads_key.empty() && own.latent == 0) || task_.answer.reader != Reader::v5) return;
    for (const auto& [label, dict] : reading_.kinds) {
      const std::string type = dict ? *dict->word("rope_type") : "default";
      const bool asks = type == "dynamic" || type == "yarn" || type == "longrope";
      if (!asks || !heads_differ(type == "longrope" ? "" : label)) continue;
      task_.answer.remarks.push_back(
          {dict->find("rope_type")->key,
           text("layers have different numbers of heads, and the type ", type,
                " asks for one: transformers 5.23 raises AmbiguousGlobalPerLayerAttributeError"),
           "layer-override-refused", "default, linear or llama3", true});
    }
  }

  // The attention that chooses keys: other heads, and a slice at one end of them that turns as that of the layer does.
  std::optional<LayerPosition> indexer(const LayerKind& kind) {
    const Indexer& own = task_.family.indexer;
    if (!kind.chooses_keys) return std::nullopt;
    Sizes sizes = task_.sizes;
    sizes.heads = task_.file.whole(own.heads_key, 1, 65536).value_or(own.heads);
    sizes.head_dim = task_.file.whole(own.dim_key, 1, 65536).value_or(own.dim);
    sizes.kv_heads = 1;
    if (sizes.heads == 0 || sizes.head_dim == 0) return std::nullopt;
    LayerKind bare = kind;
    bare.heads = bare.kv_heads = bare.head_dim = 0;
    const Resolving in{task_.file, task_.family, sizes, task_.answer};
    LayerPosition layer = make_layer(in, bare, turning_indexer(kind, sizes.head_dim));
    layer.component = "indexer";
    layer.because.push_back(
        {"heads", text(sizes.heads), task_.file.at(own.heads_key), "of the indexer, which has one KV head"});
    layer.because.push_back({"head_dim", text(sizes.head_dim), task_.file.at(own.dim_key), "of the indexer"});
    return layer;
  }
  std::vector<SpecPart> turning_indexer(const LayerKind& kind, std::int64_t channels) {
    if (!rope_of(kind)) return {};
    const Indexer& own = task_.family.indexer;
    RopeFacts facts = facts_;
    facts.pairing = own.pairing, facts.pairing_key.clear();
    RopeRules rules = reading_.rules;
    rules.softmax_mscale = false;
    RopeHead turning = head(kind);
    turning.attended = channels, turning.trailing = own.trailing;
    return {rope_part(*reading_.of(kind.type), turning, facts, rules)};
  }

  using Key = std::tuple<std::string, double, double, std::int64_t,
                         bool>;  // type, its own base and share, head, unscaled
  const Resolving& task_;
  RopeFacts facts_;
  const std::vector<LayerKind> kinds_;
  RopeReading reading_;
  std::map<Key, SpecPart> made_;
  // The specs of all layers, in characters: lists of every pair for every layer.
  static constexpr std::size_t kMostWritten = 2 << 20;
  std::size_t written_ = 0;
};

}  // namespace

void resolve_rotary(const Resolving& task) { RotaryLayers(task).resolve(); }

}  // namespace gnomon
