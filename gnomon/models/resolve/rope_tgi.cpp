#include <algorithm>
#include <iterator>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {
namespace {

// What the class of a type makes of its keys: TGI 3.3.7, server/text_generation_server/models/__init__.py, get_model, and the
// file of the class in custom_modeling/.
struct TgiClass {
  std::string_view type;  // model_type
  bool own_head =
      false;          // reads head_dim; elsewhere a head has width / heads channels, whatever head_dim says
  bool part = false;  // rotates the share of the head that the top level names
  bool local_theta = false;  // layers with a window: rope_local_base_freq, and no scaling
};

constexpr TgiClass kClasses[] = {
    {.type = "deepseek_v3", .own_head = true},
    {.type = "gemma", .own_head = true},
    {.type = "gemma2", .own_head = true},
    {.type = "gemma3_text", .own_head = true, .local_theta = true},
    {.type = "gpt_neox", .part = true},
    {"granite"},
    {"llama"},
    {.type = "mistral", .own_head = true},
    {"mixtral"},
    {.type = "phi", .part = true},
    {"phi3"},
    {"qwen2"},
    {"starcoder2"},
};

TgiClass class_of(FileReading& file) {
  const std::string type = file.text("model_type").value_or("");
  const auto found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                  [&](const TgiClass& c) { return c.type == type; });
  if (found == std::end(kClasses)) file.wrong("model_type", "a type whose class in TGI gnomon knows");
  return *found;
}

class Tgi {
 public:
  Tgi(FileReading& file, const Family& family, std::int64_t longest)
      : file_(file), family_(family), class_(class_of(file)), longest_(longest) {}

  RopeReading read() {
    out_.rules.source = "TGI, PositionRotaryEmbedding";
    out_.rules.plain_forgets_part = false;
    out_.rules.truncate = true;
    out_.rules.yarn_factor = YarnFactor::by_ratio;
    out_.rules.long_list = LongList::by_position;
    out_.rules.longrope_by_ratio = out_.rules.longrope_factor_unread = true;
    head();
    if (file_.has("rope_parameters"))
      out_.remarks.push_back({file_.at("rope_parameters"), "TGI ignores it: it came with transformers 5"});
    if (class_.local_theta) out_.kinds.emplace_back("sliding_attention", local());
    out_.kinds.emplace_back("", scaled());
    return std::move(out_);
  }

 private:
  // What TGI says of a value that it fixes.
  static RopeValue fixed(double x, std::string key) {
    return rope_number(x, std::move(key), "TGI: whatever the file says");
  }
  RopeValue theta(std::string_view key, double standard) {
    if (const auto x = file_.number(key)) return rope_number(*x, file_.at(key), "TGI: from the top level");
    return rope_number(standard, "", "TGI: no key sets it at the top level, so the default of the class");
  }
  void head() {
    const auto own = file_.whole("head_dim"), width = file_.whole(family_.keys.width),
               heads = file_.whole(family_.keys.heads);
    if (class_.own_head || !own || !width || !heads || *heads < 1 || *own == *width / *heads) return;
    file_.wrong("head_dim", text(*width / *heads, ": TGI's class of this type has heads of width / heads"));
  }
  RopeDict local() {
    RopeDict dict(file_.config().where());
    dict.set("rope_theta", theta(family_.rope.sliding_theta_key, family_.rope.sliding_theta));
    dict.set("rope_type", rope_word("default", "", "TGI: layers with a window rotate plainly"));
    return dict;
  }
  RopeDict scaled() {
    RopeDict dict(file_.config().where());
    if (file_.has("rope_scaling")) dict = RopeDict::read(file_, "rope_scaling", "TGI: from rope_scaling");
    const double standard = family_.rope.theta_v4 != 0 ? family_.rope.theta_v4 : family_.rope.theta;
    dict.set("rope_theta", theta(family_.rope.theta_key, standard));
    part(dict);
    if (file_.has("rope_scaling")) {
      type(dict);
    } else {
      dict.set("rope_type", rope_word("default", "", "TGI: no rope_scaling"));
    }
    if (family_.mla.rope != 0 && dict.word("rope_type") != "yarn")
      file_.wrong("rope_scaling", "a dictionary of the type yarn: TGI's class of this type asks for it");
    return dict;
  }
  void part(RopeDict& dict) {
    const std::string_view key = family_.rope.partial_key;
    const auto top = file_.number(key);
    if (class_.part && top)
      return dict.set("partial_rotary_factor", rope_number(*top, file_.at(key), "TGI: from the top level"));
    if (top && *top != 1)
      out_.remarks.push_back({file_.at(key), "TGI ignores it for this type: the whole head rotates"});
    dict.set("partial_rotary_factor",
             rope_number(class_.part ? family_.rope.partial : 1, "", "TGI: the part that the class rotates"));
  }

  // The configuration of transformers 4 lets other dictionaries not through.
  void check(const RopeDict& dict) const {
    const RopeTypes& taken = family_.rope.types_v4;
    if (!taken.members) return;
    const std::string word = dict.word("type").value_or("");
    const bool old_name = family_.rope.dicts == RopeDicts::phi3 && (word == "su" || word == "yarn");
    if ((!old_name && std::find(taken.names.begin(), taken.names.end(), word) == taken.names.end()) ||
        file_.keys("rope_scaling").size() != taken.members)
      file_.wrong("rope_scaling",
                  text("type and the keys that it needs, ", taken.members, " in all, for transformers 4"));
  }
  void type(RopeDict& dict) {
    check(dict);
    if (!dict.find("rope_type") && dict.find("type")) dict.set("rope_type", *dict.find("type"));
    std::string word = dict.word("rope_type").value_or("");
    if (family_.rope.dicts == RopeDicts::phi3 && word == "yarn") word = "longrope";
    const std::string key = word.empty() ? "" : dict.find("rope_type")->key;
    const auto becomes = [&](std::string_view name, std::string_view why) {
      dict.set("rope_type", rope_word(std::string(name), key, std::string(why)));
    };
    if (word == "default" || word == "mrope") return becomes("default", "TGI: in text a plain rotation");
    if (word == "linear") {
      out_.remarks.push_back({key, "TGI accepts the type linear and scales nothing"});
      return becomes("default", "TGI: the type linear scales nothing");
    }
    if (word == "dynamic") return needed(dict, {"factor"});
    if (word == "yarn") return yarn(dict);
    if (word == "llama3")
      return needed(dict,
                    {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
    if (word != "longrope" && word != "su")
      dict.wrong("rope_type", "for TGI: default, linear, dynamic, yarn, llama3, longrope, su or mrope");
    becomes("longrope", "TGI: su and longrope are one");
    longrope(dict);
  }
  static void needed(const RopeDict& dict, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      if (!dict.find(name)) dict.wrong(name, "a number: TGI has no default");
  }
  void yarn(RopeDict& dict) {
    needed(dict, {"factor", "original_max_position_embeddings"});
    for (const auto& [name, standard] : {std::pair{"beta_fast", 32.0}, {"beta_slow", 1.0}}) {
      const RopeValue* own = dict.find(name);
      if (own && dict.number(name) != standard)
        out_.remarks.push_back({own->key, text("TGI ignores it: it is always ", shortest(standard))});
      dict.set(name, fixed(standard, own ? own->key : ""));
    }
  }
  // The original length is that of the top level, or of the class.
  void longrope(RopeDict& dict) {
    const std::string_view name = "original_max_position_embeddings";
    const auto top = file_.number(name);
    if (!top && family_.rope.original == 0) file_.wrong(name, "a number at the top level, where TGI looks");
    const double original = top ? *top : double(family_.rope.original);
    dict.set(name, rope_number(original, top ? file_.at(name) : "", "TGI: from the top level, or the class"));
    const auto near = dict.number("short_mscale"), far = dict.number("long_mscale");
    if (near && far) multiplied(dict, *near, *far);
    if (double(longest_) > original)
      out_.remarks.push_back(
          {dict.find("long_factor") ? dict.find("long_factor")->key : file_.at("rope_scaling"),
           text("TGI takes it for positions from ", shortest(original),
                " on and short_factor for the earlier ones of the same text: distances across ",
                shortest(original), " are wrong")});
  }
  // Both multiply the angles, and nothing multiplies cos and sin.
  void multiplied(RopeDict& dict, double near, double far) {
    for (const auto& [name, by] : {std::pair{"short_factor", near}, {"long_factor", far}}) {
      auto list = dict.list(name);
      if (!list) continue;
      for (double& x : *list) x /= by;
      RopeValue value = *dict.find(name);
      value.is = *list;
      dict.set(name, std::move(value));
    }
    out_.remarks.push_back({dict.find("short_mscale")->key,
                            "TGI multiplies the angles by short_mscale and long_mscale, not cos and sin"});
    dict.set("attention_factor", fixed(1, ""));
    out_.rules.longrope_factor_unread = false;
  }

  FileReading& file_;
  const Family& family_;
  const TgiClass class_;
  const std::int64_t longest_;
  RopeReading out_;
};

}  // namespace

RopeReading read_rope_tgi(FileReading& file, const Family& family, std::int64_t longest) {
  return Tgi(file, family, longest).read();
}

}  // namespace gnomon
