#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {
namespace {

// Of a class of 5 with a dictionary for each kind: that of its full layers, which Zaya calls hybrid. Empty: it has one for all.
std::string label_of_full(const Config& own) {
  for (const char* label : {"full_attention", "hybrid"})
    if (own.kind(label) == Config::Kind::object) return label;
  return {};
}

class V4 {
 public:
  V4(FileReading& file, const Family& family, std::int64_t longest)
      : file_(file), rope_(family.rope), longest_(longest) {
    out_.rules.source = "the rule of transformers 4.57 (modeling_rope_utils.py)";
    out_.rules.plain_forgets_part = false;
    out_.rules.longrope_by_ratio = file_.has("original_max_position_embeddings") || rope_.original != 0;
  }

  RopeReading read() {
    if (file_.has("rope_parameters"))
      out_.remarks.push_back(
          {file_.at("rope_parameters"), "ignored: transformers 4 reads only rope_scaling and the top level"});
    const double standard = rope_.theta_v4 != 0 ? rope_.theta_v4 : rope_.theta;
    RopeDict full = scaling();
    full.set("rope_theta", theta(rope_.theta_key, standard));
    complete(full);
    if (rope_.dicts == RopeDicts::none && !rope_.width_key.empty()) full.set("rotary_dim", width());
    const bool by_kind = rope_.dicts == RopeDicts::by_kind || rope_.dicts == RopeDicts::both_kinds;
    if (!by_kind) {
      out_.kinds.emplace_back("", std::move(full));
      return std::move(out_);
    }
    RopeDict sliding = rope_.dicts == RopeDicts::both_kinds ? scaling() : RopeDict(file_.config().where());
    if (rope_.sliding_theta_key.empty()) {
      sliding.set("rope_theta", theta(rope_.theta_key, standard));
    } else {
      sliding.set("rope_theta", theta(rope_.sliding_theta_key, rope_.sliding_theta));
    }
    complete(sliding);
    out_.kinds.emplace_back("full_attention", std::move(full));
    out_.kinds.emplace_back("sliding_attention", std::move(sliding));
    return std::move(out_);
  }

 private:
  RopeValue theta(std::string_view key, double standard) {
    const auto x = key.empty() ? std::nullopt : file_.number(key);
    if (x) return rope_number(*x, file_.at(key), "transformers 4.57: from the top level");
    return rope_number(standard, "",
                       "transformers 4.57: no key sets it at the top level, so the default of the class");
  }
  RopeDict scaling() {
    if (!file_.has("rope_scaling") && !rope_.standard.empty() &&
        file_.kind("rope_scaling") == Config::Kind::absent) {
      const Config own = Config::parse(rope_.standard, "rope_scaling of the class");
      return RopeDict::standard(own, label_of_full(own), "no key sets it: rope_scaling of the class");
    }
    if (file_.kind("rope_scaling") == Config::Kind::object) members_ = file_.keys("rope_scaling").size();
    return RopeDict::read(file_, "rope_scaling", "transformers 4.57: rope_scaling");
  }
  RopeValue width() {
    if (file_.kind(rope_.width_key) == Config::Kind::null)
      return rope_number(0, file_.at(rope_.width_key), "null: the whole head");
    if (const auto x = file_.whole(rope_.width_key))
      return rope_number(double(*x), file_.at(rope_.width_key), "from the file");
    return rope_number(64, "", "no key sets it: default of the class");
  }

  void complete(RopeDict& dict) {
    if (!dict.find("rope_type")) {
      const RopeValue* old = dict.find("type");
      dict.set("rope_type", old ? *old : rope_word("default", "", "transformers 4.57: no key sets it"));
    }
    const std::string type = *dict.word("rope_type");
    const std::string key = dict.find("rope_type")->key;
    if (rope_.dicts == RopeDicts::mrope && type == "mrope")
      dict.set("rope_type", rope_word("default", key, "this family: mrope is its default"));
    if (rope_.dicts == RopeDicts::phi3 && (type == "su" || type == "yarn"))
      dict.set("rope_type", rope_word("longrope", key, text("this family: ", type, " is longrope")));
    if (!key.empty()) check(dict);
    part(dict);
    length(dict);
  }
  // What the class does not let through, and what ends in an error when its frequencies are computed.
  void check(const RopeDict& dict) const {
    const std::string type = *dict.word("rope_type");
    const RopeTypes& taken = rope_.types_v4;
    if (!taken.names.empty() && std::find(taken.names.begin(), taken.names.end(), type) == taken.names.end())
      dict.wrong("rope_type", text("for transformers 4: ", joined(taken.names)));
    if (taken.members && (!dict.find("type") || members_ != taken.members))
      file_.wrong("rope_scaling",
                  text("for transformers 4: type and the keys that it needs, ", taken.members, " in all"));
    if (rope_.dicts == RopeDicts::hunyuan && type == "dynamic" && !dict.find("alpha"))
      dict.wrong("alpha", "for transformers 4: a number, which the type dynamic needs");
    const bool asks = type == "dynamic" || type == "yarn" || type == "longrope";
    if (rope_.null_head_v4 && asks && !file_.has("head_dim"))
      file_.wrong("head_dim", text("for transformers 4: a number, which the type ", type, " needs"));
  }
  static std::string joined(const std::vector<std::string_view>& names) {
    std::string all;
    for (const std::string_view name : names) all += (all.empty() ? "" : " or ") + std::string(name);
    return all;
  }
  void part(RopeDict& dict) {
    const bool none = rope_.partial_key.empty();
    if (const auto x = none ? std::nullopt : file_.number(rope_.partial_key)) {
      dict.set("partial_rotary_factor",
               rope_number(*x, file_.at(rope_.partial_key), "transformers 4.57: from the top level"));
    } else if (rope_.partial != 0) {
      dict.set("partial_rotary_factor",
               rope_number(rope_.partial, "", "no key sets it: default of the class"));
    } else if (dict.find("partial_rotary_factor")) {
      out_.remarks.push_back(
          {dict.find("partial_rotary_factor")->key, "ignored: transformers 4 reads it from the top level"});
      dict.set("partial_rotary_factor",
               rope_number(1, "", "transformers 4.57: no key sets it at the top level"));
    }
  }
  void length(RopeDict& dict) {
    const std::string_view name = "original_max_position_embeddings";
    const std::string type = *dict.word("rope_type");
    const RopeValue whole = rope_from(double(longest_), file_.at("max_position_embeddings"),
                                      "transformers 4.57: the longest context");
    if (type == "yarn") dict.set_default(name, whole);
    if (type != "longrope") return;
    // Of the top level, or the class; what the dictionary says of it is not looked at.
    if (const auto x = file_.number(name)) {
      dict.set(name, rope_number(*x, file_.at(name), "transformers 4.57: from the top level"));
    } else if (rope_.original != 0) {
      dict.set(name, rope_number(double(rope_.original), "",
                                 "no key sets it at the top level: default of the class"));
    } else {
      dict.set(name, whole);
    }
  }

  FileReading& file_;
  const RopeFacts& rope_;
  const std::int64_t longest_;
  std::size_t members_ = 0;  // of rope_scaling
  RopeReading out_;
};

}  // namespace

RopeReading read_rope_v4(FileReading& file, const Family& family, std::int64_t longest) {
  return V4(file, family, longest).read();
}

}  // namespace gnomon
