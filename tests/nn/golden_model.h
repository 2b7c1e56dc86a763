// Golden files of whole models (tests/golden/architectures, by make_architectures.py): a reader, and how their tensors become
// our parameters.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gnomon/kernels/loss.h"
#include "gnomon/models/run/names.h"
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

struct GoldenFamily {
  std::string name;
  Architecture architecture;
  std::string named_as;  // the family whose names its tensors have; empty: its own
};

// f(their name, their tensor, function from a number of theirs to its place in our flat array) for every parameter.
template <class Body>
void each_piece(const GoldenFamily& family, const Model& model, const GoldenModel& golden, const Body& f) {
  const Names names = names_of(family.named_as.empty() ? family.name : family.named_as, model.architecture());
  for (const Piece& piece : pieces_of(names, model)) {
    const auto theirs = std::find_if(piece.theirs.begin(), piece.theirs.end(),
                                     [&](const std::string& name) { return golden.has(name); });
    if (theirs == piece.theirs.end()) throw std::runtime_error("no tensor " + piece.theirs.front());
    const GoldenTensor& t = golden.at(*theirs);
    EXPECT_EQ(t.shape, piece.shape()) << *theirs;
    f(*theirs, t, [&](std::int64_t n) { return piece.place(n, model.architecture().attention); });
  }
}

}  // namespace gnomon
