#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"

namespace gnomon {
namespace {

// Rows that the class computes, in place of learned ones.
bool computes_sines(const Resolving& task) {
  const PlaceTable& table = task.family.table;
  if (table.sines.empty()) return false;
  return table.learned_key.empty() || !task.file.flag(table.learned_key).value_or(true);
}
// Rows before that of the first token: RoBERTa counts on from pad_token_id, OPT and BART from 2, TrOCR by its kind of rows.
std::int64_t rows_before(const Resolving& task) {
  const PlaceTable& table = task.family.table;
  auto& because = task.answer.because;
  if (table.padded || (computes_sines(task) && !table.learned_key.empty())) {
    const bool said = !table.pad_fixed && task.file.has("pad_token_id");
    const std::int64_t pad = said ? *task.file.whole("pad_token_id", 0, 1 << 24) : table.pad;
    because.push_back({"offset", text(pad + 1), said ? task.file.at("pad_token_id") : "",
                       "the first token has row pad_token_id + 1 (create_position_ids_from_input_ids)"});
    return pad + 1;
  }
  if (table.offset)
    because.push_back({"offset", text(table.offset), "", "row of the first token, fixed by the class"});
  return table.offset;
}

Spec beside_words(const Resolving& task, std::int64_t rows) {
  const PlaceTable& table = task.family.table;
  const bool sines = computes_sines(task);
  Spec spec = sines ? Spec::parse(text("sinusoidal(", table.sines, ")")) : learned_table(rows);
  const auto said = table.scaled_key.empty() ? std::nullopt : task.file.flag(table.scaled_key);
  const bool scaled = said.value_or(table.scaled);
  spec.combination = completed({"add", {{"scale", scaled ? "on" : "off"}}});
  if (scaled)
    task.answer.because.push_back({"words", "sqrt(width)", said ? task.file.at(table.scaled_key) : "",
                                   said ? "word vectors are multiplied by it"
                                        : "no key sets it: the class multiplies word vectors by it"});
  return spec;
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

// The word under which a class says that its layers turn in place of the table.
bool turns_instead(const Resolving& task) {
  const PlaceTable& table = task.family.table;
  if (table.turned_key.empty() || task.file.text(table.turned_key).value_or("") != table.turned_word)
    return false;
  task.answer.because.push_back(
      {"input", "none", task.file.at(table.turned_key), "RoPE in place of a table"});
  return true;
}

}  // namespace

void resolve_table(const Resolving& task) {
  if (turns_instead(task)) return resolve_rotary(task);
  Resolved& answer = task.answer;
  const std::int64_t before = rows_before(task);
  // OPT's table has the rows before the first token beside its max_position_embeddings; RoBERTa's has them within.
  const bool within = task.family.table.padded && !computes_sines(task);
  const std::int64_t usable = within ? task.sizes.longest - before : task.sizes.longest;
  if (usable < 1) task.file.wrong(task.family.keys.longest, text("more than ", before, " rows"));
  answer.table_first = before;
  answer.trained_length = usable, answer.longest = usable;
  answer.input = beside_words(task, usable);
  answer.because.push_back(
      {"length", text(usable),
       task.file.has(task.family.keys.longest) ? task.file.at(task.family.keys.longest) : "",
       before && within ? "its rows minus those before the first token" : "one row for each position"});
  if (!task.family.table.note.empty())
    answer.because.push_back({"input", answer.input.input->name, "", std::string(task.family.table.note)});
  const std::vector<SpecPart> parts = by_distance(task);
  const std::vector<LayerKind> kinds = task.family.windows.which == WindowRule::Which::none
                                           ? std::vector<LayerKind>(std::size_t(task.sizes.layers))
                                           : read_layers(task.file, task.family, task.sizes);
  for (std::int64_t l = 0; l < task.sizes.layers; ++l) {
    const LayerKind& kind = kinds[std::size_t(l)];
    const bool mixes = !task.family.mixer.empty() || !attends(kind.type);
    LayerPosition layer = make_layer(task, kind, mixes ? std::vector<SpecPart>() : parts);
    if (mixes) {
      layer.mixer = task.family.mixer.empty() ? kind.type : std::string(task.family.mixer);
    } else {
      layer.scale = attention_scale(task, l, layer);
    }
    layer.number = l;
    answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
