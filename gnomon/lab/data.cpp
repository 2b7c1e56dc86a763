#include "gnomon/lab/data.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/config.h"
#include "gnomon/lab/corpus.h"
#include "gnomon/lab/line_data.h"
#include "gnomon/lab/symbol_text.h"
#include "gnomon/lab/task_data.h"
#include "gnomon/lab/token_text.h"

namespace gnomon {

double Data::bytes(std::int32_t) const { return 1; }

std::vector<std::int32_t> symbols_of(std::string_view bytes) {
  std::vector<std::int32_t> all;
  for (const char c : bytes) all.push_back(std::int32_t(static_cast<unsigned char>(c)));
  return all;
}

std::string bytes_of(std::span<const std::int32_t> symbols) {
  std::string all;
  for (const std::int32_t symbol : symbols) all += char(symbol);
  return all;
}

Examples Data::examples(std::int64_t, const Windows&) const {
  throw Error(Fault::bug, "data: a text has no examples");
}

std::unique_ptr<Data> open_data(const StudyConfig& c) {
  const std::int64_t longest = c.longest() + 1;
  if (c.data == "bytes") return std::make_unique<Corpus>(c.text_path, longest);
  if (c.data == "symbols")
    return std::make_unique<SymbolText>(Corpus(c.text_path, longest), c.model.vocabulary, longest);
  if (c.data == "ids16" || c.data == "ids32") return std::make_unique<TokenText>(c, longest);
  if (c.data == "lines") return std::make_unique<LineData>(Lines(c.text_path, c.model.length));
  return std::make_unique<TaskData>(find_task(c.data), c.model.is_causal());
}

}  // namespace gnomon
