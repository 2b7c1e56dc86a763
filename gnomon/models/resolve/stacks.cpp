#include "gnomon/models/resolve/stacks.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

// The row of an encoder and a decoder, as that of the encoder alone.
Family encoder_row(const Family& family) {
  Family row = family;
  row.causal = false, row.causal_key = {};
  return row;
}

Family decoder_row(FileReading& file, const Family& family) {
  const DecoderStack& own = family.decoder;
  Family row = family;
  row.causal = true, row.causal_key = {};
  const auto take = [&](std::string_view key, std::int64_t standard, std::string_view& to,
                        std::int64_t& size) {
    if (standard) size = standard;
    if (standard || (!key.empty() && file.has(key))) to = key;
  };
  take(own.layers_key, own.layers, row.keys.layers, row.sizes.layers);
  take(own.heads_key, own.heads, row.keys.heads, row.sizes.heads);
  take(own.longest_key, own.longest, row.keys.longest, row.sizes.longest);
  row.keys.apart = true;  // the common names are the encoder's
  if (own.unwindowed) row.windows = {}, row.buckets.note = {};
  return row;
}

Stack in_object(FileReading& file, const Family& family, std::string_view component) {
  const DecoderStack& own = family.decoder;
  const bool decodes = component == "decoder";
  const std::string part = file.at(decodes ? own.part : own.encoder_part), key = text(part, ".model_type");
  std::string type(decodes ? own.type : own.encoder_type);
  if (file.config().kind(key) == Config::Kind::text) type = *file.config().text(key);
  const Family* known = find_family(type);
  if (!known || known->decoder.in_objects())
    throw WrongValue(key, text(file.config().where(), ": gnomon does not know the family '", type,
                               "' of the ", component));
  Family row = *known;
  FileReading object(file.config(), part);
  if (known->decoder.present()) row = decodes ? decoder_row(object, *known) : encoder_row(*known);
  if (!decodes && row.causal && type == "t5_gemma_module")
    row = unmasked_row(file, row);  // which has one class for both
  if (decodes && !file.config().has(part)) row.causal = true;
  return {component, row, part};
}

// Two reasons that tell of the same key, or of none, the same value.
bool same(const Because& a, const Because& b) {
  return a.what == b.what && a.value == b.value && a.key == b.key;
}

// Whether words of both meet rows of one kind, of which there may be more in one of them.
bool alike(const Resolved& a, const Resolved& b) {
  const auto name = [](const Resolved& of) { return of.input.input ? of.input.input->name : std::string(); };
  return name(a) == name(b) && a.table_first == b.table_first && a.input.combination == b.input.combination;
}

}  // namespace

std::vector<Stack> stacks_of(FileReading& file, const Family& family) {
  const DecoderStack& own = family.decoder;
  std::vector<Stack> all;
  if (own.in_objects()) {
    if (!own.encoder_part.empty()) all.push_back(in_object(file, family, "encoder"));
    all.push_back(in_object(file, family, "decoder"));
    return all;
  }
  if (!file.flag("is_decoder").value_or(false)) all.push_back({"encoder", encoder_row(family), {}});
  all.push_back({"decoder", decoder_row(file, family), {}});
  return all;
}

void join(const FileReading& file, Resolved& answer, const Resolved& stack, std::string_view component) {
  const bool second = !answer.layers.empty();
  if (second && !alike(answer, stack))
    throw Error(Fault::input, text(file.config().where(),
                                   ": the encoder and the decoder add different tables "
                                   "to their words, and gnomon shows one"));
  answer.causal = !second && stack.causal;
  answer.encoder_longest = second && answer.longest != stack.longest ? answer.longest : 0;
  answer.width = stack.width, answer.longest = stack.longest, answer.trained_length = stack.trained_length;
  answer.table_rows = stack.table_rows, answer.table_first = stack.table_first, answer.input = stack.input;
  for (const Because& b : stack.because) {
    const bool said = std::any_of(answer.because.begin(), answer.because.end(),
                                  [&](const Because& other) { return same(b, other); });
    if (said) continue;
    answer.because.push_back(b);
    if (second) answer.because.back().rule = text("of the decoder: ", b.rule);
  }
  for (const Remark& remark : stack.remarks) {
    const bool said = std::any_of(answer.remarks.begin(), answer.remarks.end(), [&](const Remark& other) {
      return remark.key == other.key && remark.says == other.says;
    });
    if (!said) answer.remarks.push_back(remark);
  }
  for (LayerPosition layer : stack.layers) {
    layer.component = component;
    answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
