#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/models/explain/differences.h"
#include "gnomon/models/extend/parts.h"
#include "gnomon/models/resolve/wrappers.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOriginal = "original_max_position_embeddings";

Json value_of(const Config& config, const std::string& key) {
  switch (config.kind(key)) {
    case Config::Kind::flag:
      return *config.flag(key);
    case Config::Kind::number:
      return *config.number(key);
    case Config::Kind::text:
      return *config.text(key);
    case Config::Kind::list:
      return *config.numbers(key);
    case Config::Kind::object: {
      Json all = Json::object();
      for (const std::string& name : config.keys(key)) all[name] = value_of(config, key + "." + name);
      return all;
    }
    default:
      return nullptr;
  }
}

// The settings that one method needs, in each program's words.
class Snippets {
 public:
  Snippets(const ExtensionTask& task, Extension& way)
      : task_(task),
        config_(task.config),
        rope_(task.family.rope),
        method_(way.method->name),
        groups_(way.groups),
        way_(way) {
    part_ = config_.gguf() ? "" : language_part(config_).key;
    first_ =
        &*std::find_if(task.plan.now.groups.begin(), task.plan.now.groups.end(), [&](const LayerGroup& g) {
          return g.layers == groups_.front().layers && g.position.component == groups_.front().component;
        });
    after_ = rotation_of(groups_.front().position);
    announce();
  }

  void fill() {
    if (!config_.gguf() && !rope_.no_dictionary()) {
      if (const std::string why = no_v4(); !why.empty()) {
        way_.missing.push_back("transformers 4: " + why);
      } else {
        way_.snippets.push_back(pasted("transformers 4", v4(), {Reader::v4, Reader::v5}));
      }
      way_.snippets.push_back(pasted("transformers 5", v5(), {Reader::v5, Reader::v4}));
      way_.snippets.push_back(vllm());
    }
    if (!config_.gguf() && rope_.no_dictionary()) return;
    if (const std::string why = no_llama_cpp(); !why.empty()) {
      way_.missing.push_back("llama.cpp: " + why);
    } else {
      way_.snippets.push_back(llama_cpp());
    }
  }

 private:
  std::string at(std::string_view key) const {
    return part_.empty() ? std::string(key) : text(part_, ".", key);
  }
  std::int64_t to() const { return task_.plan.to; }

  // The model with the specs of the groups in the layers that they are of.
  void announce() {
    Resolved model = task_.plan.now.model;
    model.longest = to();
    for (const ExtendedGroup& g : groups_) {
      for (LayerPosition& layer : model.layers) {
        const std::int64_t number = layer.number;
        if (layer.component != g.component ||
            std::find(g.layers.begin(), g.layers.end(), number) == g.layers.end())
          continue;
        layer = g.position;
        layer.number = number;
      }
    }
    announced_ = explain(std::move(model), config_.where(), config_.gguf());
  }
  std::string differs(const Config& merged, Reader reader) const {
    try {
      const Differences found = differences(announced_, explain(merged, reader));
      if (found.same()) return {};
      const Difference& d = found.computed.front();
      return text(quantity_name(d.what), ": ", d.b, " instead of ", d.a);
    } catch (const Error& error) {
      return text("cannot read it: ", error.what());
    }
  }

  // The dictionary that the file has for layers that see everything.
  std::string old_dict() const {
    for (const char* name : {"rope_scaling", "rope_parameters.full_attention", "rope_parameters"})
      if (config_.kind(at(name)) == Config::Kind::object && !config_.keys(at(name)).empty()) return at(name);
    return {};
  }
  bool says_part() const {
    const std::string old = old_dict();
    return config_.has(at(rope_.partial_key)) || rope_.partial != 0 ||
           (!old.empty() && config_.has(old + ".partial_rotary_factor"));
  }
  double share() const {
    const double head =
        task_.family.mla.rope ? double(first_->numbers().rotary_dim) : double(first_->position.head_dim);
    return double(first_->numbers().rotary_dim) / head;
  }
  // What a new type leaves as it was.
  void keep(Json& dict) const {
    std::vector<std::string> names{"mrope_section", "mrope_interleaved", "llama_4_scaling_beta"};
    if (method_ == "yarn") names.insert(names.end(), {"mscale", "mscale_all_dim"});
    const std::string old = old_dict();
    for (const std::string& name : names) {
      if (!old.empty() && config_.has(old + "." + name)) dict[name] = value_of(config_, old + "." + name);
      if (!old.empty() || rope_.standard.empty()) continue;
      const Config own = Config::parse(rope_.standard, "the class's own");
      if (own.has(name)) dict[name] = value_of(own, name);
    }
  }
  // Without theta, which stands elsewhere in transformers 4.
  Json dict() const {
    const bool proportional = after_->name == "proportional";
    Json out{{"rope_type", proportional       ? "proportional"
                           : method_ == "ntk" ? "default"
                                              : std::string(method_)}};
    if (method_ != "ntk") out["factor"] = after_->number("factor");
    if (method_ == "yarn" || method_ == "longrope") out[std::string(kOriginal)] = task_.plan.now.trained();
    if (method_ == "yarn") ramp(out);
    if (method_ == "longrope") {
      out["short_factor"] = after_->option("short")->numbers();
      out["long_factor"] = after_->option("long")->numbers();
    }
    if (proportional) out["partial_rotary_factor"] = after_->number("share");
    keep(out);
    return out;
  }
  void ramp(Json& out) const {
    for (const auto& [name, standard] : {std::pair{"beta_fast", 32.0}, {"beta_slow", 1.0}})
      if (const double x = after_->number(name); x != standard) out[name] = x;
    if (after_->option("truncate") == OptionValue("off")) out["truncate"] = false;
  }
  double theta() const {
    const double theta = *first_->theta;
    return method_ == "ntk" ? ntk_theta(theta, task_.plan.factor, first_->numbers().rotary_dim) : theta;
  }
  const LayerGroup* sliding() const {
    for (const LayerGroup& g : task_.plan.now.groups)
      if (g.window && rotation_of(g.position)) return &g;
    return nullptr;
  }
  // Dynamic NTK begins at this key's length, so it stays; elsewhere programs take it for what they may serve.
  void length(Json& out) const {
    out[std::string(task_.family.keys.longest)] = method_ == "dynamic" ? task_.plan.now.trained() : to();
    const bool top = config_.has(at(kOriginal)) || rope_.original != 0;
    if (top && (method_ == "yarn" || method_ == "longrope"))
      out[std::string(kOriginal)] = task_.plan.now.trained();
  }

  Json v4() const {
    Json out = Json::object();
    length(out);
    if (method_ == "longrope") out[std::string(kOriginal)] = task_.plan.now.trained();
    out[std::string(rope_.theta_key)] = theta();
    if (task_.full_only && !rope_.sliding_theta_key.empty() && sliding())
      out[std::string(rope_.sliding_theta_key)] = *sliding()->theta;
    if (says_part() && after_->name != "proportional") out[std::string(rope_.partial_key)] = share();
    out["rope_scaling"] = method_ == "ntk" ? kept_alone() : rope_.types_v4.members ? strict(dict()) : dict();
    if (rope_.null_head_v4 && !config_.has(at("head_dim"))) out["head_dim"] = first_->position.head_dim;
    return out;
  }
  // NTK is another base and no scaling: null, unless something else stands in the dictionary. A model with M-RoPE looks for its
  // sections there.
  Json kept_alone() const {
    const Json out = dict();
    return out.size() > 1 || !rope_.sections.empty() ? out : Json();
  }
  // What its class lets through: `type`, and what this needs.
  Json strict(const Json& dict) const {
    Json out{{"type", dict["rope_type"]}};
    for (const char* name : {"factor", "short_factor", "long_factor"})
      if (dict.contains(name) && (method_ != "longrope" || name != std::string_view("factor")))
        out[name] = dict[name];
    return out;
  }
  std::string no_v4() const {
    const auto& taken = rope_.types_v4.names;
    if (method_ == "ntk" || after_->name == "proportional") return {};
    if (!taken.empty() && std::find(taken.begin(), taken.end(), method_) == taken.end())
      return "its class for this family does not accept this type";
    if (rope_.dicts == RopeDicts::hunyuan && method_ == "dynamic")
      return "its class for this family needs alpha, which sets a base that does not grow";
    return {};
  }
  Json v5() const {
    Json out = Json::object();
    length(out);
    Json one = dict();
    one["rope_theta"] = theta();
    if (says_part() && after_->name != "proportional") one["partial_rotary_factor"] = share();
    out["rope_parameters"] = nested() ? by_kind(std::move(one)) : std::move(one);
    if (config_.has(at("rope_scaling"))) out["rope_scaling"] = nullptr;
    // Layers that keep dynamic NTK begin it at this key's length, too.
    if (const Json& dicts = out["rope_parameters"]; dicts.contains("sliding_attention"))
      if (type_of(dicts["sliding_attention"]) == "dynamic")
        out[std::string(task_.family.keys.longest)] = task_.plan.now.model.longest;
    return out;
  }
  bool nested() const {
    if (task_.full_only) return true;
    return config_.kind(at("rope_parameters.full_attention")) == Config::Kind::object;
  }
  Json by_kind(Json full) const {
    Json out{{"full_attention", std::move(full)}};
    if (sliding()) out["sliding_attention"] = sliding_dict();
    return out;
  }
  static std::string type_of(const Json& dict) { return dict.value("rope_type", dict.value("type", "")); }
  // The layers with a window as they are: also where rope_scaling, which goes away, was theirs too, and began at the length that
  // is now another.
  Json sliding_dict() const {
    const std::string own = at("rope_parameters.sliding_attention"), common = at("rope_scaling");
    Json dict = config_.kind(own) == Config::Kind::object ? value_of(config_, own) : Json::object();
    if (rope_.dicts == RopeDicts::both_kinds && config_.kind(common) == Config::Kind::object)
      dict.update(value_of(config_, common));
    if (!dict.contains("rope_type") && !dict.contains("type")) dict["rope_type"] = "default";
    if (!dict.contains("rope_theta")) dict["rope_theta"] = *sliding()->theta;
    const std::string type = type_of(dict);
    if (type == "yarn" || type == "llama3" || type == "longrope")
      if (!dict.contains(kOriginal)) dict[std::string(kOriginal)] = task_.plan.now.trained();
    return dict;
  }

  ExtensionSnippet pasted(const char* program, const Json& members, std::vector<Reader> readers) const {
    ExtensionSnippet out{
        program,
        part_.empty() ? "members of config.json" : text("members of ", part_, " in config.json"),
        members.dump(),
        true,
        {},
        part_};
    const Config merged = config_.with(part_, out.text);
    for (const Reader reader : readers) out.readings.push_back({reader, differs(merged, reader)});
    return out;
  }
  ExtensionSnippet vllm() const {
    Json members = v5();
    const Config merged = config_.with(part_, members.dump());
    members.erase("rope_scaling");
    for (std::string_view rest = part_; !rest.empty();) {  // from the innermost object out
      const std::size_t dot = rest.rfind('.');
      members = Json{{std::string(rest.substr(dot == rest.npos ? 0 : dot + 1)), members}};
      rest = rest.substr(0, dot == rest.npos ? 0 : dot);
    }
    ExtensionSnippet out{
        "vLLM", "options", text("--hf-overrides '", members.dump(), "' --max-model-len ", to()), false, {}};
    out.readings.push_back({Reader::vllm, differs(merged, Reader::vllm)});
    return out;
  }

  std::string no_llama_cpp() const {
    const std::string_view now = rotation_of(first_->position)->name;
    if (method_ == "dynamic") return "it has no option for a base that grows with the text";
    if (method_ == "longrope")
      return "it has no option for lists; they are the tensors rope_factors_short.weight and "
             "rope_factors_long.weight in the GGUF file";
    if (now == "llama3" || now == "longrope" || now == "proportional")
      return "the present scaling of the model is a tensor in its GGUF file, and no option removes it";
    return {};
  }
  // Its own names (common/arg.cpp). Its server allows no more than context_length, unless YaRN is asked for (ggml-org/
  // llama.cpp#28030).
  ExtensionSnippet llama_cpp() const {
    const Named& now = *rotation_of(first_->position);
    const bool plain = now.name == "rope" || now.name.starts_with("mrope");
    const std::string arch = config_.gguf()              ? *config_.text("general.architecture")
                             : task_.family.gguf.empty() ? "ARCHITECTURE"
                                                         : std::string(task_.family.gguf.front());
    ExtensionSnippet out{"llama.cpp", "options", text("-c ", to()), false, {}};
    Json keys = Json::object();
    if (method_ == "ntk") {
      const std::string base = shortest(theta());
      out.text += text(plain ? "" : " --rope-scaling none", " --rope-freq-base ", base);
      keys[arch + ".rope.freq_base"] = number(base, "theta");
      keys[arch + ".rope.scaling.type"] = "none";
    } else {
      out.text += text(" --rope-scaling ", method_, " --rope-scale ", shortest(after_->number("factor")));
      keys[arch + ".rope.scaling.type"] = std::string(method_);
      keys[arch + ".rope.scaling.factor"] = after_->number("factor");
    }
    if (method_ == "yarn") {
      out.text += text(" --yarn-orig-ctx ", task_.plan.now.trained());
      keys[arch + ".rope.scaling.original_context_length"] = task_.plan.now.trained();
    } else {
      out.text += text(" --override-kv ", arch, ".context_length=int:", to());
      keys[arch + ".context_length"] = to();
    }
    if (config_.gguf())
      out.readings.push_back({Reader::llama_cpp, differs(config_.with("", keys.dump()), Reader::llama_cpp)});
    return out;
  }

  const ExtensionTask& task_;
  const Config& config_;
  const RopeFacts& rope_;
  const std::string_view method_;
  const std::vector<ExtendedGroup>& groups_;
  Extension& way_;
  std::string part_;
  const LayerGroup* first_ = nullptr;  // the first that changes, as it is
  const Named* after_ = nullptr;       // and as it will be
  Explanation announced_;
};

}  // namespace

void add_snippets(const ExtensionTask& task, Extension& way) { Snippets(task, way).fill(); }

}  // namespace gnomon
