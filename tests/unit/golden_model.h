// Golden files of whole models (tests/golden/architectures, by make_architectures.py): a reader, and how the parameters of a
// family become ours.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gnomon/kernels/loss.h"
#include "gnomon/nn/sample.h"

namespace gnomon {

// A tensor of float32 or int32 (whole numbers below 2^24), as float.
struct GoldenTensor {
  std::vector<std::int64_t> shape;
  Floats data;
  std::vector<std::int32_t> whole() const { return {data.begin(), data.end()}; }
};
struct GoldenModel {
  std::map<std::string, GoldenTensor> tensors;
  const GoldenTensor& at(const std::string& name) const {
    const auto found = tensors.find(name);
    if (found == tensors.end()) throw std::runtime_error("no tensor " + name);
    return found->second;
  }
  bool has(const std::string& name) const { return tensors.count(name) > 0; }
};
inline GoldenModel read_golden_model(const std::string& name) {
  std::ifstream in(GNOMON_TESTS "/golden/architectures/" + name + ".safetensors", std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  const std::string bytes = all.str();
  std::uint64_t size = 0;
  if (bytes.size() < 8) throw std::runtime_error("no file " + name);
  std::memcpy(&size, bytes.data(), 8);
  GoldenModel model;
  const auto header = nlohmann::json::parse(bytes.substr(8, size));
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") continue;
    GoldenTensor& t = model.tensors[key];
    t.shape = value.at("shape").get<std::vector<std::int64_t>>();
    const std::size_t begin = 8 + size + value.at("data_offsets")[0].get<std::size_t>(),
                      end = 8 + size + value.at("data_offsets")[1].get<std::size_t>();
    t.data.resize((end - begin) / 4);
    std::memcpy(t.data.data(), bytes.data() + begin, end - begin);
    if (value.at("dtype") != "I32") continue;
    for (float& x : t.data) {
      std::int32_t i;
      std::memcpy(&i, &x, 4), x = float(i);
    }
  }
  return model;
}

// Rows of one of our parameters, from `first` on, by the name they have there. "{}" in both names is the layer. Transposed:
// (in,out). Of heads: rows (H,3,D), of each head its q, k and v (GPT-NeoX).
enum class How { plain, transposed, of_heads };
struct Source {
  std::string ours, theirs;
  std::int64_t first = 0;
  How how = How::plain;
};
struct Family {
  std::string name;
  Architecture architecture;
  std::vector<Source> sources;
};

inline std::string with_layer(std::string name, std::int64_t l) {
  const auto at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(l));
}

// f(their name, their tensor, function from a number of theirs to its place in our flat array) for every parameter.
template <class Body>
void each_source(const Family& family, const Model& model, const GoldenModel& golden, const Body& f) {
  const Architecture& a = family.architecture;
  for (const Source& s : family.sources) {
    const bool layered = s.theirs.find("{}") != std::string::npos;
    for (std::int64_t l = 0; l < (layered ? a.layers : 1); ++l) {
      const std::string theirs = with_layer(s.theirs, l);
      if (!golden.has(theirs) && l == 0) continue;  // ModernBERT's first layer has no norm before attention
      const GoldenTensor& t = golden.at(theirs);
      const Param& p = model.param(with_layer(s.ours, l));
      const std::int64_t rows = t.shape[0], columns = std::int64_t(t.data.size()) / rows,
                         D = a.attention.head_size,
                         begin = p.offset + s.first * (s.how == How::transposed ? rows : columns);
      f(theirs, t, [=, how = s.how, H = a.attention.heads](std::int64_t n) {
        const std::int64_t row = n / columns, column = n % columns;
        if (how == How::transposed) return begin + column * rows + row;
        if (how == How::plain) return begin + n;
        const std::int64_t h = row / (3 * D), part = row / D % 3;
        return begin + ((part * H + h) * D + row % D) * columns + column;
      });
    }
  }
}

}  // namespace gnomon
