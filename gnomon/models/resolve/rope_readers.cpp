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

RopeReading read_rope_vllm(FileReading& file, const Family& family, const std::vector<std::string>& labels,
                           std::int64_t longest, bool old) {
  RopeReading reading = read_rope_v5(file, family, labels, longest);
  reading.rules.source = "vLLM, get_rope";
  reading.rules.plain_forgets_part = false;
  reading.rules.longrope_by_ratio = true;
  reading.rules.static_dynamic = true;
  reading.rules.yarn_factor = family.mla.rope ? YarnFactor::by_ratio
                              : old           ? YarnFactor::plain
                                              : YarnFactor::said;
  reading.rules.authors_keys = old;
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
    case Reader::naive:
      return read_rope_naive(file);
    case Reader::llama_cpp:
      return read_rope_gguf(file, longest);
  }
  throw Error(Fault::bug, "a reader without rules");
}

}  // namespace gnomon
