// What gnomon.h says of a model's file: here, because the library lab alone knows models' files.
#include <algorithm>

#include "gnomon/c/call.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/explain.h"

using namespace gnomon;
using c::call;
using c::need;

// A file's settings, with the texts that it lends.
struct gnomon_model {
  explicit gnomon_model(Explanation explanation)
      : said(std::move(explanation)), input(said.model.input.print()) {
    for (const LayerPosition& layer : said.model.layers) {
      Spec inside = Spec::parse("none");
      inside.attention = layer.spec.attention;
      specs.push_back(inside.print());
    }
  }
  const LayerPosition& layer(std::int64_t index) const {
    check_extents("layers", {{"index", index, 0, std::int64_t(said.model.layers.size()) - 1}});
    return said.model.layers[std::size_t(index)];
  }
  Explanation said;
  std::string input;
  std::vector<std::string> specs;  // of each layer, inside attention
};

namespace {

Explanation explanation_of(const char* path, const char* reader) {
  const Config config = Config::open(&need("path", path));
  return explain(config, reader_named(reader ? reader : "", config));
}

std::int64_t window_of(const Explanation& said, const LayerPosition& layer) {
  for (const LayerGroup& group : said.groups) {
    if (group.position.component == layer.component &&
        std::find(group.layers.begin(), group.layers.end(), layer.number) != group.layers.end())
      return group.window.value_or(0);
  }
  return 0;
}

}  // namespace

gnomon_status gnomon_explain(const char* path, const char* reader, char** json) {
  return call([&] {
    need("json", json);
    *json = c::given_text(pages::explain_json(explanation_of(path, reader), -1));
  });
}

gnomon_status gnomon_model_open(const char* path, const char* reader, gnomon_model** model) {
  return call([&] {
    need("model", model);
    *model = new gnomon_model(explanation_of(path, reader));
  });
}
void gnomon_model_free(gnomon_model* model) { delete model; }

gnomon_status gnomon_model_describe(const gnomon_model* model, gnomon_model_info* info) {
  return call([&] {
    c::known("info", info);
    const Resolved& m = need("model", model).said.model;
    *info = {sizeof *info,
             m.family.c_str(),
             model->input.c_str(),
             m.known,
             std::int64_t(m.layers.size()),
             m.width,
             m.trained_length,
             m.longest};
  });
}

gnomon_status gnomon_model_layer(const gnomon_model* model, int64_t index, gnomon_layer_info* info) {
  return call([&] {
    c::known("info", info);
    const LayerPosition& layer = need("model", model).layer(index);
    *info = {sizeof *info,        model->specs[std::size_t(index)].c_str(),
             layer.mixer.c_str(), layer.component.c_str(),
             layer.number,        window_of(model->said, layer)};
  });
}

gnomon_status gnomon_model_attention(const gnomon_model* model, int64_t index,
                                     gnomon_attention_config* config) {
  return call([&] {
    gnomon_attention_config sizes = c::known("config", config);
    const Resolved& m = need("model", model).said.model;
    const LayerPosition& layer = model->layer(index);
    if (!layer.mixer.empty())
      throw Error(Fault::usage, text("model: entry ", index, " has no attention; it is '", layer.mixer, "'"));
    sizes.heads = layer.heads, sizes.kv_heads = layer.kv_heads;
    sizes.head_dim = layer.head_dim, sizes.value_dim = layer.value_dim;
    sizes.width = m.width, sizes.length = model->said.trained();
    sizes.scale = layer.scale, sizes.causal = layer.causal;
    *config = sizes;
  });
}
