// Files of weights made by hand: what the formats allow is read, what they do not is refused, with little memory.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>

#include "gnomon/files/gguf.h"
#include "tests/files/strange_weights.h"

namespace gnomon {
namespace {

template <class T>
std::string raw(T x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}
std::string raw_text(std::string_view s) { return raw(std::uint64_t(s.size())) + std::string(s); }
std::string key(std::string_view name, std::uint32_t type, const std::string& value = "") {
  return raw_text(name) + raw(type) + value;
}
std::string entry(std::string_view name, const Shape& extents, std::int32_t type, std::uint64_t offset) {
  std::string all = raw_text(name) + raw(std::uint32_t(extents.size()));
  for (const std::int64_t extent : extents) all += raw(extent);
  return all + raw(type) + raw(offset);
}
std::string gguf(std::uint64_t tensors, std::uint64_t keys, const std::string& rest,
                 std::uint32_t version = 3) {
  return "GGUF" + raw(version) + raw(tensors) + raw(keys) + rest;
}
std::string padded(std::string bytes, std::size_t alignment = 32) {
  return bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
}

TEST_F(StrangeWeights, SmallGgufFilesAreRead) {
  EXPECT_EQ(refusal(with(gguf(0, 0, ""))), "accepted");
  EXPECT_EQ(refusal(with(padded(gguf(0, 0, "")))), "accepted");
  const std::string two = entry("b", {32, 1}, 2, 0) + entry("a", {2, 3}, 0, 32);
  const std::string block =
      padded(raw(std::uint16_t(0x3C00)) + std::string(16, '\x98'));  // 1 · (8 − 8), 1 · (9 − 8)
  std::string six;
  for (int n = 0; n < 6; ++n) six += raw(float(n));
  for (const std::uint32_t version : {2, 3}) {
    const Weights w = Weights::open(with(padded(gguf(2, 0, two, version)) + block + six));
    EXPECT_EQ(w.at("a").shape, (Shape{3, 2}));
    EXPECT_TRUE(equal(w.read(w.at("a")), Floats{0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(equal(w.read_rows(w.at("a"), 1, 1), Floats{2, 3}));
    Floats ones(32, 0);
    std::fill(ones.begin() + 16, ones.end(), 1.0f);
    EXPECT_TRUE(equal(w.read(w.at("b")), ones));
  }
  const std::string aligned = key("general.alignment", 4, raw(std::uint32_t(64)));
  EXPECT_EQ(refusal(with(padded(gguf(1, 1, aligned + entry("a", {6}, 0, 0)), 64) + six)), "accepted");
  // No numbers, no extents.
  const std::string odd = entry("e", {0, 7}, 0, 0) + entry("s", {}, 0, 0);
  EXPECT_EQ(refusal(with(padded(gguf(2, 0, odd)) + raw(1.5f))), "accepted");
}

// Little memory for what follows: an allocation that believes a header is bad_alloc, which no test expects. A sanitizer
// needs more than that for itself.
class LittleMemory {
 public:
  LittleMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    getrlimit(RLIMIT_AS, &before_);
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const struct rlimit limit { rlim_t(pages* sysconf(_SC_PAGESIZE)) + (20 << 20), before_.rlim_max };
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
#endif
  }
  ~LittleMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    setrlimit(RLIMIT_AS, &before_);
#endif
  }

 private:
  struct rlimit before_ {};
};

constexpr auto k63 = std::uint64_t{1} << 63;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST_F(StrangeWeights, HostileGgufHeadersAreRefused) {
  const LittleMemory limit;
  const auto refused = [&](const std::string& bytes, const std::string& words) {
    expect_refusal(with(bytes), words);
  };
  for (const std::uint32_t version : {0, 1, 4}) refused(gguf(0, 0, "", version), "byte 4: version");
  refused(gguf(0, 0, "", 0x03000000), "byte 4: a big-endian file");
  for (const std::uint64_t n : {k63, ~std::uint64_t{0}, std::uint64_t{1'000'001}}) {
    refused(gguf(n, 0, ""), "tensors; allowed are at most 1000000");
    refused(gguf(0, n, ""), "keys; allowed are at most 100000");
  }
  refused(gguf(1'000'000, 0, ""), "byte 24: a tensor's name of 8 bytes, but the file ends at byte 24");
  refused(gguf(0, 100'000, ""), "byte 24: a key of 8 bytes, but the file ends at byte 24");

  const auto keys = [&](const std::string& all, const std::string& words, std::uint64_t n = 1) {
    refused(gguf(0, n, all), words);
  };
  keys(raw(~std::uint64_t{0}), "a key of 18446744073709551615 bytes; allowed are at most 65535");
  keys(raw(std::uint64_t{60'000}), "a key of 60000 bytes, but the file ends at byte 32");
  keys(key("", 0, "x"), "an empty key");
  keys(key("\xff", 0, "x"), "is not UTF-8");
  keys(key("a", 0, "x") + key("a", 0, "x"), "a key, \"a\", appears twice", 2);
  for (const std::uint32_t type : {13u, ~0u}) keys(key("a", type, "x"), "of a value; allowed are 0 to 12");
  keys(key("a", 7, "\2"), "a truth value: found 2, allowed are 0 and 1");
  for (const std::uint64_t n : {k63, ~std::uint64_t{0}, std::uint64_t{9}}) {
    keys(key("a", 8, raw(n) + "x"), n == 9 ? "a text of 9 bytes, but" : "allowed are at most 100000000");
    for (const std::uint32_t type : {0, 5, 7, 8, 10, 12})
      keys(key("a", 9, raw(type) + raw(n) + "x"), ", but the file ends at byte");
  }
  keys(key("a", 9, raw(9u) + raw(std::uint64_t{1})), "a list of lists");
  keys(key("a", 9, raw(8u) + raw(std::uint64_t{1}) + raw(~std::uint64_t{0})),
       "a text of 18446744073709551615");
  for (const std::uint32_t n : {0u, 3u, 4u, 48u, 1u << 21, 1u << 31})
    keys(key("general.alignment", 4, raw(n)),
         text("the alignment: found ", n, ", allowed is a power of two"));
  keys(key("general.alignment", 8, raw_text("32")), "the alignment: found no whole number");
  keys(key("split.count", 2, raw(std::uint16_t{3})), "one of 3 parts of a model");
  keys(key("split.count", 8, raw_text("3")), "found \"3\", allowed is a whole number");
  EXPECT_EQ(refusal(with(gguf(0, 1, key("split.count", 2, raw(std::uint16_t{1}))))), "accepted");
}

TEST_F(StrangeWeights, HostileGgufTensorsAreRefused) {
  const LittleMemory limit;
  const auto refused = [&](const std::string& entries, const std::string& words, std::uint64_t n = 1,
                           std::size_t data = 64) {
    expect_refusal(with(padded(gguf(n, 0, entries)) + std::string(data, '\0')), words);
  };
  EXPECT_EQ(refusal(with(padded(gguf(1, 0, entry("a", {16}, 0, 0))) + std::string(64, '\0'))), "accepted");
  refused(entry(std::string(64, 'n'), {16}, 0, 0), "a tensor's name of 64 bytes; allowed are at most 63");
  refused(entry("a\xc0", {16}, 0, 0), "is not UTF-8");
  refused(entry("a", {8}, 0, 0) + entry("a", {8}, 0, 32), "a tensor's name, \"a\", appears twice", 2);
  refused(entry("a", {1, 1, 1, 1, 16}, 0, 0), "5 dimensions; allowed are at most 4");
  refused(raw_text("a") + raw(~0u), "4294967295 dimensions");
  refused(entry("a", {-16, -1}, 0, 0), "a dimension of -16; allowed is 0 or more");
  for (const std::int32_t type : {-1, 4, 5, 31, 36, 42, 43, 1 << 30})
    refused(entry("a", {16}, type, 0), text("the type ", type, " is unknown; known are"));
  refused(entry("a", {33}, 8, 0), "rows of 33 numbers; Q8_0 has blocks of 32");
  refused(entry("a", {}, 8, 0), "rows of 1 numbers; Q8_0 has blocks of 32");
  refused(entry("a", {128, 2}, 12, 0), "rows of 128 numbers; Q4_K has blocks of 256");
  const std::int64_t k32 = std::int64_t{1} << 32;
  for (const Shape& shape : {Shape{k32, k32}, Shape{kMost, 2, 1, 1}, Shape{kMost}, Shape{k32, k32, k32, k32},
                             Shape{0, kMost, kMost}, Shape{k32 << 30, 4, 0}})
    refused(entry("a", shape, 0, 0), "the product of its dimensions is too large");
  refused(entry("a", {kMost - 31}, 8, 0), "the product of its dimensions is too large");
  refused(entry("a", {std::int64_t{1} << 58}, 0, 0), "but the file is truncated");
  refused(entry("a", {17}, 0, 0), "tensor \"a\" needs 68 bytes from byte");
  // A gap, an overlap, an order of its own, wrapped offsets, bytes that belong to none.
  refused(entry("a", {8}, 0, 32), "begins at byte 32 of the data, but the previous tensor ends");
  refused(entry("a", {8}, 0, 0) + entry("b", {8}, 0, 0), "begins at byte 0 of the data", 2);
  refused(entry("a", {1}, 0, 0) + entry("b", {8}, 0, 4), "begins at byte 4 of the data", 2);
  refused(entry("a", {8}, 0, 32) + entry("b", {8}, 0, 0), "begins at byte 32 of the data", 2);
  refused(entry("a", {8}, 0, 0) + entry("b", {8}, 0, ~std::uint64_t{31}),
          "begins at byte 18446744073709551584", 2);
  refused(entry("a", {8}, 0, 0), "the tensors end at byte", 1);
  refused("", "the tensors end at byte", 0);
}

std::string safetensors(const std::string& header, const std::string& data) {
  return raw(std::uint64_t(header.size())) + header + data;
}
std::string f32(const char* name, const char* shape, int begin, int end) {
  return text("\"", name, "\":{\"dtype\":\"F32\",\"shape\":", shape, ",\"data_offsets\":[", begin, ",", end,
              "]}");
}

TEST_F(StrangeWeights, HostileSafetensorsAreRefused) {
  const LittleMemory limit;
  const std::string eight(8, 'x');
  for (const std::uint64_t n : {k63, ~std::uint64_t{0}, std::uint64_t{100'000'001}, std::uint64_t{9}})
    expect_refusal(with(raw(n) + std::string(8, ' ')), text("byte 0: found a header of ", n, " bytes"));
  expect_refusal(with("# A title\n\nand its text.\n"), "not a safetensors file: it begins with text");
  for (std::size_t n = 0; n < 8; ++n)
    expect_refusal(with(std::string(n, '\0')), text("the file ends at byte ", n));
  const auto refused = [&](const std::string& tensors, const std::string& words) {
    expect_refusal(with(safetensors("{" + tensors + "}", eight)), words);
  };
  EXPECT_EQ(refusal(with(safetensors("{" + f32("b", "[1]", 4, 8) + "," + f32("a", "[]", 0, 4) + "}", eight))),
            "accepted");
  refused(f32("a", "[1]", 4, 8), "tensors must follow each other without gaps");
  refused(f32("a", "[1]", 0, 4) + "," + f32("b", "[1]", 0, 4), "tensors must follow each other without gaps");
  refused(f32("a", "[1]", 0, 4), "but the file holds 8");
  refused(f32("a", "[4]", 0, 16), "the file is truncated");
  refused(f32("a", "[2]", 8, 0), "allowed is a range of 8 bytes");
  refused(f32("a", "[2]", 0, 8) + "," + f32("a", "[2]", 0, 8), "appears twice");
  for (const char* shape :
       {"[4294967296,4294967296]", "[4611686018427387904,4]", "[0,9223372036854775807,2]"})
    refused(f32("a", shape, 0, 8), "dimensions with a product below 2^60");
  refused("\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}",
          "allowed is a dtype of safetensors");
  refused("\"a\":{\"dtype\":\"Q8_0\",\"shape\":[2],\"data_offsets\":[0,8]}",
          "allowed is a dtype of safetensors");
  refused("\"a\":{\"dtype\":\"F4\",\"shape\":[15],\"data_offsets\":[0,8]}", "whose numbers fill whole bytes");
  EXPECT_EQ(
      refusal(with(safetensors("{\"a\":{\"dtype\":\"F4\",\"shape\":[16],\"data_offsets\":[0,8]}}", eight))),
      "accepted");
}

TEST_F(StrangeWeights, NumbersLieAtAnyByte) {
  const Floats numbers{1.5f, -2.25f};
  const std::string data(reinterpret_cast<const char*>(numbers.data()), 8);
  for (std::size_t blanks = 0; blanks < 8; ++blanks) {
    const Weights w =
        Weights::open(with(safetensors("{" + f32("a", "[2]", 0, 8) + "}" + std::string(blanks, ' '), data)));
    EXPECT_TRUE(equal(w.read(w.at("a")), numbers)) << blanks;
  }
}

TEST_F(StrangeWeights, WhatIsNoFileOfWeightsIsNamed) {
  expect_refusal(with("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "a git-LFS pointer");
  expect_refusal(with("PK\3\4 and so on"), "a zip archive");
  expect_refusal(with("\x80\2}q\1(X\3"), "a Python pickle");
  expect_refusal(with("<!DOCTYPE html><html>"), "a page of HTML");
  expect_refusal(with("{\"error\":\"not found\"}"), "found JSON");
  expect_refusal(folder_ / "none", "cannot open", Fault::resource);
  mkfifo((folder_ / "pipe").c_str(), 0600);
  expect_refusal(folder_ / "pipe", "found a pipe", Fault::resource);
  expect_refusal("/dev/zero", "found a device", Fault::resource);
  std::filesystem::create_symlink("loop", folder_ / "loop");
  expect_refusal(folder_ / "loop", "cannot open", Fault::resource);
}

TEST_F(StrangeWeights, AFolderHoldsOneModel) {
  const Path inner = folder_ / "inner";
  std::filesystem::create_directory(inner);
  expect_refusal(inner, "there is no model.safetensors");
  with("x", "inner/pytorch_model.bin");
  expect_refusal(inner, "they could run any program");
  const std::string one = safetensors("{" + f32("a", "[2]", 0, 8) + "}", std::string(8, 'x'));
  with(one, "inner/weights.safetensors");
  EXPECT_EQ(refusal(inner), "accepted");
  with(gguf(0, 0, ""), "inner/m.gguf");
  expect_refusal(inner, "found 2 weight files");
  with(one, "inner/model.safetensors");
  EXPECT_EQ(refusal(inner), "accepted");
}

TEST_F(StrangeWeights, AnIndexAndItsShardsAgree) {
  const auto shard = [&](const char* file, const char* name) {
    with(safetensors("{" + f32(name, "[2]", 0, 8) + "}", std::string(8, 'x')), file);
  };
  shard("1.safetensors", "a"), shard("2.safetensors", "b");
  std::filesystem::create_directory(folder_ / "inner");
  const auto index = [&](const std::string& map) {
    return with("{\"metadata\":{\"total_size\":16},\"weight_map\":" + map + "}",
                "model.safetensors.index.json");
  };
  const std::string a = "\"a\":\"1.safetensors\"", b = "\"b\":\"2.safetensors\"";
  EXPECT_EQ(refusal(index("{" + a + "," + b + "}")), "accepted");
  expect_refusal(index("{" + a + "," + b + ",\"c\":\"1.safetensors\"}"),
                 "there is no tensor \"c\", but model");
  expect_refusal(index("{" + a + ",\"c\":\"2.safetensors\"}"), "2.safetensors: tensor \"b\" is not in model");
  expect_refusal(index("{" + a + ",\"b\":\"3.safetensors\"}"), "3.safetensors: cannot open", Fault::resource);
  expect_refusal(index("{" + a + "," + a + "}"), "appears twice");
  for (const char* name : {"", ".", "..", "../x/1.safetensors", "/1.safetensors", "inner/../1.safetensors",
                           "a\\\\b", "1.safetensors\\u0000"})
    expect_refusal(index(text("{\"a\":\"", name, "\"}")), "allowed is the name of a file in the same folder");
  expect_refusal(index("{\"a\":1}"), "allowed is a text");
  expect_refusal(index("{}"), "names no tensor");
  expect_refusal(index("[]"), "allowed is an object");
  expect_refusal(with("{}", "model.safetensors.index.json"), "there is no key \"weight_map\"");
  shard("2.safetensors", "a");  // a tensor in two files
  expect_refusal(index("{" + a + ",\"b\":\"2.safetensors\"}"),
                 "2.safetensors: tensor \"a\" is here too, but model.safetensors.index.json lists it only in "
                 "\"1.safetensors\"");
}

TEST_F(StrangeWeights, WhatIsLargerThanMemoryIsReadByRows) {
  const std::int64_t width = 1 << 20, rows = 1 << 18;  // 1 TiB
  const Path path = with(padded(gguf(1, 0, entry("a", {width, rows}, 0, 0))));
  const std::uint64_t data = std::filesystem::file_size(path);
  std::error_code error;
  std::filesystem::resize_file(path, data + (std::uint64_t{1} << 40), error);
  if (error) GTEST_SKIP() << "no file with a hole of 1 TiB here: " << error.message();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(std::streamoff(data + (std::uint64_t{1} << 40) - 4)) << raw(2.5f) << std::flush;
  const Weights weights = Weights::open(path);
  const Floats last = weights.read_rows(weights.at("a"), rows - 1, 1);
  EXPECT_EQ(last.size(), std::size_t(width));
  EXPECT_EQ(last.back(), 2.5f);
  try {
    weights.read(weights.at("a"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::resource);
    EXPECT_NE(std::string(e.what()).find("takes 1099511627776 bytes, but only"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace gnomon
