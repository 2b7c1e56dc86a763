#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/families/methods.h"

namespace gnomon {
namespace {

// Rows before that of the first token: RoBERTa counts on from pad_token_id, OPT and BART from 2.
std::int64_t rows_before(const Task& task) {
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
        {"offset", text(task.family.table_offset), "", "the first token has this row: the class's own"});
  return task.family.table_offset;
}

}  // namespace

void resolve_table(const Task& task) {
  Resolved& answer = task.answer;
  const std::int64_t before = rows_before(task);
  // OPT's table has the rows before the first token beside its max_position_embeddings; RoBERTa's has them within.
  const std::int64_t usable = task.family.table_padded ? task.sizes.longest - before : task.sizes.longest;
  if (usable < 1) task.file.wrong(task.family.keys.longest, text("more than ", before, " rows"));
  answer.table_first = before;
  answer.trained_length = usable, answer.longest = usable;
  answer.input = Spec::parse(text("add(learned(length=", usable, "), scale=off)"));
  answer.because.push_back(
      {"length", text(usable),
       task.file.has(task.family.keys.longest) ? task.file.at(task.family.keys.longest) : "",
       before && task.family.table_padded ? "its rows, less those before the first token"
                                          : "a row for each token"});
  const auto kinds = read_layers(task.file, task.family, task.sizes);
  for (std::size_t l = 0; l < kinds.size(); ++l) {
    LayerPosition layer = make_layer(task, kinds[l], {});
    layer.scale = attention_scale(task, std::int64_t(l), layer);
    answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
