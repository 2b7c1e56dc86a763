#include <algorithm>
#include <iterator>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/rope_readers.h"

namespace gnomon {
namespace {

// Which layers have a window.
enum class MlxWindows {
  none,
  listed,  // those that layer_types names, where the file has it
  own      // as transformers' class
};

// What the class of a type makes of its keys: mlx-lm 0.32.2, models/TYPE.py, ModelArgs and Attention.
struct MlxClass {
  std::string_view type;          // model_type
  double theta;                   // where the file has no rope_theta; 0: the class refuses such a file
  bool scaled;                    // reads rope_scaling; others rotate plainly, whatever it says
  bool parameters = false;        // reads rope_parameters where the older keys are absent
  bool part = false;              // reads partial_rotary_factor at the top level
  double sliding_theta = 0;       // rope_local_base_freq, for layers with a window; 0: as the others
  bool sliding_unscaled = false;  // layers with a window rotate plainly
  MlxWindows windows = MlxWindows::none;
  bool phi3 =
      false;  // of rope_scaling only longrope, su and linear under `type`; the original length at the top level
};

constexpr MlxClass kClasses[] = {
    {"deepseek_v3", 1e4, true},
    {"gemma", 1e4, false},
    {"gemma2", 1e4, false},
    {.type = "gemma3_text",
     .theta = 1e6,
     .scaled = true,
     .sliding_theta = 1e4,
     .sliding_unscaled = true,
     .windows = MlxWindows::own},
    {"glm", 1e4, false},
    {.type = "glm4", .theta = 0, .scaled = false, .part = true},
    {.type = "gpt_neox", .theta = 0, .scaled = false, .part = true},
    {.type = "gpt_oss", .theta = 150000, .scaled = true, .windows = MlxWindows::own},
    {"granite", 0, true},
    {"granitemoe", 0, true},
    {.type = "llama", .theta = 1e4, .scaled = true, .windows = MlxWindows::listed},
    {.type = "mistral", .theta = 1e4, .scaled = true, .windows = MlxWindows::listed},
    {"mixtral", 1e6, false},
    {"olmo2", 1e4, true},
    {.type = "olmo3", .theta = 0, .scaled = true, .sliding_unscaled = true, .windows = MlxWindows::own},
    {.type = "phi", .theta = 1e4, .scaled = false, .part = true},
    {.type = "phi3", .theta = 1e4, .scaled = true, .part = true, .phi3 = true},
    {"qwen2", 1e6, true},
    {"qwen2_moe", 1e6, false},
    {.type = "qwen3", .theta = 0, .scaled = true, .parameters = true},
    {"qwen3_moe", 0, false},
    {"seed_oss", 1e4, true},
    {"smollm3", 1e4, true},
    {.type = "stablelm", .theta = 0, .scaled = false, .part = true},
    {"starcoder2", 1e5, false},
};

MlxClass class_of(FileReading& file) {
  const std::string type = file.text("model_type").value_or("");
  const auto found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                  [&](const MlxClass& c) { return c.type == type; });
  if (found == std::end(kClasses)) file.wrong("model_type", "a type whose class in mlx-lm gnomon knows");
  return *found;
}

class Mlx {
 public:
  Mlx(FileReading& file, const Family& family) : file_(file), family_(family), class_(class_of(file)) {}

  RopeReading read() {
    out_.rules.source = "mlx-lm, initialize_rope";
    out_.rules.plain_forgets_part = false;
    out_.rules.truncate = true;
    out_.rules.yarn_factor = YarnFactor::by_ratio;
    out_.rules.longrope_by_ratio = out_.rules.longrope_factor_unread = true;
    out_.rules.long_list = LongList::always;
    if (!class_.parameters && file_.has("rope_parameters"))
      out_.remarks.push_back({file_.at("rope_parameters"), "mlx-lm ignores it for this type"});
    if (!class_.scaled && file_.has("rope_scaling"))
      out_.remarks.push_back({file_.at("rope_scaling"), "mlx-lm ignores it for this type"});
    RopeDict sliding = kind(!class_.sliding_unscaled);
    if (class_.sliding_theta != 0)
      sliding.set("rope_theta", theta("rope_local_base_freq", class_.sliding_theta));
    out_.kinds.emplace_back("sliding_attention", std::move(sliding));
    out_.kinds.emplace_back("", kind(true));
    return std::move(out_);
  }

 private:
  // The object that stands for rope_scaling; empty: none.
  std::string_view object() const {
    if (file_.has("rope_scaling")) return class_.scaled ? "rope_scaling" : "";
    return class_.parameters && file_.has("rope_parameters") ? "rope_parameters" : "";
  }
  RopeValue theta(std::string_view key, double standard) {
    if (const auto x = file_.number(key)) return rope_number(*x, file_.at(key), "mlx-lm: from the top level");
    const std::string nested = "rope_parameters.rope_theta";
    if (const auto x = class_.parameters ? file_.number(nested) : std::nullopt)
      return rope_number(*x, file_.at(nested), "mlx-lm: this class reads it");
    if (standard == 0) file_.wrong(key, "a number: mlx-lm's class of this type needs it at the top level");
    return rope_number(standard, "", "mlx-lm: no key sets it at the top level, so the default of the class");
  }
  RopeDict kind(bool scales) {
    RopeDict dict(file_.config().where());
    if (class_.phi3) check_phi3();
    if (scales && !object().empty()) dict = RopeDict::read(file_, object(), "mlx-lm: from the dictionary");
    dict.set("rope_theta", theta(family_.rope.theta_key, class_.theta));
    type(dict), part(dict);
    if (class_.phi3) phi3(dict);
    return dict;
  }
  void check_phi3() const {
    if (!file_.has("rope_scaling")) return;
    for (const char* needed : {"rope_scaling.long_factor", "rope_scaling.type"})
      if (!file_.has(needed))
        file_.wrong("rope_scaling", "a dictionary with long_factor and type: the class needs both");
  }
  void phi3(RopeDict& dict) {
    const std::string word = *dict.word("rope_type"), key = dict.find("rope_type")->key;
    if (word == "su") dict.set("rope_type", rope_word("longrope", key, "mlx-lm: su is longrope"));
    if (word != "su" && word != "longrope" && word != "linear")
      dict.set("rope_type",
               rope_word("default", key, "mlx-lm: this class scales only by longrope, su and linear"));
    const std::string_view name = "original_max_position_embeddings";
    const auto top = file_.number(name);
    dict.set(name, top ? rope_number(*top, file_.at(name), "mlx-lm: from the top level")
                       : rope_number(4096, "", "mlx-lm: no key sets it at the top level"));
  }
  // `type` before rope_type.
  void type(RopeDict& dict) {
    const RopeValue* said = dict.find("type") ? dict.find("type") : dict.find("rope_type");
    dict.set("rope_type", said ? *said : rope_word("default", "", "mlx-lm: no key sets it"));
    const std::string word = *dict.word("rope_type"), key = dict.find("rope_type")->key;
    if (word == "mrope") dict.set("rope_type", rope_word("default", key, "mlx-lm: coordinates are not read"));
    const bool yarn = word == "yarn" || word == "deepseek_yarn" || word == "telechat3-yarn";
    if (yarn) dict.set("rope_type", rope_word("yarn", key, "mlx-lm: one rule for its names"));
    const auto standard = [&](std::string_view name, double x) {
      dict.set_default(name, rope_number(x, "", "mlx-lm: no key sets it"));
    };
    if (yarn) standard("original_max_position_embeddings", 4096);
    if (word == "llama3")
      standard("original_max_position_embeddings", 8192), standard("low_freq_factor", 1),
          standard("high_freq_factor", 4);
  }
  void part(RopeDict& dict) {
    if (dict.word("rope_type") == "proportional") return;
    const auto top = class_.part ? file_.number(family_.rope.partial_key) : std::nullopt;
    const double standard = class_.part && family_.rope.partial != 0 ? family_.rope.partial : 1;
    dict.set("partial_rotary_factor",
             top ? rope_number(*top, file_.at(family_.rope.partial_key), "mlx-lm: from the top level")
                 : rope_number(standard, "", "mlx-lm: the part that the class rotates"));
  }

  FileReading& file_;
  const Family& family_;
  const MlxClass class_;
  RopeReading out_;
};

}  // namespace

void see_as_mlx(FileReading& file, const Family& family, std::vector<LayerKind>& kinds,
                std::vector<Remark>& remarks) {
  const MlxWindows windows = class_of(file).windows;
  if (windows == MlxWindows::own) return;
  const auto types = windows == MlxWindows::listed ? file.texts("layer_types") : std::nullopt;
  const std::int64_t tokens = types ? file.whole("sliding_window", 1, 1'000'000'000).value_or(0) : 0;
  bool lost = false;
  for (std::size_t l = 0; l < kinds.size(); ++l) {
    const bool had = !kinds[l].full();
    kinds[l].chunk = 0;
    kinds[l].window = types && l < types->size() && (*types)[l] == "sliding_attention" ? tokens : 0;
    lost = lost || (had && kinds[l].full());
    std::erase_if(kinds[l].because, [](const Because& b) { return b.what == "window" || b.what == "chunk"; });
    if (kinds[l].window)
      kinds[l].because.push_back(
          {"window", text(tokens), file.at("sliding_window"), "mlx-lm: by layer_types"});
  }
  if (lost)
    remarks.push_back({file.at(family.windows.key), "mlx-lm's class of this type has no window there"});
}

RopeReading read_rope_mlx(FileReading& file, const Family& family, std::int64_t) {
  return Mlx(file, family).read();
}

}  // namespace gnomon
