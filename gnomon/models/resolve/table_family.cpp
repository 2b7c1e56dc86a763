#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"

namespace gnomon {
namespace {

// Rows before that of the first token: RoBERTa counts on from pad_token_id, OPT and BART from 2.
std::int64_t rows_before(const Resolving& task) {
  auto& because = task.answer.because;
  if (task.family.table_padded) {
    const bool said = !task.family.pad_fixed && task.file.has("pad_token_id");
    const std::int64_t pad = said ? *task.file.whole("pad_token_id", 0, 1 << 24) : task.family.pad;
    because.push_back({"offset", text(pad + 1), said ? task.file.at("pad_token_id") : "",
                       "the first token has row pad_token_id + 1 (create_position_ids_from_input_ids)"});
    return pad + 1;
  }
  if (task.family.table_offset)
    because.push_back(
        {"offset", text(task.family.table_offset), "", "row of the first token, fixed by the class"});
  return task.family.table_offset;
}

// BERT's distance tables, which take the place of the rows beside the words. transformers 5 has none of it.
std::vector<SpecPart> by_distance(const Resolving& task) {
  const std::string type = task.file.text("position_embedding_type").value_or("absolute");
  if (type != "relative_key" && type != "relative_key_query") return {};
  const std::string key = task.file.at("position_embedding_type");
  if (task.answer.reader != Reader::v4) {
    task.answer.remarks.push_back(
        {key,
         "ignored: transformers 5 has no distance tables for this family and drops those in the checkpoint",
         "relative-table-dropped"});
    return {};
  }
  task.answer.input = words_alone();
  return {{{type, {{"length", task.sizes.longest}}},
           {{"encoding", type, key, "in place of absolute position embeddings"}},
           {}}};
}

}  // namespace

void resolve_table(const Resolving& task) {
  Resolved& answer = task.answer;
  const std::int64_t before = rows_before(task);
  // OPT's table has the rows before the first token beside its max_position_embeddings; RoBERTa's has them within.
  const std::int64_t usable = task.family.table_padded ? task.sizes.longest - before : task.sizes.longest;
  if (usable < 1) task.file.wrong(task.family.keys.longest, text("more than ", before, " rows"));
  answer.table_first = before;
  answer.trained_length = usable, answer.longest = usable;
  answer.input = learned_table(usable);
  answer.because.push_back(
      {"length", text(usable),
       task.file.has(task.family.keys.longest) ? task.file.at(task.family.keys.longest) : "",
       before && task.family.table_padded ? "its rows minus those before the first token"
                                          : "one row for each position"});
  const std::vector<SpecPart> parts = by_distance(task);
  for (std::int64_t l = 0; l < task.sizes.layers; ++l) {
    LayerPosition layer = make_layer(task, {}, parts);
    layer.scale = attention_scale(task, l, layer);
    layer.number = l;
    answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
