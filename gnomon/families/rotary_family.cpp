#include <algorithm>
#include <map>

#include "gnomon/core/text.h"
#include "gnomon/families/methods.h"
#include "gnomon/families/rope_readers.h"

namespace gnomon {
namespace {

std::vector<std::string> labels_of(const std::vector<LayerKind>& kinds, const Family& family) {
  std::vector<std::string> labels;
  for (const LayerKind& kind : kinds)
    if (family.windows.typed && std::find(labels.begin(), labels.end(), kind.type) == labels.end())
      labels.push_back(kind.type);
  return labels;
}

void add_new(std::vector<Remark>& to, const std::vector<Remark>& remarks) {
  for (const Remark& remark : remarks) {
    const bool there = std::any_of(
        to.begin(), to.end(), [&](const Remark& r) { return r.key == remark.key && r.says == remark.says; });
    if (!there) to.push_back(remark);
  }
}

// The length before any extension: what the dictionary of a layer that sees everything calls original.
std::int64_t trained_length(const Part& part, std::int64_t longest) {
  for (const Because& b : part.because)
    if (b.what == "original") return std::stoll(b.value);
  return longest;
}

}  // namespace

void resolve_rotary(const Task& task) {
  const auto kinds = read_layers(task.file, task.family, task.sizes);
  const RopeReading reading =
      read_rope_v5(task.file, task.family, labels_of(kinds, task.family), task.sizes.longest);
  add_new(task.answer.remarks, reading.remarks);
  const RopeHead head{task.sizes.head_dim, task.sizes.head_dim, false, task.sizes.longest};
  std::map<std::string, Part> made;  // by layer type
  for (std::size_t l = 0; l < kinds.size(); ++l) {
    std::vector<Part> parts;
    const auto& dict = reading.of(kinds[l].type);
    if (kinds[l].position && dict) {
      auto part = made.find(kinds[l].type);
      if (part == made.end()) {
        part = made.emplace(kinds[l].type, rope_part(*dict, head, task.family.rope, reading.rules)).first;
        add_new(task.answer.remarks, part->second.remarks);
        if (kinds[l].window == 0)
          task.answer.trained_length = trained_length(part->second, task.sizes.longest);
      }
      parts.push_back(part->second);
    }
    LayerPosition layer = make_layer(task, kinds[l], parts);
    layer.scale = attention_scale(task, std::int64_t(l), layer.because);
    task.answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
