#include "gnomon/models/resolve/rope_readers.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

const std::optional<RopeDict>& RopeReading::of(std::string_view label) const {
  for (const auto& [name, dict] : kinds)
    if (name.empty() || name == label) return dict;
  static const std::optional<RopeDict> none;
  return none;
}

namespace {

// What vLLM and SGLang share: transformers 5 reads the file, and get_rope the dictionaries, before the first token.
RopeReading served(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                   std::int64_t longest, std::string source) {
  RopeReading reading = read_rope_v5(file, family, labels, longest);
  reading.rules.source = std::move(source);
  reading.rules.plain_forgets_part = false;
  reading.rules.longrope_by_ratio = true;
  reading.rules.longrope_factor_unread = true;
  return reading;
}
// The name that both give to YaRN by the ratio of mscale and mscale_all_dim.
void deepseek_yarn(RopeReading& reading) {
  for (auto& [label, dict] : reading.kinds) {
    if (!dict || dict->word("rope_type") != "deepseek_yarn") continue;
    dict->set("rope_type", rope_word("yarn", dict->find("rope_type")->key, "deepseek_yarn: by mscale"));
    reading.rules.yarn_factor = YarnFactor::by_ratio;
  }
}
// Rows of the longest table of cos and sin: those of the extended context where the type has a factor.
std::int64_t rows(const RopeReading& reading, std::int64_t longest, bool dynamic_extends) {
  double most = 0;
  for (const auto& [label, dict] : reading.kinds) {
    if (!dict) continue;
    const std::string type = dict->word("rope_type").value_or("default");
    const bool extends = type == "linear" || type == "yarn" || (type == "dynamic" && dynamic_extends);
    const double from = type == "yarn"
                            ? dict->number("original_max_position_embeddings").value_or(double(longest))
                            : double(longest);
    most = std::max(most, from * (extends ? dict->number("factor").value_or(1) : 1));
  }
  return std::int64_t(std::min(most, 1e15));
}

}  // namespace

RopeReading read_rope_vllm(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                           std::int64_t longest, bool old) {
  RopeReading reading = served(file, family, labels, longest, "vLLM, get_rope");
  reading.rules.dynamic = DynamicBase::once;
  reading.rules.long_list = LongList::by_capacity;
  reading.rules.yarn_factor = family.mla.rope ? YarnFactor::by_ratio
                              : old           ? YarnFactor::plain
                                              : YarnFactor::said;
  reading.rules.authors_keys = old ? AuthorsKeys::all : AuthorsKeys::none;
  deepseek_yarn(reading);
  reading.table = rows(reading, longest, false);
  return reading;
}

RopeReading read_rope_sglang(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                             std::int64_t longest) {
  RopeReading reading = served(file, family, labels, longest, "SGLang, get_rope");
  reading.rules.dynamic = DynamicBase::once_extended;
  reading.rules.yarn_factor = family.mla.rope ? YarnFactor::by_ratio : YarnFactor::by_pair;
  reading.rules.authors_keys = AuthorsKeys::factors;
  deepseek_yarn(reading);
  for (auto& [label, dict] : reading.kinds) {
    if (!dict) continue;
    dict->set_default("low_freq_factor", rope_number(1, "", "SGLang, get_rope: no key sets it"));
    dict->set_default("high_freq_factor", rope_number(4, "", "SGLang, get_rope: no key sets it"));
    const RopeValue* part = dict->find("partial_rotary_factor");
    if (!part || family.rope.partial != 0 || family.rope.plain_partial) continue;
    reading.remarks.push_back(
        {part->key, "SGLang's class of this family does not read it from the dictionary"});
    dict->set("partial_rotary_factor", rope_number(1, "", "SGLang: the class rotates the whole head"));
  }
  reading.table = rows(reading, longest, true);
  return reading;
}

RopeReading read_rope_naive(FileReading& file) {
  RopeReading reading;
  reading.rules.source = "a reader of 2023";
  RopeDict dict(file.config().where());
  const auto theta = file.number("rope_theta");
  dict.set("rope_theta",
           theta ? rope_number(*theta, file.at("rope_theta"), "getattr(config, \"rope_theta\", 10000)")
                 : rope_number(10000, "", "getattr(config, \"rope_theta\", 10000): absent"));
  dict.set("rope_type", rope_word("default", "", "no rope_scaling that a reader of 2023 knows"));
  const std::string type = file.text("rope_scaling.type").value_or("");
  if (type == "linear" || type == "dynamic") {
    dict.set("rope_type", rope_word(type, file.at("rope_scaling.type"), "as in 2023"));
    if (const auto factor = file.number("rope_scaling.factor"))
      dict.set("factor", rope_number(*factor, file.at("rope_scaling.factor"), "as in 2023"));
  } else if (file.has("rope_scaling")) {
    reading.remarks.push_back({file.at("rope_scaling"), "ignored: a reader of 2023 does not know its type"});
  }
  if (file.has("rope_parameters"))
    reading.remarks.push_back({file.at("rope_parameters"), "ignored: it came with transformers 5"});
  reading.kinds.emplace_back("", std::move(dict));
  return reading;
}

RopeReading read_rope(Reader reader, FileReading& file, const Family& family,
                      const std::vector<std::string>& labels, std::int64_t longest) {
  switch (reader) {
    case Reader::v5:
      return read_rope_v5(file, family, labels, longest);
    case Reader::v4:
      return read_rope_v4(file, family, longest);
    case Reader::vllm:
      return read_rope_vllm(file, family, labels, longest, false);
    case Reader::vllm_24:
      return read_rope_vllm(file, family, labels, longest, true);
    case Reader::sglang:
      return read_rope_sglang(file, family, labels, longest);
    case Reader::mlx:
      return read_rope_mlx(file, family, longest);
    case Reader::tgi:
      return read_rope_tgi(file, family, longest);
    case Reader::naive:
      return read_rope_naive(file);
    case Reader::llama_cpp:
      return read_rope_gguf(file, longest);
  }
  throw Error(Fault::bug, "a reader without rules");
}

}  // namespace gnomon
