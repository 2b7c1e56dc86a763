// What transformers computes from whole folders and GGUF files (tests/golden/opened, by make_opened.py).
#pragma once
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/models/run/open.h"
#include "gnomon/nn/session.h"

namespace gnomon {

inline const Path kOpened = GNOMON_TESTS "/golden/opened";
inline constexpr std::int32_t kPad = 1;  // in what an encoder reads

inline Path path_of(const std::string& name) {
  return name.rfind("gguf", 0) == 0 ? kOpened / name / "model.gguf" : kOpened / name;
}

struct Expected {
  std::vector<std::int32_t> inputs;
  Floats outputs;
  std::int64_t B, T;
  bool head;
  std::vector<Floats> layers;                        // of kMore
  std::vector<std::vector<std::int32_t>> generated;  // of decoders in kMore
  std::int64_t prompt = 0;                           // of the inputs, before what is generated
  // What an encoder reads beside the decoder: tokens (B,S), which of them are padding, and the rows between its layers.
  std::vector<std::int32_t> source;
  std::vector<std::uint8_t> padding;
  std::vector<Floats> encoder_layers;
  Floats rows;  // what the opened encoder leaves of them
  Tokens read() const {
    Tokens tokens{B, std::int64_t(source.size()) / B, source, {}};
    tokens.padding = padding.data();
    return tokens;
  }
  EncoderRows beside() const {
    if (rows.empty()) return {};
    return {std::int64_t(source.size()) / B, rows, padding.data()};
  }
};
inline Expected expected_of(const std::string& name) {
  const auto json = nlohmann::json::parse(read_file(kOpened / name / "expected.json"));
  Expected e;
  for (const auto& row : json.at("inputs")) {
    for (const std::int32_t token : row) e.inputs.push_back(token);
  }
  e.B = std::int64_t(json.at("inputs").size()), e.T = std::int64_t(e.inputs.size()) / e.B;
  for (const float x : json.at("outputs")) e.outputs.push_back(x);
  e.head = json.at("head");
  const auto read_rows = [&](const char* key, std::vector<Floats>& to) {
    for (const auto& rows : json.value(key, nlohmann::json::array())) {
      to.emplace_back();
      for (const float x : rows) to.back().push_back(x);
    }
  };
  read_rows("layers", e.layers), read_rows("encoder_layers", e.encoder_layers);
  if (json.contains("generated")) e.generated = json.at("generated");
  e.prompt = json.value("prompt", 4);
  for (const auto& row : json.value("source", nlohmann::json::array())) {
    for (const std::int32_t token : row) e.source.push_back(token), e.padding.push_back(token == kPad);
  }
  return e;
}

inline Floats outputs_of(const Model& model, const Floats& w, const Expected& e,
                         bool without_positions = false) {
  Tokens tokens{e.B, e.T, e.inputs, {}};
  tokens.drop_positions = without_positions;
  if (model.architecture().cross) tokens.encoder = e.beside();
  Floats rows(e.outputs.size());
  Session session(model);
  e.head ? session.logits(tokens, w, rows) : session.hidden(tokens, w, rows);
  return rows;
}
// The rows that the encoder leaves of what it reads, where there is one.
inline void read_source(const OpenedModel& opened, Expected& e) {
  if (!opened.encoder) return;
  e.rows.resize(e.source.size() * std::size_t(opened.encoder->model.architecture().width));
  Session(opened.encoder->model).hidden(e.read(), opened.encoder->w, e.rows);
}
inline double difference(const Floats& a, const Floats& b) {
  double most = 0;
  for (std::size_t n = 0; n < a.size(); ++n) most = std::max(most, double(std::abs(a[n] - b[n])));
  return most;
}

}  // namespace gnomon
