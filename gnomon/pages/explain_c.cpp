// gnomon_explain() of gnomon.h: here, because the library lab alone knows models' files.
#include "gnomon/c/call.h"
#include "gnomon/pages/explain.h"

using namespace gnomon;

gnomon_status gnomon_explain(const char* path, const char* reader, char** json) {
  return c::call([&] {
    c::need("json", json);
    const Config config = Config::open(&c::need("path", path));
    *json =
        c::given_text(pages::explain_json(explain(config, reader_named(reader ? reader : "", config)), -1));
  });
}
