#include <algorithm>
#include <bit>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

void fill_layers(const Resolving& task, const SpecPart& part) {
  const bool alike = task.family.windows.which == WindowRule::Which::none;
  const auto kinds = alike ? std::vector<LayerKind>(std::size_t(task.sizes.layers))
                           : read_layers(task.file, task.family, task.sizes);
  for (std::int64_t l = 0; l < task.sizes.layers; ++l) {
    LayerPosition layer = make_layer(task, kinds[std::size_t(l)], {part});
    layer.scale = attention_scale(task, l, layer);
    layer.number = l;
    task.answer.layers.push_back(std::move(layer));
  }
}
Because own_code(std::string_view what, std::string_view value, std::string_view rule) {
  return {std::string(what), std::string(value), "", std::string(rule)};
}
SpecPart alibi() {
  return {{"alibi", {{"slopes", "authors"}}},
          {own_code("encoding", "alibi", "this family always has it"),
           own_code("slopes", "authors", "the authors' rule for head counts that are not a power of two")},
          {}};
}

// bfloat16 has the upper half of a float's bits.
bool rounded_by_bfloat16(const std::vector<double>& slopes) {
  return std::any_of(slopes.begin(), slopes.end(), [](double slope) {
    return (std::bit_cast<std::uint32_t>(float(slope)) & 0xffffU) != 0;
  });
}

SpecPart t5_part(const Resolving& task) {
  FileReading& file = task.file;
  const BucketTable& own = task.family.buckets;
  const auto buckets = file.whole(own.count_key, 2, 1 << 20);
  const auto distance = file.whole(own.distance_key, 2, 1 << 24);
  SpecPart part{{"t5",
                 {{"buckets", buckets.value_or(own.count)},
                  {"distance", distance.value_or(own.distance)},
                  {"scale", own.scaled ? "on" : "off"}}},
                {},
                {}};
  const auto say = [&](std::string_view what, std::int64_t x, bool said, std::string_view key) {
    part.because.push_back({std::string(what), text(x), said ? file.at(key) : "",
                            said ? "from the file" : "no key sets it: default of the class"});
  };
  say("buckets", buckets.value_or(own.count), buckets.has_value(), own.count_key);
  say("distance", distance.value_or(own.distance), distance.has_value(), own.distance_key);
  if (!own.note.empty()) part.because.push_back(own_code("encoding", "t5", own.note));
  if (!own.scaled)
    part.because.push_back(own_code("scale", "1", "this family does not scale q·k (scale=off in the spec)"));
  if (file.text("model_type") == "umt5") {
    part.encoding.options.emplace_back("layers", "own");
    part.because.push_back(own_code("layers", "own", "every layer of umT5 has a table of its own"));
  }
  return part;
}

}  // namespace

void resolve_alibi(const Resolving& task) {
  SpecPart part = alibi();
  if (task.family.name == "mpt") {
    part.because.push_back(own_code("bias_max", "8", "always (transformers 5.23, build_mpt_alibi_tensor)"));
    if (const auto most = task.file.number("attn_config.alibi_bias_max"); most && *most != 8)
      task.answer.remarks.push_back({task.file.at("attn_config.alibi_bias_max"),
                                     "transformers ignores it and uses 8; MosaicML's own code reads it",
                                     "alibi-most-unread"});
    if (const auto on = task.file.flag("attn_config.alibi"); on && !*on)
      task.answer.remarks.push_back(
          {task.file.at("attn_config.alibi"),
           "transformers ignores it and always uses ALiBi; MosaicML's own code reads it",
           "alibi-off-unread"});
  }
  fill_layers(task, part);
}

void resolve_baichuan(const Resolving& task) {
  constexpr std::int64_t kLayersOf13B = 40;
  if (task.sizes.layers != kLayersOf13B) return resolve_rotary(task);
  SpecPart part = alibi();
  part.because.front() = {"encoding", "alibi", task.file.at(task.family.keys.layers),
                          "the 13B model, with 40 layers, has ALiBi; the others have RoPE"};
  fill_layers(task, part);
}

void resolve_falcon(const Resolving& task) {
  FileReading& file = task.file;
  Sizes sizes = task.sizes;
  const bool new_design = file.flag("new_decoder_architecture").value_or(false);
  if (!new_design && file.flag("multi_query").value_or(true)) {
    sizes.kv_heads = 1;
    task.answer.because.push_back(
        {"kv_heads", "1", file.at("multi_query"), "one KV head for all query heads"});
  }
  const Resolving own{file, task.family, sizes, task.answer};
  if (!file.flag("alibi").value_or(false)) return resolve_rotary(own);
  SpecPart part = alibi();
  part.encoding.options.emplace_back("scaled", "on");
  part.because.front() = {"encoding", "alibi", file.at("alibi"), "ALiBi in place of RoPE"};
  part.because.push_back(own_code(
      "scaled", "on",
      "this family divides the sum of q·k and bias by sqrt(head_dim). Eager attention of transformers "
      "5.23 adds the bias twice, sdpa once"));
  fill_layers(own, part);
  std::vector<double> slopes = numbers_of(task.answer.layers.front(), 1).slopes;
  for (double& slope : slopes)
    slope *= std::sqrt(double(task.sizes.head_dim));  // as they are before the scale
  if (rounded_by_bfloat16(slopes))
    task.answer.remarks.push_back(
        {file.at("alibi"),
         "transformers rounds the slopes to bfloat16 (build_alibi_tensor); the slopes here are exact",
         "alibi-slopes-rounded"});
}

void resolve_t5(const Resolving& task) {
  task.answer.because.push_back(
      own_code("input", "none", "word embeddings only: this family has no absolute positions"));
  fill_layers(task, t5_part(task));
}

// transformers 5.23, modeling_xlnet.py: sines of the distance with the matrix and the two vectors of Transformer-XL, each layer its own.
void resolve_xlnet(const Resolving& task) {
  FileReading& file = task.file;
  const bool two_sided = file.text("attn_type").value_or("bi") == "bi";
  const auto clamp = file.whole("clamp_len");
  const bool clamped = clamp && *clamp > 0;
  SpecPart part{{"transformer_xl", {{"clamp", clamped ? *clamp : 0}}},
                {own_code("encoding", "transformer_xl", "this family always has it")},
                {}};
  if (clamped)
    part.because.push_back(
        {"clamp", text(*clamp), file.at("clamp_len"), "the farthest distance that counts"});
  task.answer.causal = !two_sided;
  task.answer.because.push_back(
      {"causal", two_sided ? "off" : "on", file.at("attn_type"),
       two_sided ? "bi: every token is seen, unless a permutation hides it" : "uni"});
  task.answer.because.push_back(own_code("input", "none", "word embeddings only: no absolute positions"));
  fill_layers(task, part);
}

void resolve_table_t5(const Resolving& task) {
  resolve_table(task);
  if (!task.file.flag(task.family.buckets.use_key).value_or(true)) return;
  task.answer.layers.clear();
  fill_layers(task, t5_part(task));
}

void resolve_mpnet(const Resolving& task) {
  resolve_table(task);
  task.answer.layers.clear();
  SpecPart part{{"t5", {{"buckets", 32}, {"distance", 128}}},
                {own_code("buckets", "32", "fixed in compute_position_bias, whatever the file says"),
                 own_code("distance", "128", "fixed by the class")},
                {}};
  if (const auto buckets = task.file.whole("relative_attention_num_buckets"); buckets && *buckets != 32)
    task.answer.remarks.push_back({task.file.at("relative_attention_num_buckets"),
                                   "it only sizes the table: transformers always uses 32 buckets",
                                   "bucket-count-unread"});
  fill_layers(task, part);
}

}  // namespace gnomon
