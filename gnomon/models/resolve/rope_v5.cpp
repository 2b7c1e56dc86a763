#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {

namespace {

constexpr std::string_view kConvert = "transformers 5.23, convert_rope_params_to_dict: ";
constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";

bool filled(FileReading& file, std::string_view key) {
  if (file.has(key) && file.kind(key) != Config::Kind::object)
    file.wrong(key, "an object, in braces, or null");
  return file.kind(key) == Config::Kind::object && !file.keys(key).empty();
}

class V5 {
 public:
  V5(FileReading& file, const Family& family, const std::vector<std::string>& labels, std::int64_t longest)
      : file_(file),
        known_(family.name != "unknown"),
        rope_(family.rope),
        own_head_(family.sizes.head_dim != 0),
        slice_(family.mla.present()),
        labels_(labels),
        longest_(longest) {
    own_file_rules();
  }

  RopeReading read() {
    switch (rope_.dicts) {
      case RopeDicts::by_kind:
      case RopeDicts::both_kinds:
        by_kind();
        break;
      case RopeDicts::as_written:
      case RopeDicts::filled:
      case RopeDicts::filled_by_kind:
        as_written();
        break;
      case RopeDicts::copied:
        copied();
        break;
      case RopeDicts::listed:
        listed();
        break;
      case RopeDicts::none:
        none();
        break;
      case RopeDicts::base_only:
        base_only();
        break;
      default:
        standard();
    }
    for (auto& [label, dict] : out_.kinds)
      if (dict) complete(*dict, !label.empty());
    null_head();
    if (!rope_.idle_theta_key.empty() && file_.has(rope_.idle_theta_key))
      remark(
          rope_.idle_theta_key,
          "transformers 5.23 does not use it: its rotation takes the base of rope_parameters, or the class's",
          "position-key-unread");
    return std::move(out_);
  }

 private:
  void own_file_rules() {
    out_.rules.source = "the rule of transformers 5.23 (modeling_rope_utils.py)";
    out_.rules.own_mscales = rope_.own_mscales;
  }
  static std::string rule(std::string_view what) { return std::string(kConvert) + std::string(what); }
  void remark(std::string_view key, std::string_view says, std::string_view rule) {
    out_.remarks.push_back({file_.at(key), std::string(says), rule});
  }

  // Dictionary, top level, class: the first that has it.
  RopeValue theta(std::string_view key, double standard) {
    if (const auto x = file_.number(key))
      return rope_number(*x, file_.at(key), rule("from the top level; the dictionary has none"));
    return rope_number(standard, "", rule("no key sets it: default_theta of the class"));
  }
  std::optional<RopeValue> partial() {
    const bool none = rope_.partial_key.empty();
    if (const auto x = none ? std::nullopt : file_.number(rope_.partial_key))
      return rope_number(*x, file_.at(rope_.partial_key),
                         rule("from the top level; the dictionary has none"));
    if (rope_.partial == 0) return std::nullopt;
    return rope_number(rope_.partial, "", rule("no key sets it: default of the class"));
  }
  void fill(RopeDict& dict, const RopeValue& theta_value) {
    dict.set_default("rope_theta", theta_value);
    if (const auto p = partial()) dict.set_default("partial_rotary_factor", *p);
    if (rope_.width_key.empty() || dict.holds("partial_rotary_factor")) return;
    if (const auto x = file_.whole(rope_.width_key))
      dict.set("rotary_dim", rope_number(double(*x), file_.at(rope_.width_key),
                                         rule("from the top level; no share is said")));
  }

  void standard() {
    const bool scaled = filled(file_, "rope_scaling");
    if (scaled && rope_.scaling_unread)
      remark("rope_scaling", "this class keeps it and does not use it: only rope_parameters counts",
             "scaling-unread-by-class");
    std::string_view object = scaled && !rope_.scaling_unread ? "rope_scaling" : "rope_parameters";
    if (object == "rope_scaling" && filled(file_, "rope_parameters"))
      remark("rope_parameters", "rope_scaling is there too and replaces it as a whole", "two-dictionaries");
    if (!filled(file_, object) && rope_.dicts == RopeDicts::nested && !file_.has("rope_parameters") &&
        !rope_.standard.empty())
      return standard_kinds();
    if (!filled(file_, object) && !rope_.standard.empty() && !file_.has("rope_parameters")) {
      RopeDict dict = RopeDict::standard(rope_.standard, "no key sets it: rope_parameters of the class");
      fill(dict, theta(rope_.theta_key, rope_.theta));
      out_.kinds.emplace_back("", std::move(dict));
      return;
    }
    std::vector<std::string> nested;
    if (filled(file_, object)) nested = nested_keys(object);
    if (known_ && !nested.empty() && rope_.dicts != RopeDicts::nested)
      file_.wrong(object,
                  "one dictionary for all layers: this class has one rotation and raises KeyError for more");
    for (const std::string& label : nested) one(text(object, ".", label), label);
    if (nested.empty()) one(object, "");
    for (const std::string& label : labels_)
      if (!nested.empty() && std::find(nested.begin(), nested.end(), label) == nested.end())
        file_.wrong(
            object,
            text("one dictionary for all layers, or one for each layer type: there is none for ", label));
  }
  std::vector<std::string> nested_keys(std::string_view object) {
    std::vector<std::string> nested;
    for (const std::string& key : file_.keys(object))
      if (std::find(labels_.begin(), labels_.end(), key) != labels_.end()) nested.push_back(key);
    return nested;
  }
  void one(std::string_view object, std::string_view label) {
    if (!label.empty() && file_.kind(object) == Config::Kind::null) {
      out_.kinds.emplace_back(label, std::nullopt);
      return;
    }
    RopeDict dict = RopeDict::read(file_, object, rule("from the dictionary"));
    if (rope_.null_theta && null_theta(dict)) {
      out_.kinds.emplace_back(label, std::nullopt);
      return;
    }
    const std::string type = dict.word("rope_type").value_or(dict.word("type").value_or("default"));
    if (rope_.scaling_unread && !dict.empty() && type == "default" && !dict.holds("rope_theta"))
      remark(object,
             "this class needs rope_theta in this dictionary itself: transformers 5.23 raises KeyError",
             "scaling-key-missing"),
          out_.remarks.back().refused = true;
    fill(dict, theta(rope_.theta_key, rope_.theta));
    out_.kinds.emplace_back(label, std::move(dict));
  }
  bool null_theta(const RopeDict& dict) {
    if (dict.holds("rope_theta")) return !dict.find("rope_theta");
    return file_.kind(rope_.theta_key) == Config::Kind::null;
  }

  // Gemma 3, OLMo 3, ModernBERT.
  void by_kind() {
    RopeDict full = kind(kFull), sliding = kind(kSliding);
    if (file_.has("rope_parameters") && !file_.has("rope_parameters.full_attention") &&
        !file_.has("rope_parameters.sliding_attention") && filled(file_, "rope_parameters")) {
      const bool refused = rope_.dicts == RopeDicts::both_kinds;
      remark("rope_parameters",
             refused
                 ? "this class accepts only nested dictionaries: transformers 5.23 rejects the file when it "
                   "reads it"
                 : "ignored: this family reads only full_attention and sliding_attention in it",
             "flat-dictionary-unread");
      out_.remarks.back().refused = refused;
    }
    scale_kinds(full, sliding);
    fill(full, theta(rope_.theta_key, rope_.theta));
    fill(sliding, sliding_theta());
    out_.kinds.emplace_back(kFull, std::move(full));
    out_.kinds.emplace_back(kSliding, std::move(sliding));
  }
  void scale_kinds(RopeDict& full, RopeDict& sliding) {
    const RopeDict scaling =
        RopeDict::read(file_, "rope_scaling", rule("rope_scaling overrides the dictionary"));
    if (scaling.empty()) return;
    std::vector<RopeDict*> scaled{&full};
    if (rope_.dicts == RopeDicts::both_kinds) scaled.push_back(&sliding);
    for (RopeDict* dict : scaled)
      for (const auto& [name, value] : scaling.values()) dict->set(name, value);
    const RopeValue* old = scaling.find("type");
    if (old && !scaling.find("rope_type") && full.find("rope_type") &&
        scaling.word("type") != full.word("rope_type"))
      out_.remarks.push_back({old->key,
                              text("ignored: this class starts from rope_type ", *full.word("rope_type"),
                                   ", and type has no effect beside it"),
                              "type-unread-by-kind"});
  }
  RopeDict kind(std::string_view label) {
    if (!file_.has("rope_parameters"))
      return RopeDict::standard(R"({"rope_type": "default"})", "no key sets it: default of the class");
    const std::string object = text("rope_parameters.", label);
    // rope_scaling goes over a dictionary that is there.
    if (file_.kind(object) != Config::Kind::object && filled(file_, "rope_scaling") &&
        (label == kFull || rope_.dicts == RopeDicts::both_kinds))
      file_.wrong(object, "a dictionary, because rope_scaling overrides it; or no rope_parameters");
    return RopeDict::read(file_, object, rule("from the dictionary"));
  }
  RopeValue sliding_theta() {
    if (!rope_.sliding_theta_key.empty()) return theta(rope_.sliding_theta_key, rope_.sliding_theta);
    // OLMo 3 takes rope_theta out of the file for the full layers; for the sliding ones it is no longer there.
    if (const auto x = file_.number(rope_.theta_key); x && *x != rope_.theta) {
      remark(rope_.theta_key,
             text("only the full-attention layers get it: transformers 5.23 takes it out of the file for "
                  "them. The sliding layers get the default of the class, ",
                  shortest(rope_.theta)),
             "theta-for-half-the-layers");
    }
    return rope_number(rope_.theta, "", rule("no key sets it: default_theta of the class"));
  }

  // ESM: no dictionary, only a base; RoFormer has not even that.
  void base_only() {
    RopeDict dict(file_.config().where());
    const auto base = rope_.theta_key.empty() ? std::nullopt : file_.number(rope_.theta_key);
    dict.set("rope_theta", rope_number(base.value_or(rope_.theta), base ? file_.at(rope_.theta_key) : "",
                                       base ? "from the file" : "no key sets it: default of the class"));
    out_.kinds.emplace_back("", std::move(dict));
  }
  // GPT-J: no dictionary and no base, only how many channels turn. Jamba: none do.
  void none() {
    if (rope_.width_key.empty()) {
      out_.kinds.emplace_back("", std::nullopt);
      return;
    }
    RopeDict dict(file_.config().where());
    dict.set("rope_theta", rope_number(rope_.theta, "", "no key sets it: default of the class"));
    if (file_.kind(rope_.width_key) == Config::Kind::null)
      file_.wrong(rope_.width_key, "a whole number: the class of transformers 5.23 rejects null");
    if (const auto x = file_.whole(rope_.width_key)) {
      dict.set("rotary_dim", rope_number(double(*x), file_.at(rope_.width_key), "from the file"));
    } else {
      dict.set("rotary_dim", rope_number(64, "", "no key sets it: default of the class"));
    }
    out_.kinds.emplace_back("", std::move(dict));
  }

  // What the class has for each kind of layer, where the file has no dictionary.
  void standard_kinds() {
    const Config own = Config::parse(rope_.standard, "rope_parameters of the class");
    for (const std::string& label : labels_) {
      if (own.kind(label) == Config::Kind::object) {
        out_.kinds.emplace_back(
            label, RopeDict::standard(own, label, "no key sets it: rope_parameters of the class"));
      } else {
        out_.kinds.emplace_back(label, std::nullopt);
      }
    }
  }

  // Gemma 4, Laguna, MiMo, LFM3.
  void as_written() {
    const Config::Kind scaling = file_.kind("rope_scaling");
    if (rope_.dicts == RopeDicts::as_written && scaling != Config::Kind::absent &&
        !filled(file_, "rope_scaling"))
      file_.wrong("rope_scaling", "no such key: null or empty, it still replaces rope_parameters");
    const std::string_view in = filled(file_, "rope_scaling") ? "rope_scaling" : "rope_parameters";
    if (!file_.has(in) && rope_.standard.empty())
      file_.wrong(in, "an object with a dictionary for each layer type: the class has none by itself");
    if (!file_.has(in) && rope_.dicts != RopeDicts::filled_by_kind) return standard_kinds();
    if (rope_.dicts == RopeDicts::filled_by_kind) only_kinds(in);
    for (const std::string& label : labels_) {
      const std::string object = text(in, ".", label);
      if (file_.kind(object) == Config::Kind::absent && rope_.dicts != RopeDicts::filled_by_kind)
        file_.wrong(in, text("an object with a dictionary for each layer type: there is none for ", label));
      if (file_.kind(object) == Config::Kind::null) {
        if (rope_.dicts == RopeDicts::filled_by_kind)
          file_.wrong(object, "a dictionary, or no such key: the class fills in what it leaves out");
        out_.kinds.emplace_back(label, std::nullopt);
        continue;
      }
      RopeDict dict = RopeDict::read(file_, object, "from the dictionary");
      if (rope_.dicts == RopeDicts::filled) fill(dict, theta(rope_.theta_key, rope_.theta));
      if (rope_.dicts == RopeDicts::filled_by_kind) fill_kind(dict, label);
      if (rope_.dicts ==
          RopeDicts::listed)  // convert_rope_params_to_dict: here no class has a word against it
        if (const auto share = partial()) dict.set_default("partial_rotary_factor", *share);
      out_.kinds.emplace_back(label, std::move(dict));
    }
    if (rope_.dicts == RopeDicts::as_written) share_beside();
    for (auto& [label, dict] : out_.kinds)
      if (dict && rope_.partial != 0 && type_of(*dict) == "default")
        dict->set_default("partial_rotary_factor", *partial());
  }
  static std::string type_of(const RopeDict& dict) {
    const auto type = dict.word("rope_type");
    return type ? *type : dict.word("type").value_or("default");
  }
  // The function of every type but default calls standardize_rope_params, which fills in a share beside the dictionaries in all of
  // them. The kinds of layers come in alphabetical order: default types before the first other one do not see it.
  void share_beside() {
    const auto share = file_.number("partial_rotary_factor");
    if (!share) return;
    std::vector<std::pair<std::string, RopeDict*>> kinds;
    for (auto& [label, dict] : out_.kinds)
      if (dict) kinds.emplace_back(label, &*dict);
    std::sort(kinds.begin(), kinds.end());
    bool filled = false;
    for (auto& [label, dict] : kinds) {
      filled |= type_of(*dict) != "default";
      if (filled)
        dict->set_default(
            "partial_rotary_factor",
            rope_number(*share, file_.at("partial_rotary_factor"),
                        "transformers 5.23, standardize_rope_params: from the top level, because "
                        "a dictionary has another type than default"));
    }
  }
  void only_kinds(std::string_view object) {
    const Config own = Config::parse(rope_.standard, "rope_parameters of the class");
    for (const std::string& key : file_.keys(object))
      if (!own.has(key))
        file_.wrong(object, text("a dictionary for each layer type: this class raises an error for ", key));
  }
  // What the dictionary leaves out is the top level's base, then the class's for this kind.
  void fill_kind(RopeDict& dict, std::string_view label) {
    if (const auto x = file_.number(rope_.theta_key))
      dict.set_default("rope_theta", theta(rope_.theta_key, *x));
    const Config own = Config::parse(rope_.standard, "rope_parameters of the class");
    const RopeDict standard = RopeDict::standard(own, label, "no key sets it: rope_parameters of the class");
    for (const auto& [name, value] : standard.values()) dict.set_default(name, RopeValue(value));
  }
  void copied() {
    const std::string_view object = filled(file_, "rope_scaling") ? "rope_scaling" : "rope_parameters";
    const bool said = filled(file_, object), nested = said && !nested_keys(object).empty();
    for (const std::string& label : labels_) {
      const std::string own = nested ? text(object, ".", label) : std::string(object);
      if (nested && file_.kind(own) == Config::Kind::absent)
        file_.wrong(object,
                    text("one dictionary for all layers, or one for each kind: there is none for ", label));
      RopeDict dict =
          said ? RopeDict::read(file_, own, rule("from the dictionary")) : RopeDict(file_.config().where());
      const bool slides = !said && label == kSliding;
      fill(dict, slides ? theta(rope_.sliding_theta_key, rope_.sliding_theta)
                        : theta(rope_.theta_key, rope_.theta));
      out_.kinds.emplace_back(label, std::move(dict));
    }
  }

  // Step: a dictionary for each kind, or else one base and share for all or for each layer (layers.cpp).
  void listed() {
    if (has_dictionaries(file_, labels_)) return as_written();
    const bool by_layer = file_.kind(rope_.theta_key) == Config::Kind::list;
    for (const std::string& label : labels_) {
      RopeDict dict(file_.config().where());
      dict.set("rope_type", rope_word("default", "", rule("no key sets it")));
      dict.set("rope_theta",
               by_layer ? rope_number(rope_.theta, "", "") : theta(rope_.theta_key, rope_.theta));
      const RopeDict scaling = RopeDict::read(file_, "rope_scaling", rule("for layers with full attention"));
      if (label == kFull)
        for (const auto& [name, value] : scaling.values()) dict.set(name, value);
      out_.kinds.emplace_back(label, std::move(dict));
    }
  }

  // standardize_rope_params: the type, and the length before the extension.
  void complete(RopeDict& dict, bool nested) {
    if (!dict.find("rope_type")) {
      const RopeValue* old = dict.find("type");
      dict.set("rope_type", old ? *old : rope_word("default", "", rule("no key sets it")));
    }
    const std::string type = *dict.word("rope_type");
    if (rope_.dicts == RopeDicts::mrope && type == "mrope")
      dict.set("rope_type",
               rope_word("default", dict.find("rope_type")->key, "this family: mrope is its default"));
    if (rope_.streams == StreamOrder::by_channel) own_streams(dict, type);
    if (rope_.dicts == RopeDicts::phi3 && (type == "su" || type == "yarn"))
      dict.set("rope_type", rope_word("longrope", dict.find("rope_type")->key,
                                      text("this family: ", type, " is longrope")));
    if (rope_.dicts == RopeDicts::phi3 && type == "su" && !dict.find("original_max_position_embeddings"))
      out_.remarks.push_back({dict.find("rope_type")->key,
                              "su is the first name of longrope. transformers 5.23 adds the original length "
                              "only under the name longrope, and raises KeyError for su",
                              "longrope-named-su",
                              {},
                              true});
    const std::string now = *dict.word("rope_type");
    const auto& taken = rope_.types.names;
    if (!taken.empty() && now != "default" && std::find(taken.begin(), taken.end(), now) == taken.end())
      dict.wrong("rope_type", text(taken.front() == "default" ? "" : "default or ", taken.front(),
                                   " (the class's own rule)"));
    if (now == "yarn" || now == "longrope" || now == "llama3") length(dict, nested);
    if (nested)
      out_.rules.truncate = file_.flag("rope_parameters.truncate")
                                .value_or(file_.kind("rope_parameters.truncate") != Config::Kind::null);
  }
  // HunYuan's own words for its streams.
  static void own_streams(RopeDict& dict, const std::string& type) {
    if (type == "xdrope")
      dict.set("rope_type",
               rope_word("dynamic", dict.find("rope_type")->key, "this family: xdrope is dynamic"));
    if (const RopeValue* sections = dict.find("xdrope_section"))
      dict.set_default("mrope_section", RopeValue(*sections));
  }
  // Classes with a head_dim of their own refuse null; of the others those types multiply it which do not ask for width / heads.
  void null_head() {
    if (!known_ || slice_ || rope_.no_dictionary()) return;
    const bool null = file_.kind("head_dim") == Config::Kind::null;
    const bool refused = null && own_head_ && !rope_.fills_null_head;
    const bool kept = (null || file_.kind("head_dim") == Config::Kind::absent) && rope_.null_head;
    const bool multiplied = (kept || (null && !rope_.fills_null_head)) &&
                            std::any_of(out_.kinds.begin(), out_.kinds.end(), [](const auto& kind) {
                              if (!kind.second) return false;
                              const auto type = kind.second->word("rope_type");
                              return type == "dynamic" || type == "yarn" || type == "longrope";
                            });
    if (refused || multiplied)
      remark("head_dim",
             refused ? "transformers 5.23 rejects null, which is not the same as an absent key; gnomon reads "
                       "it as absent"
                     : "transformers 5.23 multiplies it for this type and raises TypeError, because it is "
                       "null; gnomon reads it as width / heads",
             "head-dim-null"),
          out_.remarks.back().refused = true;
  }
  void length(RopeDict& dict, bool nested) {
    const std::string_view name = "original_max_position_embeddings";
    const RopeValue* own = dict.find(name);
    const auto top = file_.number(name);
    if (nested && top && !(own && dict.number(name) == top))
      remark(name,
             "ignored: this file has a dictionary for each layer type, and transformers reads only those",
             own ? "original-length-twice" : "original-length-unread");
    // Phi-3's class has a length of its own, which counts as the top level's.
    const double over = top ? *top : double(rope_.original);
    if (!nested && (top || over != 0)) {
      if (own && dict.number(name) != over)
        out_.remarks.push_back({own->key,
                                text("the top level overrides it with ", shortest(over),
                                     top ? "" : ", the default of the class"),
                                "original-length-twice"});
      dict.set(
          name,
          rope_number(over, top ? file_.at(name) : "",
                      "transformers 5.23, standardize_rope_params: the top level overrides the dictionary"));
    }
    if (!own && (rope_.dicts == RopeDicts::as_written || rope_.scaling_unread))
      out_.remarks.push_back({dict.find("rope_type")->key,
                              text(*dict.word("rope_type"), " needs ", name,
                                   " in this dictionary itself: transformers 5.23 raises KeyError"),
                              "scaling-key-missing",
                              {},
                              true});
    dict.set_default(
        name,
        rope_from(
            double(longest_), file_.at("max_position_embeddings"),
            "transformers 5.23, standardize_rope_params: the dictionary has none, so the longest context"));
  }

  FileReading& file_;
  const bool known_;
  const RopeFacts& rope_;
  const bool own_head_, slice_;  // the class has a head_dim of its own; one that is no width of the rotation
  const std::vector<std::string>& labels_;
  const std::int64_t longest_;
  RopeReading out_;
};

}  // namespace

RopeReading read_rope_v5(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                         std::int64_t longest) {
  return V5(file, family, labels, longest).read();
}

}  // namespace gnomon
