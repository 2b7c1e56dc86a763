// Files as wholes: refused, unknown, or understood differently by two readers.
#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/readers.txt.inc"
    ;

Findings refusal(const LintContext& file, Reader reader, std::string_view expected, std::string says) {
  const std::string& key = file.refused_key(reader);
  return {{key, key.empty() ? "" : file.config().printed(key), std::string(expected), std::move(says)}};
}
// A file of an architecture that llama.cpp has and gnomon leaves out: nothing need be wrong with it.
bool left_out(const LintContext& file) {
  return file.config().gguf() && !file.read_by(Reader::llama_cpp) &&
         file.refused_key(Reader::llama_cpp) == "general.architecture" && find_gguf_architecture(file.type());
}
Reader reader_of(const LintContext& file) { return file.config().gguf() ? Reader::llama_cpp : Reader::v5; }
Findings refused(const LintContext& file) {
  const Reader reader = reader_of(file);
  if (file.gguf() != file.config().gguf() || file.read_by(reader) || left_out(file)) return {};
  return refusal(file, reader, kText.at("file-refused", "expected"), file.refusal(reader));
}
Findings not_read(const LintContext& file) {
  if (left_out(file))
    return refusal(file, Reader::llama_cpp, kText.at("file-not-read", "expected.gguf"),
                   file.refusal(Reader::llama_cpp));
  const Reader reader = reader_of(file);
  if (file.gguf() != file.config().gguf() || file.known() || file.read_by(reader)) return {};
  return refusal(
      file, reader, kText.at("file-not-read", "expected"),
      said<"type", "refusal">(kText.at("file-not-read", "says"), file.type(), file.refusal(reader)));
}

Findings unknown_family(const LintContext& file) {
  const Resolved* read = file.gguf() ? nullptr : file.read_by(Reader::v5);
  if (!read || read->known) return {};
  std::string keys;
  for (const Remark& remark : read->remarks)
    if (remark.rule == "family-unknown" && remark.key != "model_type")
      keys += (keys.empty() ? "" : ", ") + remark.key;
  return {finding(file, file.at("model_type"), kText.at("family-unknown", "expected"),
                  keys.empty()
                      ? said<"type">(kText.at("family-unknown", "says"), file.type())
                      : said<"type", "keys">(kText.at("family-unknown", "says.keys"), file.type(), keys))};
}

Findings differ(const LintContext& file) {
  if (file.gguf()) return {};
  const Resolved *now = file.read_by(Reader::v5), *before = file.read_by(Reader::v4);
  if (!now || !before || now->layers.size() != before->layers.size()) return {};
  std::size_t layers = 0, first = 0;
  for (std::size_t l = 0; l < now->layers.size(); ++l) {
    LayerPosition masked = before->layers[l];  // mask-by-version tells of the mask
    masked.causal = now->layers[l].causal;
    if (now->layers[l].same(masked)) continue;
    if (!layers++) first = l;
  }
  if (!layers) return {};
  return {finding(file, file.at(file.has("rope_parameters") ? "rope_parameters" : "rope_scaling"),
                  kText.at("versions-differ", "expected"),
                  said<"layers", "first", "now", "before">(
                      kText.at("versions-differ", "says"), counted(layers, "layer"), text(first),
                      now->layers[first].spec.print(), before->layers[first].spec.print()))};
}

Findings own_code(const LintContext& file) {
  return remarked(file, "family-has-its-own-code", kText.at("family-has-its-own-code", "expected"));
}
Findings beside_class(const LintContext& file) {
  return remarked(file, "own-code-beside-class", kText.at("own-code-beside-class", "expected"));
}
Findings unread(const LintContext& file) {
  return remarked(file, "position-key-unread", kText.at("position-key-unread", "expected"));
}

// By version 4 alone: what both refuse, file-refused says.
Findings refused_by_v4(const LintContext& file) {
  const Resolved* now = file.read_by(Reader::v5);
  if (file.gguf() || !now || now->tower_alone || file.read_by(Reader::v4)) return {};
  return {finding(file, file.refused_key(Reader::v4), kText.at("refused-by-version-4", "expected"),
                  said<"refusal">(kText.at("refused-by-version-4", "says"), file.refusal(Reader::v4)))};
}

constexpr LintRow kRows[] = {
    {"file-refused", Severity::error, refused, {.general = true}},
    {"file-not-read", Severity::note, not_read},
    {"family-unknown", Severity::note, unknown_family},
    {"family-has-its-own-code", Severity::note, own_code, {.departs = true}},
    {"own-code-beside-class", Severity::note, beside_class, {.general = true}},
    {"position-key-unread", Severity::note, unread, {.general = true}},
    {"refused-by-version-4", Severity::note, refused_by_v4},
    {"versions-differ", Severity::note, differ},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> readers_rules() { return kRules; }

}  // namespace gnomon
