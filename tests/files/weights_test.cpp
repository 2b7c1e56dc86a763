// Files of weights of other writers, number by number (tests/golden/make_weights.py); the same files damaged.
#include "gnomon/files/weights.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/files/gguf.h"
#include "gnomon/files/kinds.h"
#include "tests/files/strange_weights.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;

Json golden(const char* what) {
  std::ifstream file(kGolden / "weights.json");
  return Json::parse(file).at(what);
}

Floats from_hex(const std::string& digits) {
  Floats numbers(digits.size() / 8);
  auto* bytes = reinterpret_cast<unsigned char*>(numbers.data());
  for (std::size_t n = 0; n < digits.size() / 2; ++n)
    bytes[n] = (unsigned char)std::stoi(digits.substr(2 * n, 2), nullptr, 16);
  return numbers;
}

// --- Other writers

TEST(Weights, EveryKindIsWhatItsOwnReaderMakesOfIt) {
  std::set<std::string> seen;
  const Json cases = golden("cases");
  for (const Json& c : cases) {
    SCOPED_TRACE(c.at("file").dump() + " " + c.at("name").dump());
    const Weights weights = Weights::open(kGolden / std::string(c.at("file")));
    const StoredTensor& tensor = weights.at(std::string(c.at("name")));
    EXPECT_EQ(tensor.stored, c.at("stored"));
    EXPECT_EQ(tensor.shape, c.at("shape").get<Shape>());
    const Floats found = weights.read(tensor);
    EXPECT_TRUE(equal(found, from_hex(c.at("bytes"))));
    if (c.contains("wrong")) {
      EXPECT_FALSE(equal(found, from_hex(c.at("wrong"))));
    }
    seen.insert(tensor.stored);
  }
  const std::string readable = readable_kinds() + ",";
  std::size_t kinds = 0;
  for (const std::string& kind : seen) kinds += readable.find(kind + ",") != std::string::npos;
  EXPECT_EQ(kinds, std::size_t(std::count(readable.begin(), readable.end(), ',')))
      << "one has no golden numbers";
}

TEST(Weights, BlocksHaveTheSizesOfGgml) {
  std::set<std::int32_t> types;
  const Json sizes = golden("sizes");
  for (const Json& size : sizes) {
    const std::int32_t type = size.at(1);
    const NumberKind* kind = find_ggml_kind(type);
    ASSERT_NE(kind, nullptr) << size;
    EXPECT_EQ(Json({kind->name, kind->ggml_type, kind->numbers, kind->bytes}), size);
    types.insert(type);
  }
  for (std::int32_t type = -2; type < 100; ++type)
    EXPECT_EQ(find_ggml_kind(type) != nullptr, types.count(type) == 1) << type;
}

TEST(Weights, RowsAreThoseOfTheWhole) {
  const Json cases = golden("cases");
  for (const Json& c : cases) {
    const Weights weights = Weights::open(kGolden / std::string(c.at("file")));
    const StoredTensor& tensor = weights.at(std::string(c.at("name")));
    if (tensor.shape.empty()) {
      EXPECT_THROW(weights.read_rows(tensor, 0, 1), Error);
      continue;
    }
    const Floats all = weights.read(tensor);
    const std::int64_t rows = tensor.shape[0], width = tensor.size() / rows;
    for (std::int64_t first = 0; first <= rows; ++first) {
      for (std::int64_t count = 0; count <= rows - first; ++count)
        ASSERT_TRUE(equal(weights.read_rows(tensor, first, count),
                          std::span(all).subspan(std::size_t(first * width), std::size_t(count * width))))
            << tensor.name << " " << first << " " << count;
    }
    EXPECT_THROW(weights.read_rows(tensor, -1, 1), Error);
    EXPECT_THROW(weights.read_rows(tensor, 1, rows), Error);
    EXPECT_THROW(weights.read_rows(tensor, 1, std::numeric_limits<std::int64_t>::max()), Error);
  }
}

TEST(Weights, WhatIsThereIsListed) {
  const Weights shards = Weights::open(kGolden / "sharded");
  EXPECT_EQ(shards.files().size(), 3u);
  EXPECT_EQ(shards.tensors().size(), 5u);
  EXPECT_EQ(shards.tensors()[0].name, "layers.0.weight");
  EXPECT_EQ(shards.gguf(), nullptr);
  EXPECT_EQ(shards.find("layer.0.weight"), nullptr);
  try {
    shards.at("layer.0.weight");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::input);
    EXPECT_NE(std::string(e.what()).find("did you mean \"layers.0.weight\"?"), std::string::npos);
  }
  // What gnomon does not read is there all the same.
  const Weights dtypes = Weights::open(kGolden / "dtypes.safetensors");
  for (const char* name : {"F8_E8M0", "F8_E4M3FNUZ", "C64"}) {
    try {
      dtypes.read(dtypes.at(name));
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      EXPECT_NE(std::string(e.what()).find("it reads F64, F32,"), std::string::npos) << e.what();
    }
  }
}

TEST(Weights, MetadataOfGgufHaveTheirKinds) {
  const Weights weights = Weights::open(kGolden / "kinds.gguf");
  const Gguf& g = *weights.gguf();
  EXPECT_EQ(g.text("general.architecture"), "llama");
  EXPECT_EQ(g.whole("key.u8"), 200);
  EXPECT_EQ(g.whole("key.i8"), -100);
  EXPECT_EQ(g.whole("key.u16"), 60000);
  EXPECT_EQ(g.whole("key.i16"), -30000);
  EXPECT_EQ(g.whole("key.u32"), 4000000000);
  EXPECT_EQ(g.whole("key.i32"), -2000000000);
  EXPECT_EQ(g.whole("key.i64"), std::numeric_limits<std::int64_t>::min());
  EXPECT_THROW(g.whole("key.u64"), Error);  // 2^64 − 1 does not fit
  EXPECT_EQ(g.number("key.u64"), 18446744073709551615.0);
  EXPECT_EQ(g.number("key.f32"), double(0.1f));
  EXPECT_EQ(g.number("key.f64"), 0.1);
  EXPECT_EQ(g.number("key.i8"), -100);
  EXPECT_EQ(g.flag("key.bool"), true);
  EXPECT_EQ(g.text("key.text"), "Größe\n");
  EXPECT_EQ(g.wholes("list.u32"), (Shape{1, 2, 3}));
  EXPECT_EQ(g.wholes("list.i32"), (Shape{-1, 2}));
  EXPECT_EQ(g.numbers("list.i32"), (std::vector<double>{-1, 2}));
  EXPECT_EQ(g.numbers("list.f32"), (std::vector<double>{.5, -2}));
  EXPECT_EQ(g.texts("list.text"), (std::vector<std::string>{"a", "", "日本"}));
  EXPECT_EQ(std::get<std::vector<bool>>(*g.find("list.bool")), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(g.whole("key"), std::nullopt);
  EXPECT_EQ(g.texts("key"), std::nullopt);
  // A list of numbers is no list of texts, a text no number.
  EXPECT_THROW(g.texts("list.f32"), Error);
  EXPECT_THROW(g.wholes("list.f32"), Error);
  EXPECT_THROW(g.wholes("list.bool"), Error);
  EXPECT_THROW(g.numbers("list.text"), Error);
  EXPECT_THROW(g.whole("key.f64"), Error);
  EXPECT_THROW(g.whole("key.bool"), Error);
  EXPECT_THROW(g.number("key.text"), Error);
  EXPECT_THROW(g.flag("key.u8"), Error);
  try {
    g.text("list.u32");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("kinds.gguf, \"list.u32\": found a list of 3, allowed is a text"),
              std::string::npos)
        << e.what();
  }
}

// --- A model in parts

TEST(Weights, PartsOfGgufAreOneModel) {
  const Path first = kGolden / "parts" / "model-00001-of-00003.gguf";
  for (const Path& named : {first, kGolden / "parts"}) {
    const Weights whole = Weights::open(named);
    EXPECT_EQ(whole.files().size(), 3u);
    EXPECT_EQ(whole.tensors().size(), 3u);
    EXPECT_EQ(whole.gguf()->whole("llama.block_count"), 2);
  }
}

TEST_F(StrangeWeights, PartsThatLackOrAreExchangedAreRefused) {
  const Path folder = copied("parts");
  const auto part = [&](int n) { return folder / text("model-0000", n, "-of-00003.gguf"); };
  const auto told = [&](int named, const std::string& words) {
    const std::string found = refusal(part(named));
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  EXPECT_EQ(refusal(part(1)), "accepted");
  told(2, "part 2 of 3 of a model, allowed is the first: model-00001-of-00003.gguf");
  std::filesystem::rename(part(2), folder / "kept");
  told(1, "it is part 2 of 3 of a model");
  EXPECT_EQ(Weights::open(part(1), Weights::Parts::that_are_here).tensors().size(), 1u);
  std::filesystem::copy(part(3), part(2));
  told(1, "it does not say that it is part 2 of 3");
  std::filesystem::remove(part(2));
  std::filesystem::rename(folder / "kept", part(2));
  std::filesystem::copy(part(1), folder / "other.gguf");
  const std::string renamed = refusal(folder / "other.gguf");
  EXPECT_NE(renamed.find("under the name that llama-gguf-split gave it"), std::string::npos) << renamed;
}

// --- Damage

// From the last byte to the first; in a GGUF file the padding after the last tensor may be missing.
void cut_everywhere(const Path& file, const Path& opened, std::uint64_t needed) {
  for (std::uint64_t cut = std::filesystem::file_size(file); cut-- > 0;) {
    std::filesystem::resize_file(file, cut);
    ASSERT_EQ(refusal(opened) == "accepted", cut >= needed) << "cut at " << cut;
  }
}

TEST_F(StrangeWeights, AFileCutAnywhereIsRefused) {
  const Path gguf = copied("kinds.gguf");
  std::uint64_t end = 0;
  for (const StoredTensor& t : Weights::open(gguf).tensors()) end = std::max(end, t.offset + t.bytes);
  cut_everywhere(gguf, gguf, end);
  const Path file = copied("dtypes.safetensors");
  cut_everywhere(file, file, std::filesystem::file_size(file));
  for (const char* part : {"model.safetensors.index.json", "model-00002-of-00003.safetensors"}) {
    std::filesystem::remove_all(folder_ / "sharded");
    const Path cut = copied("sharded") / part;
    cut_everywhere(cut, folder_ / "sharded", std::filesystem::file_size(cut));
  }
}

TEST_F(StrangeWeights, ABitFlippedAnywhereCrashesNothing) {
  for (const char* name : {"kinds.gguf", "dtypes.safetensors"}) {
    const Path path = copied(name);
    const auto data = Weights::open(path).tensors()[0].offset;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::uint64_t at, char byte) { file.seekp(std::streamoff(at)).put(byte).flush(); };
    for (std::uint64_t at = 0; at < data; ++at) {
      const int byte = file.seekg(std::streamoff(at)).get();
      for (int bit = 0; bit < 8; ++bit) put(at, char(byte ^ 1 << bit)), refusal(path);
      put(at, char(byte));
    }
    EXPECT_EQ(refusal(path), "accepted");
  }
}

TEST_F(StrangeWeights, AFileShortenedMeanwhileIsAnError) {
  for (const char* name : {"kinds.gguf", "dtypes.safetensors"}) {
    const Path path = copied(name);
    const Weights weights = Weights::open(path);
    std::filesystem::resize_file(path, weights.at("I8").offset + 3);
    try {
      weights.read(weights.at("I8"));
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      EXPECT_NE(std::string(e.what()).find("the file ends at byte"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace gnomon
