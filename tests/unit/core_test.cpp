// Random numbers, files, hashes, text; safetensors files and what may be wrong with them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "gnomon/checkpoint/safetensors.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/report/picture.h"

namespace gnomon {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-test-", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Path folder_;
};

// Known answers of the authors: Random123, tests/kat_vectors, philox4x32 10.
TEST(Random, PhiloxGivesTheKnownAnswers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsHaveTheirMomentsAndAreIndependent) {
  const Random a(1, "a"), b(1, "b"), c(2, "a");
  double mean = 0, square = 0, ab = 0, ac = 0, uniform = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = a.normal(std::uint64_t(i));
    mean += x / n, square += x * x / n, ab += x * b.normal(std::uint64_t(i)) / n,
        ac += x * c.normal(std::uint64_t(i)) / n;
    uniform += a.uniform(std::uint64_t(i)) / n;
    ASSERT_LT(a.below(std::uint64_t(i), 7), 7u);
  }
  EXPECT_NEAR(mean, 0, 0.015);
  EXPECT_NEAR(square, 1, 0.02);
  EXPECT_NEAR(ab, 0, 0.015);
  EXPECT_NEAR(ac, 0, 0.015);
  EXPECT_NEAR(uniform, 0.5, 0.005);
  EXPECT_EQ(Random(1, "a").bits(5), a.bits(5));
}

TEST(Text, NumbersRoundTrip) {
  EXPECT_EQ(shortest(10000), "10000");
  EXPECT_EQ(shortest(0.25), "0.25");
  EXPECT_EQ(shortest(1e-5), "1e-05");
  EXPECT_EQ(number(shortest(0.1), ""), 0.1);
  EXPECT_THROW(number("1x", "n"), Error);
  EXPECT_THROW(integer("1.5", "n"), Error);
  EXPECT_EQ(fixed(7.4851662, 6), "7.485166");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
}

TEST(Text, Utf8IsToldFromWhatIsNot) {
  EXPECT_EQ(first_invalid_utf8("plain, äöü, 漢字, 🙂"), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc3"), 1u);             // cut short
  EXPECT_EQ(first_invalid_utf8("\xc0\xaf"), 0u);          // overlong
  EXPECT_EQ(first_invalid_utf8("ab\xed\xa0\x80"), 2u);    // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // past U+10FFFF
}

TEST(Hash, Sha256OfTheStandardsExample) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
TEST(Base64, Rfc4648Vectors) {
  EXPECT_EQ(report::base64(""), "");
  EXPECT_EQ(report::base64("f"), "Zg==");
  EXPECT_EQ(report::base64("fo"), "Zm8=");
  EXPECT_EQ(report::base64("foobar"), "Zm9vYmFy");
}

TEST_F(Files, WritingReplacesWholeFilesAndLeavesNothingElse) {
  const Path path = folder_ / "a";
  write_file(path, "one");
  write_file(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_THROW(write_file(folder_ / "no" / "where", "x"), Error);
  EXPECT_THROW(read_file(folder_ / "missing"), Error);
}

// A full disk, played by a limit on the size of files.
TEST_F(Files, AFullDiskLeavesTheOldContent) {
  const Path path = folder_ / "a";
  write_file(path, "old");
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {
  }, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(path, std::string(5000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, ALockIsHeldOnce) {
  const FileLock lock(folder_ / "lock", "the study");
  EXPECT_THROW(FileLock(folder_ / "lock", "the study"), Error);
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

}  // namespace
}  // namespace gnomon
