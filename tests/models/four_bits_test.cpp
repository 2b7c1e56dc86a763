// Experts in MXFP4, as gpt-oss stores them in safetensors: what other readings of the bytes give, and what is refused. That the right
// one gives transformers' numbers is asked in open_test.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "tests/models/opened.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

// Copies the folder with other bytes in the tensors whose name ends so.
class FourBits : public Files {
 protected:
  Path copied() {
    const Path to = folder_ / "model";
    std::filesystem::remove_all(to);
    std::filesystem::copy(kOpened / "gpt_oss_mxfp4", to);
    return to;
  }
  template <class F>
  Path with_bytes(std::string_view end, const F& other) {
    const Path to = copied(), file = to / "model.safetensors";
    std::string bytes = read_file(file);
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    const auto header = nlohmann::json::parse(bytes.substr(8, size));
    for (const auto& [name, entry] : header.items()) {
      if (!name.ends_with(end)) continue;
      const std::size_t first = entry["data_offsets"][0], last = entry["data_offsets"][1];
      for (std::size_t n = first; n < last; ++n) {
        char& byte = bytes[8 + size + n];
        byte = char(other(static_cast<unsigned char>(byte)));
      }
    }
    write_file(file, bytes);
    return to;
  }
  // Changes a word of the header to another of its length.
  Path with_word(const std::string& word, const std::string& other) {
    const Path to = copied(), file = to / "model.safetensors";
    std::string bytes = read_file(file);
    for (std::size_t at = 0; (at = bytes.find(word, at)) != bytes.npos; at += word.size())
      bytes.replace(at, word.size(), other);
    write_file(file, bytes);
    return to;
  }
  static double off(const Path& path) {
    const Expected e = expected_of("gpt_oss_mxfp4");
    const OpenedModel opened = open_model(path);
    return difference(outputs_of(opened.model, opened.w, e), e.outputs);
  }
  static std::string why(const Path& path) {
    try {
      open_model(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "opened";
  }
};

TEST_F(FourBits, AreReadInNoOtherOrderAndWithNoOtherScale) {
  const auto same = [](unsigned byte) { return byte; };
  EXPECT_LT(off(with_bytes("_blocks", same)), 3e-5);
  EXPECT_GT(off(with_bytes("_blocks", [](unsigned byte) { return byte >> 4 | byte << 4; })), 1e-2);
  EXPECT_GT(off(with_bytes("_blocks", [](unsigned byte) { return byte ^ 0x88; })), 1e-2);
  EXPECT_GT(off(with_bytes("_scales", [](unsigned byte) { return byte + 1; })), 1e-2);
}

TEST_F(FourBits, WithoutTheirOtherHalfAreRefused) {
  const std::string experts = "model.layers.0.mlp.experts.";
  for (const char* other : {"down_proj_scalez", "down_proj_blockz"}) {
    std::string word = other;
    word.back() = 's';
    const std::string message = why(with_word(word, other));
    EXPECT_NE(message.find("2 tensors missing in the file: \"" + experts + "down_proj\", "),
              std::string::npos)
        << message;
  }
  const std::string message = why(with_bytes("_scales", [](unsigned) { return 255U; }));
  EXPECT_NE(message.find("not finite"), std::string::npos) << message;
}

}  // namespace
}  // namespace gnomon
