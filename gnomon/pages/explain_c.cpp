// gnomon_explain() of gnomon.h: here, because the library lab alone knows models' files.
#include <algorithm>

#include "gnomon/c/call.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/explain.h"

using namespace gnomon;

namespace {

Reader reader_of(const char* name, const Config& config) {
  if (!name) return config.gguf() ? Reader::llama_cpp : Reader::v5;
  const auto names = reader_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(Fault::usage, unknown("reader", name, names));
  return Reader(found - names.begin());
}

}  // namespace

gnomon_status gnomon_explain(const char* path, const char* reader, char** json) {
  return c::call([&] {
    c::need("json", json);
    const Config config = Config::open(&c::need("path", path));
    *json = c::given_text(pages::explain_json(explain(config, reader_of(reader, config)), -1));
  });
}
