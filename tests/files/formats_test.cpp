// Formats that others have written down: SHA-256, base64, safetensors, and what may be wrong with files of the last.
#include <gtest/gtest.h>

#include <filesystem>

#include "gnomon/files/safetensors.h"
#include "gnomon/files/sha256.h"
#include "gnomon/report/picture.h"
#include "tests/support/door.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

TEST(Hash, Sha256OfTheStandardsExample) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
TEST(Base64, Rfc4648Vectors) {
  EXPECT_EQ(report::base64(""), "");
  EXPECT_EQ(report::base64("f"), "Zg==");
  EXPECT_EQ(report::base64("fo"), "Zm8=");
  EXPECT_EQ(report::base64("foobar"), "Zm9vYmFy");
}

TEST_F(Files, SafetensorsRoundTripAndEveryDamageIsNoticed) {
  const Path path = folder_ / "m.safetensors";
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{7};
  write_safetensors(path, std::vector<Tensor>{{"a", {2, 3}, a}, {"b", {}, b}}, {{"step", "12"}});
  const TensorFile file = read_safetensors(path, Digest::required);
  EXPECT_EQ(file.metadata.at("step"), "12");
  EXPECT_EQ(file.at("a", path).shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.at("b", path).data[0], 7);
  EXPECT_THROW(file.at("c", path), Error);

  const std::string whole = read_file(path);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {  // truncated anywhere
    write_file(path, whole.substr(0, cut));
    EXPECT_THROW(read_safetensors(path, Digest::required), Error) << "cut at " << cut;
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {  // one bit flipped anywhere
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ 1 << bit % 8);
    write_file(path, flipped);
    try {
      const TensorFile read = read_safetensors(path, Digest::required);
      // What still reads is the padding of the header.
      EXPECT_TRUE(read.tensors.size() == 2 && read.metadata.at("step") == "12") << "bit " << bit;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input) << "bit " << bit;
      EXPECT_NE(std::string(e.what()).find("m.safetensors"), std::string::npos);
    }
  }
}

TEST_F(Files, HostileSafetensorsHeadersAreRefused) {
  const Path path = folder_ / "h.safetensors";
  const auto with = [&](const std::string& header, const std::string& data = "") {
    std::uint64_t n = header.size();
    write_file(path, std::string(reinterpret_cast<const char*>(&n), 8) + header + data);
    return path;
  };
  for (const char* header :
       {"[]", "{\"a\":1}", "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,16],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551612]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}"}) {
    EXPECT_THROW(read_safetensors(with(header, std::string(8, '\0')), Digest::if_present), Error) << header;
  }
  write_file(path, std::string(8, '\xff'));
  EXPECT_THROW(read_safetensors(path, Digest::if_present), Error);
}

TEST(DoorSafetensors, WhatTheFormatCannotHoldIsRefused) {
  const Path path = std::filesystem::temp_directory_path() / "gnomon-door.safetensors";
  const Floats numbers(4);
  const auto write = [&](const std::string& name, std::vector<std::int64_t> shape,
                         const Metadata& metadata = {}) {
    const Tensor tensors[] = {{"first", {4}, numbers}, {name, std::move(shape), numbers}};
    write_safetensors(path, tensors, metadata);
  };
  refused("is not UTF-8 at byte 1", [&] { write("a\xFF", {4}); });
  refused("is not UTF-8", [&] { write("a", {4}, {{"\xC0", "x"}}); });
  refused("is not UTF-8", [&] { write("a", {4}, {{"x", "\xED\xA0\x80"}}); });
  refused("is already used", [&] { write("first", {4}); });
  refused("is already used", [&] { write("__metadata__", {4}); });
  refused("data has 4", [&] { write("a", {5}); });
  refused("an array of", [&] { write("a", {-1, -4}); });
  refused("an array of", [&] { write("a", {kMost, kMost}); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace gnomon
