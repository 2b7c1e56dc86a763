#include "gnomon/models/inspect/text.h"

#include <algorithm>
#include <sstream>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/weights.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

Path tokenizer_file(const Path& model) { return model / "tokenizer.json"; }

// Tokens of text in an encoder's window of T.
std::int64_t body_of(const ModelText& t, std::int64_t T) {
  const auto frame = std::int64_t(t.before.size() + t.after.size());
  if (T - frame >= 1) return T - frame;
  throw Error(Fault::usage, text("a window of ", T, " tokens has no room for text: the model adds ",
                                 counted(std::size_t(frame), "token"), " around it"));
}
void append_framed(const ModelText& t, std::int64_t first, std::int64_t count,
                   std::vector<std::int32_t>& to) {
  to.insert(to.end(), t.before.begin(), t.before.end());
  to.insert(to.end(), t.ids.begin() + first, t.ids.begin() + first + count);
  to.insert(to.end(), t.after.begin(), t.after.end());
}
[[noreturn]] void too_short(const ModelText& t, std::int64_t needed) {
  throw Error(Fault::usage, text("the text has ", t.ids.size(), " tokens; one window needs ", needed));
}

}  // namespace

ModelText read_text(const Path& model, const Path& file) {
  const Tokenizer tokenizer = model.extension() == ".gguf" ? Tokenizer::from(*Weights::open(model).gguf())
                                                           : Tokenizer::read(tokenizer_file(model));
  ModelText t{tokenizer.encode(read_file(file), Tokenizer::Ends::bare), {}, {}, tokenizer};
  const auto ends = tokenizer.encode("a"), bare = tokenizer.encode("a", Tokenizer::Ends::bare);
  const auto at = std::search(ends.begin(), ends.end(), bare.begin(), bare.end());
  if (at != ends.end())
    t.before.assign(ends.begin(), at), t.after.assign(at + std::ptrdiff_t(bare.size()), ends.end());
  return t;
}

ModelText read_ids(const Path& model, const Path& file) {
  ModelText t;
  std::istringstream in(read_file(file));
  std::int64_t id = 0;
  while (in >> id) {
    if (id < 0 || id > INT32_MAX)
      throw Error(Fault::input, text(file.string(), ": ", id, " is not a token id"));
    t.ids.push_back(std::int32_t(id));
  }
  if (!in.eof())
    throw Error(
        Fault::input,
        text(file.string(), ": found other characters; allowed are whole numbers with spaces between them"));
  try {
    t.tokenizer = Tokenizer::read(tokenizer_file(model));
  } catch (const Error&) {  // another tokeniser made them, or none is there
  }
  return t;
}

Sample windows_of_text(const ModelText& t, bool causal, std::int64_t T, std::int64_t most) {
  const std::int64_t body = causal ? T : body_of(t, T);
  const std::int64_t enough = (std::int64_t(t.ids.size()) - (causal ? 1 : 0)) / body;
  Sample s{T, {}, {}};
  for (std::int64_t w = 0; w < std::min(most, enough); ++w) {
    const auto begin = t.ids.begin() + w * body;
    if (causal) {
      s.inputs.insert(s.inputs.end(), begin, begin + T),
          s.targets.insert(s.targets.end(), begin + 1, begin + T + 1);
      continue;
    }
    append_framed(t, w * body, body, s.inputs);
    s.targets.resize(s.targets.size() + t.before.size(), kUnscored);
    for (auto id = begin; id < begin + body; ++id) s.targets.push_back(t.is_word(*id) ? *id : kUnscored);
    s.targets.resize(s.inputs.size(), kUnscored);
  }
  if (s.inputs.empty()) too_short(t, body + (causal ? 1 : 0));
  return s;
}

PairedWindows paired_windows_of_text(const ModelText& t, std::int32_t start, std::int64_t T,
                                     std::int64_t most) {
  const std::int64_t body = body_of(t, T), step = body + T,
                     count = std::min(most, std::int64_t(t.ids.size()) / step);
  if (count < 1) too_short(t, step);
  PairedWindows all{{}, {T, {}, {}}};
  for (std::int64_t w = 0; w < count; ++w) {
    append_framed(t, w * step, body, all.encoder);
    const auto begin = t.ids.begin() + w * step + body;
    all.decoder.inputs.push_back(start);
    all.decoder.inputs.insert(all.decoder.inputs.end(), begin, begin + T - 1);
    all.decoder.targets.insert(all.decoder.targets.end(), begin, begin + T);
  }
  return all;
}

}  // namespace gnomon
