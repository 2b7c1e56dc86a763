// Parts of a file that lies elsewhere, digests that come in pieces, and files that are written piece by piece.
#include "gnomon/files/parts.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gnomon/core/error.h"
#include "gnomon/core/new_file.h"
#include "gnomon/files/hash.h"
#include "gnomon/files/weights.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

const Path kGolden = Path(GNOMON_TESTS) / "golden/weights";

std::string read(const WeightFile& file, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, ' ');
  file.read(offset, bytes);
  return bytes;
}

class Parts : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    path_ = folder_ / "parts.safetensors";
  }
  Path path_;
};
using NewFileTest = Files;

TEST_F(Parts, AreReadAtTheirPlaces) {
  write_parts(path_, 1'000'000'000'000, std::vector<FilePart>{{0, "abcdef"}, {6, "gh"}, {100, "xyz"}});
  const WeightFile file(path_);
  EXPECT_EQ(file.size(), 1'000'000'000'000u);
  EXPECT_EQ(read(file, 0, 8), "abcdefgh");  // across two parts
  EXPECT_EQ(read(file, 101, 2), "yz");
  for (const std::uint64_t missing : {7u, 8u, 99u, 102u}) {
    try {
      read(file, missing, 2);
      ADD_FAILURE() << missing;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::resource);
      EXPECT_NE(std::string(e.what()).find("was not fetched"), std::string::npos);
    }
  }
}

TEST_F(Parts, OfAnotherFileAreThatFile) {
  for (const std::string& content : {std::string("short"), std::string(100, 'x')}) {
    write_file(path_, content);
    EXPECT_EQ(read(WeightFile(path_), 0, content.size()), content);
  }
}

// The header of a file of weights is enough for names and shapes, and for the numbers that are there.
TEST_F(Parts, OfWeightsAreWeights) {
  const Path whole = kGolden / "dtypes.safetensors";
  const Weights expected = Weights::open(whole);
  const StoredTensor& last = expected.tensors().back();
  const std::string bytes = read_file(whole);
  write_parts(path_, bytes.size(),
              std::vector<FilePart>{{0, bytes.substr(0, expected.tensors()[0].offset)},
                                    {last.offset, bytes.substr(last.offset, last.bytes)}});
  const Weights found = Weights::open(path_);
  ASSERT_EQ(found.tensors().size(), expected.tensors().size());
  for (std::size_t n = 0; n < found.tensors().size(); ++n) {
    EXPECT_EQ(found.tensors()[n].name, expected.tensors()[n].name);
    EXPECT_EQ(found.tensors()[n].shape, expected.tensors()[n].shape);
  }
  EXPECT_EQ(found.read(found.tensors().back()), expected.read(last));
  EXPECT_THROW(found.read(found.tensors()[0]), Error);
}

// Every number of the table, made wrong.
TEST_F(Parts, MalformedAreRefused) {
  write_parts(path_, 1000, std::vector<FilePart>{{0, "abcdef"}, {100, "xyz"}});
  const std::string good = read_file(path_);
  const auto refused = [&](std::size_t at, std::uint64_t value) {
    std::string bad = good;
    std::memcpy(bad.data() + at, &value, sizeof value);
    write_file(path_, bad);
    EXPECT_THROW(WeightFile{path_}, Error) << at << " " << value;
  };
  refused(16, 50);                                                                      // the size
  for (const std::uint64_t count : {3ull, 100ull, 5000ull, ~0ull}) refused(24, count);  // of parts
  for (const std::uint64_t length : {101ull, 2000ull, ~0ull}) refused(40, length);      // of the first
  for (const std::uint64_t begin : {5ull, 998ull, 1001ull, ~0ull}) refused(48, begin);  // of the second
  for (const std::uint64_t length : {4ull, 901ull, ~0ull, ~0ull - 99}) refused(56, length);
  write_file(path_, good.substr(0, good.size() - 1));
  EXPECT_THROW(WeightFile{path_}, Error);
}

TEST(RunningHash, IsThatOfTheStandardsAndOfGit) {
  const auto hash = [](RunningHash::Kind kind, std::initializer_list<std::string_view> pieces) {
    RunningHash running(kind);
    for (const auto piece : pieces) running.add(piece);
    return running.hex();
  };
  using Kind = RunningHash::Kind;
  // FIPS 180-4's examples, and the blob of an empty file as `git hash-object` prints it.
  EXPECT_EQ(hash(Kind::sha1, {"a", "", "bc"}), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hash(Kind::sha256, {"ab", "c"}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash(Kind::sha1, {std::string_view("blob 0\0", 7)}), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST_F(NewFileTest, IsThereWhenItIsKept) {
  const Path path = folder_ / "new-file";
  write_file(path, "old");
  {
    NewFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".partial"));
  NewFile file(path);
  file.write("ne"), file.write("w");
  file.keep();
  EXPECT_EQ(read_file(path), "new");
}

}  // namespace
}  // namespace gnomon
