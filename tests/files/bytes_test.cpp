// Bytes of strangers, and of failing disks: JSON, safetensors, results, checkpoints, texts, files that are none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "gnomon/claims/models/experiment.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/safetensors.h"
#include "gnomon/files/sha256.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/plan/study.h"
#include "gnomon/study/plan/workers.h"

namespace gnomon {
namespace {

// What `work` throws: Fault::input, with a message that is short whatever was read.
template <class F>
std::string refusal(F&& work, Fault fault = Fault::input) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), fault) << e.what();
    EXPECT_LT(std::strlen(e.what()), 600u);
    return e.what();
  }
  return "accepted";
}

std::string nested(int depth) {
  return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
}

TEST(StrictJson, RefusesWhatIsNotExactlyOneDocument) {
  const auto why = [](const std::string& bytes) { return refusal([&] { parse_json(bytes, "f"); }); };
  EXPECT_EQ(why(" {\"a\": [1, -2, 3.5e0, null, true, \"\\u00e9\"]} \n"), "accepted");
  EXPECT_EQ(why(nested(64)), "accepted");
  EXPECT_EQ(why(nested(65)), "f: byte 64: deeper than 64 levels");
  EXPECT_EQ(why(nested(100'000)), "f: byte 64: deeper than 64 levels");
  EXPECT_EQ(why("{\"a\":1,\"b\":{\"a\":2},\"a\":3}"), "f: byte 21: the key \"a\" appears twice");
  EXPECT_NE(why("{} x").find("f: byte 3: not JSON"), std::string::npos) << why("{} x");
  EXPECT_NE(why("{\"a\":").find("f: byte 5: not JSON"), std::string::npos) << why("{\"a\":");
  EXPECT_NE(why("").find("f: byte 0: not JSON"), std::string::npos);
  EXPECT_EQ(why(std::string("{}\0 more", 8)), "f: byte 2: a NUL byte; JSON has none");
  EXPECT_EQ(why("\xEF\xBB\xBF{}"), "f: byte 0: a byte order mark; JSON begins without one");
  EXPECT_NE(why("[\"\xff\"]").find("f: byte 2: not JSON"), std::string::npos) << why("[\"\xff\"]");
  EXPECT_NE(why("[NaN]").find("not JSON"), std::string::npos);
  EXPECT_NE(why("[1e400]").find("not JSON"), std::string::npos);
  EXPECT_NE(why("[\"" + std::string(1 << 20, 'x')).find("not JSON"), std::string::npos);
  EXPECT_NE(why("[" + std::string(1 << 20, '7') + "e99999").find("not JSON"), std::string::npos);
}

TEST(StrictJson, NumbersKeepTheKindTheyWereWrittenIn) {
  const auto whole = [](const std::string& written) {
    const StrictJson json = parse_json("{\"n\":" + written + "}", "f");
    return refusal([&] { JsonValue(json, "f").member("n").unsigned_whole(); });
  };
  for (const char* written : {"0", "7", "18446744073709551615"})
    EXPECT_EQ(whole(written), "accepted") << written;
  for (const char* written :
       {"-1", "-0", "1.5", "1.0", "1e3", "\"0\"", "18446744073709551616", "true", "null", "[]", "{}"})
    EXPECT_NE(whole(written).find("f, \"n\": found "), std::string::npos) << written;
  EXPECT_EQ(whole("-1"), "f, \"n\": found -1, allowed is a whole number from 0 to 18446744073709551615");

  const StrictJson json =
      parse_json("{\"a\":[1,-9223372036854775808,9223372036854775808,\"x\\n\\u001b[2J\"]}", "f");
  const auto list = JsonValue(json, "f").member("a").list(4);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(),
                 kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(list[1].whole(kLeast, kMost), kLeast);
  EXPECT_EQ(refusal([&] { list[0].whole(2, 5); }),
            "f, \"a\"[0]: found 1, allowed is a whole number from 2 to 5");
  EXPECT_NE(refusal([&] { list[2].whole(kLeast, kMost); }), "accepted");
  EXPECT_EQ(refusal([&] { list[3].number(); }), "f, \"a\"[3]: found \"x\\x0A\\x1B[2J\", allowed is a number");
  EXPECT_EQ(refusal([&] { JsonValue(json, "f").member("b"); }), "f: there is no key \"b\"");
  EXPECT_EQ(refusal([&] { JsonValue(json, "f").member("a").text(); }),
            "f, \"a\": found a list of 4, allowed is a text");
}

TEST(StrictJson, ASealIsOfEveryByteBeforeIt) {
  const std::string whole = sealed("{\"a\":1,\n \"b\":[2]\n}");
  EXPECT_EQ(whole,
            text("{\"a\":1,\n \"b\":[2],\n \"sha256\": \"", sha256("{\"a\":1,\n \"b\":[2]"), "\"\n}\n"));
  const StrictJson json = parse_sealed_json(whole, "f");
  EXPECT_EQ(JsonValue(json, "f").member("b").list(1)[0].whole(0, 9), 2);
  const auto why = [](const std::string& bytes) { return refusal([&] { parse_sealed_json(bytes, "f"); }); };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    ++changed[at];
    EXPECT_EQ(why(changed), "f: the content does not match the SHA-256 at its end") << at;
    EXPECT_EQ(why(whole.substr(0, at)), "f: the content does not match the SHA-256 at its end") << at;
  }
  EXPECT_NE(why(sealed("{\"a\":}")).find("not JSON"), std::string::npos);
}

class Bytes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-bytes-", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Path file() const { return folder_ / "f"; }
  // Thousands of damaged files: without the syncs of write_file, nor those of a file system for one that is replaced.
  void put(const std::string& bytes) const {
    std::filesystem::remove(file());
    std::ofstream(file(), std::ios::binary) << bytes;
  }
  std::string safetensors_refusal(const std::string& header, const std::string& data = "") {
    const std::uint64_t n = header.size();
    put(std::string(reinterpret_cast<const char*>(&n), 8) + header + data);
    return refusal([&] { read_safetensors(file(), Digest::if_present); });
  }
  Path folder_;
};

std::string tensor(const char* shape, const char* offsets, const char* dtype = "\"F32\"") {
  return text("{\"dtype\":", dtype, ",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

TEST_F(Bytes, HeadersOfStrangersAreReadWithoutBelievingThem) {
  const std::string eight(8, '\0');
  const auto one = [&](const std::string& t) { return safetensors_refusal("{\"a\":" + t + "}", eight); };
  EXPECT_EQ(one(tensor("[2]", "[0,8]")), "accepted");
  EXPECT_EQ(safetensors_refusal("   {\"a\":" + tensor("[1,2]", "[0,8]") + "}  ", eight), "accepted");
  // Another order than the data's, and tensors of no numbers wherever.
  EXPECT_EQ(safetensors_refusal("{\"z\":" + tensor("[1]", "[4,8]") + ",\"e\":" + tensor("[0,9]", "[4,4]") +
                                    ",\"a\":" + tensor("[]", "[0,4]") + "}",
                                eight),
            "accepted");
  for (const char* offset : {"-1", "1.5", "1e3", "8.0", "\"8\"", "18446744073709551616", "true", "null"}) {
    EXPECT_NE(one(tensor("[2]", text("[0,", offset, "]").c_str())).find("\"a\", \"data_offsets\"[1]: found"),
              std::string::npos)
        << offset;
    EXPECT_NE(one(tensor(text("[", offset, "]").c_str(), "[0,8]")).find("\"a\", \"shape\"[0]: found"),
              std::string::npos)
        << offset;
  }
  for (const auto& bad :
       {tensor("[4294967296,4294967296]", "[0,8]"), tensor("[4611686018427387904,4]", "[0,0]"),
        tensor("[3]", "[0,8]"), tensor("[2]", "[8,0]"), tensor("[1]", "[0,4]"), tensor("[2]", "[4,12]"),
        tensor("[4]", "[0,16]"), tensor("[2]", "[0,8,8]"), tensor("2", "[0,8]"),
        tensor("[2]", "[0,8]", "\"F8_E4M3\""), tensor("[2]", "[0,8]", nested(63).c_str()), std::string("[]"),
        std::string("{}")})
    EXPECT_NE(one(bad), "accepted") << bad.substr(0, 80);
  EXPECT_NE(one(tensor("[2]", "[0,8]", nested(100'000).c_str())).find("deeper than 64"), std::string::npos);
  // Overlap, and a hole.
  EXPECT_NE(safetensors_refusal("{\"a\":" + tensor("[2]", "[0,8]") + ",\"b\":" + tensor("[1]", "[4,8]") + "}",
                                eight),
            "accepted");
  EXPECT_NE(safetensors_refusal("{\"a\":" + tensor("[1]", "[4,8]") + "}", eight), "accepted");
  EXPECT_NE(safetensors_refusal("{\"a\":" + tensor("[0]", "[0,0]") + ",\"a\":" + tensor("[2]", "[0,8]") + "}",
                                eight)
                .find("appears twice"),
            std::string::npos);
  EXPECT_NE(safetensors_refusal("{\"__metadata__\":{},\"__metadata__\":{}}").find("appears twice"),
            std::string::npos);
  EXPECT_NE(safetensors_refusal("{\"__metadata__\":{\"x\":1}}").find("allowed is a text"), std::string::npos);
  EXPECT_NE(safetensors_refusal("{\"" + std::string(70'000, 'n') + "\":" + tensor("[0]", "[0,0]") + "}")
                .find("at most 65536 bytes"),
            std::string::npos);
  for (const std::uint64_t n :
       {std::uint64_t(1) << 63, ~std::uint64_t(0), std::uint64_t(100'000'001), std::uint64_t(9)}) {
    write_file(file(), std::string(reinterpret_cast<const char*>(&n), 8) + std::string(8, ' '));
    EXPECT_NE(
        refusal([&] { read_safetensors(file(), Digest::if_present); }).find("byte 0: found a header of"),
        std::string::npos);
  }
}

TEST_F(Bytes, OurOwnFilesNeedTheirChecksum) {
  const std::vector<float> a{1, 2}, none;
  // Empty tensors come back in the order they were written, which the checksum needs.
  write_safetensors(
      file(), std::vector<Tensor>{{"z", {0}, none}, {"b", {2}, a}, {"y", {0, 3}, none}, {"x", {0}, none}},
      {});
  EXPECT_EQ(read_safetensors(file(), Digest::required).tensors.size(), 4u);
  const auto header = "{\"a\":" + tensor("[0]", "[0,0]") + "}";
  EXPECT_EQ(safetensors_refusal(header), "accepted");
  EXPECT_NE(refusal([&] { read_safetensors(file(), Digest::required); }).find("the checksum is missing"),
            std::string::npos);
  EXPECT_NE(refusal(
                [&] {
                  write_safetensors(file(), std::vector<Tensor>{{"\xff", {2}, a}}, {});
                },
                Fault::usage)
                .find("the tensor name '\\xff' is not UTF-8"),
            std::string::npos);
}

TEST_F(Bytes, ManyTensorsTakeLinearTime) {  // looked up one by one, these would take minutes
  const std::vector<float> one{1};
  std::vector<Tensor> all;
  for (int n = 0; n < 100'000; ++n) all.push_back({text("t", n), {1}, one});
  write_safetensors(file(), all, {});
  EXPECT_EQ(read_safetensors(file(), Digest::required).tensors.size(), all.size());
}

TEST_F(Bytes, OnlyRegularFilesThatFitAreRead) {
  const auto why = [](const Path& path) { return refusal([&] { read_file(path); }, Fault::resource); };
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(why(folder_ / "pipe").find("found a pipe (FIFO); a regular file is needed"), std::string::npos);
  EXPECT_NE(why("/dev/zero").find("found a device"), std::string::npos);
  EXPECT_NE(why(folder_).find("found a folder"), std::string::npos);
  EXPECT_NE(why(folder_ / "missing").find("cannot open: No such file"), std::string::npos);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (folder_ / "s").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.c_str(), name.size());
  const int s = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(why(name).find("found a socket"), std::string::npos);
  close(s);
  const int huge = open(file().c_str(), O_WRONLY | O_CREAT, 0600);  // 8 TB of hole
  ASSERT_EQ(ftruncate(huge, off_t(8) << 40), 0) << std::strerror(errno);
  close(huge);
  EXPECT_NE(why(file()).find("the file has 8796093022208 bytes, but only "), std::string::npos);
  write_file(file(), "");
  EXPECT_EQ(read_file(file()), "");
}

TEST_F(Bytes, WritersOfOneFileWaitForEachOther) {
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int n = 0; n < 20; ++n) {
        try {
          write_file(file(), std::string(100'000, letter));
        } catch (const Error&) {
          ++failed;
        }
      }
    });
  }
  for (auto& w : writers) w.join();
  EXPECT_EQ(failed, 0);
  const std::string last = read_file(file());
  EXPECT_EQ(last, std::string(100'000, last.empty() ? ' ' : last.front()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

RunResult small_result() {
  RunResult r;
  r.plan = {{"rope", 1, 2, 3e-3}, "abc", "def", "numerics 2"};
  r.parameters = 12, r.flops_per_token = 1e6, r.nats = 1.25;
  r.curve = {{1, 2.5, 2.25}, {2, std::nan(""), std::nan("")}};
  r.by_block = {1.5, 1.0};
  r.by_length = {{1, 16, 1.5, {1.25, 1.75}, Tally{3, 4}, Tally{5, 8}, {{1, 2}, {2, 2}}},
                 {2, 32, std::nullopt, {}}};
  r.by_position = {1.5, std::nan("")};
  r.weights_sha256 = sha256("");
  return r;
}

TEST_F(Bytes, EveryBitOfAResultCounts) {
  const std::string whole = result_json(small_result());
  write_file(file(), whole);
  EXPECT_EQ(result_json(result_from_json(file())), whole);
  const auto refused = [&](const std::string& bytes) {
    put(bytes);
    const std::string why = refusal([&] { result_from_json(file()); });
    return why.find(file().string()) == 0 && why.find("remove the file to run it again") != std::string::npos;
  };
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ 1 << bit % 8);
    ASSERT_TRUE(refused(flipped)) << "bit " << bit;
  }
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    ASSERT_TRUE(refused(whole.substr(0, cut))) << "cut at " << cut;
  EXPECT_TRUE(refused(whole + "\n"));
}

// With a digest that matches, the content still has to be a result.
TEST_F(Bytes, AForgedResultIsRefused) {
  const std::string whole = result_json(small_result()), end = ",\n \"sha256\": \"";
  const std::string content = whole.substr(0, whole.find(end));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"seed\": 1", "\"seed\": -1"},
           {"\"seed\": 1", "\"seed\": 1.5"},
           {"\"nats\": 1.25", "\"nats\": \"1\""},
           {"\"curve\": [", "\"curve\": [" + nested(200'000) + ","},
           {"\"key\": \"abc\"", "\"key\": null"}}) {
    std::string forged = content;
    ASSERT_NE(forged.find(from), std::string::npos) << forged;
    forged.replace(forged.find(from), from.size(), to);
    write_file(file(), forged + end + sha256(forged) + "\"\n}\n");
    EXPECT_NE(refusal([&] { result_from_json(file()); }).find("remove the file"), std::string::npos)
        << to.substr(0, 40);
  }
}

TEST_F(Bytes, NaNsOfACurveReadBack) {
  write_file(file(), result_json(small_result()));
  const RunResult r = result_from_json(file());
  ASSERT_EQ(r.curve.size(), 2u);
  EXPECT_TRUE(std::isnan(r.curve[1].training) && std::isnan(r.curve[1].held_out));
  EXPECT_TRUE(std::isnan(r.by_position[1]));
  EXPECT_EQ(r.curve[0].held_out, 2.25);
}

// A checkpoint whose checksum is right but whose state is not is passed over, and leaves nothing of itself.
TEST_F(Bytes, CheckpointsWithAnImpossibleStateArePassedOver) {
  std::string words;
  while (words.size() < 5000) words += "the cat sat. ";
  write_file(folder_ / "text", words);
  StudyConfig config;
  config.text_path = (folder_ / "text").string();
  config.arms = {"none"}, config.baseline = "none", config.seeds = 1, config.tuning.seeds = 0;
  config.model.layers = 1, config.model.width = 8, config.model.heads = 2, config.model.length = 8;
  config.train.steps = 4, config.train.batch = 2, config.score = 4, config.windows = 2, config.points = 2;
  const Corpus corpus(config.text_path, config.longest() + 1);
  const RunPlan plan = plan_runs(config, corpus, {})[0];
  const Job job = job_of(config, corpus, plan);
  const auto bits = [&](const RunFolder& folder, std::vector<std::string>* notes) {
    auto r = perform(job, plan, folder,
                     {[] { return false; }, [](const RunProgress&) {},
                      [&](const std::string& n) { notes->push_back(n); }});
    r->cost = {};
    return result_json(*r);
  };
  std::vector<std::string> notes;
  const std::string clean = bits({folder_ / "clean"}, &notes);
  ASSERT_TRUE(notes.empty());

  const RunFolder begun{folder_ / "begun"};
  int steps = 2;
  perform(job, plan, begun,
          {[&] { return steps-- == 0; }, [](const RunProgress&) {}, [](const std::string&) {}});
  const TensorFile good = read_safetensors(begun.checkpoint(), Digest::required);
  const auto state = [](const char* step, const char* count, const char* curve) {
    return text("{\"step\":", step, ",\"loss_sum\":1,\"loss_count\":", count,
                ",\"training_seconds\":1,\"curve\":", curve, "}");
  };
  int n = 0;
  for (const std::string& bad :
       {std::string("x"), std::string("[]"), std::string("{\"step\":2}"), state("-1", "0", "[]"),
        state("5", "0", "[]"), state("1e1", "0", "[]"), state("1000000000000000000", "0", "[]"),
        state("2", "-1", "[]"), state("2", "9", "[]"), state("2", "0", "[[1]]"), state("2", "0", "[[3,1,1]]"),
        state("2", "0", "[[2,1,1],[1,1,1]]"), state("2", "0", "[[1,\"a\",1]]"),
        state("2", "0", nested(100'000).c_str())}) {
    const RunFolder folder{folder_ / text("bad", n++)};
    make_folders(folder.folder);
    Metadata metadata = good.metadata;
    metadata["gnomon.state"] = bad;
    write_safetensors(folder.checkpoint(), good.tensors, metadata);
    notes.clear();
    EXPECT_EQ(bits(folder, &notes), clean) << bad.substr(0, 60);
    ASSERT_EQ(notes.size(), 1u) << bad.substr(0, 60);
    EXPECT_NE(notes[0].find("damaged checkpoint skipped"), std::string::npos);
  }
}

TEST_F(Bytes, ADamagedModelOfAClaimIsTrainedAgain) {
  const Recipe recipe{
      .data = "previous", .spec = "none", .layers = 1, .width = 16, .heads = 2, .length = 8, .steps = 4};
  std::vector<std::string> notes;
  const TrainHooks hooks{
      .stop = {}, .progress = {}, .note = [&](const std::string& n) { notes.push_back(n); }};
  const Outcome first = train_or_load(recipe, 1, nullptr, folder_, hooks);
  const RunFolder run{std::filesystem::directory_iterator(folder_)->path()};
  const Path kept = run.model();
  const std::string whole = read_file(kept), result = read_file(run.result());
  const TensorFile good = read_safetensors(kept, Digest::required);
  const auto with = [&](const char* key, const char* value) {
    Metadata metadata = good.metadata;
    value ? void(metadata[key] = value) : void(metadata.erase(key));
    write_safetensors(kept, good.tensors, metadata);
  };
  const std::function<void()> damages[] = {
      [&] { std::ofstream(kept) << whole.substr(0, whole.size() - 1); },
      [&] {
        std::string flipped = whole;
        flipped.back() ^= 1;
        std::ofstream(kept) << flipped;
      },
      [&] { std::filesystem::remove(kept); },
      [&] { with("gnomon.key", nullptr); },
      [&] { with("gnomon.key", "another"); },
      [&] { std::ofstream(run.result()) << result.substr(0, result.size() - 1); },
      [&] { std::ofstream(run.result()) << "x" << result.substr(1); },
      [&] { std::ofstream(run.result()); },
      [&] { write_safetensors(kept, std::vector<Tensor>{}, good.metadata); }};
  for (const auto& damage : damages) {
    notes.clear();
    damage();
    const Outcome again = train_or_load(recipe, 1, nullptr, folder_, hooks);
    EXPECT_FALSE(again.found);
    EXPECT_EQ(again.w, first.w);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("damaged model removed and trained again"), std::string::npos);
    EXPECT_TRUE(train_or_load(recipe, 1, nullptr, folder_, hooks).found);
    EXPECT_EQ(notes.size(), 1u);
  }
}

TEST(WorkerLines, ReadBackAndGarbageIsRefused) {
  const WorkerLine told = read_worker_line(tell_progress({3, 10, 2.5, 1e4}));
  ASSERT_TRUE(told.progress);
  EXPECT_EQ(told.progress->step, 3);
  EXPECT_EQ(told.progress->nats, 2.5);
  EXPECT_EQ(read_worker_line(tell_note("a \"note\"")).note, "a \"note\"");
  EXPECT_EQ(read_worker_line(tell_note("a path\xff")).note,
            "a path\xEF\xBF\xBD");  // U+FFFD, not an exception
  const WorkerLine error = read_worker_line(tell_error(4, "no room"));
  EXPECT_EQ(error.error, "no room");
  EXPECT_EQ(error.fault, Fault::resource);
  EXPECT_EQ(read_worker_line("{\"error\":\"x\",\"fault\":99}").fault, Fault::bug);
  for (const std::string& line :
       {std::string("onednn_verbose,info,cpu"), std::string("{}"), std::string("3"),
        std::string("{\"step\":\"x\"}"), std::string("{\"step\":1}"), std::string("{\"note\":[]}"),
        std::string("{\"error\":1,\"fault\":\"x\"}"), nested(100'000)})
    EXPECT_NE(refusal([&] { read_worker_line(line); }), "accepted") << line.substr(0, 40);
}

TEST_F(Bytes, WindowsLineEndsBecomeLfWhateverIsAroundThem) {
  std::string raw, wanted;
  for (int n = 0; n < 300; ++n) raw += "a\r\n\r\r\nb\rc\n", wanted += "a\n\r\nb\rc\n";
  raw += "\r", wanted += "\r";
  write_file(file(), raw);
  const Corpus corpus(file(), 64);
  EXPECT_EQ(corpus.content(), wanted);
  ASSERT_EQ(corpus.notes().size(), 1u);
  EXPECT_NE(corpus.notes()[0].find("600 Windows line ends"), std::string::npos);
}

TEST_F(Bytes, ATextWithoutEntropyIsNoted) {
  const auto notes = [&](const std::string& content) {
    write_file(file(), content);
    return Corpus(file(), 64).notes();
  };
  ASSERT_EQ(notes(std::string(2000, 'y')).size(), 1u);
  EXPECT_NE(notes(std::string(2000, 'y'))[0].find("has almost no information, 0.000 bits per byte"),
            std::string::npos);
  EXPECT_EQ(notes(std::string(1900, 'y') + std::string(100, 'n')).size(), 1u);  // 0.286 bits
  std::string coin;
  for (int n = 0; n < 1000; ++n) coin += "yn";
  EXPECT_TRUE(notes(coin).empty());  // 1 bit
}

TEST(Paths, OfATextMustBeOnesThatStudyTomlCanHold) {
  StudyConfig config;
  for (const char* path : {"/a/b\nc.txt", "/a/\x1b[2J", "/a/\xff.txt", "/a/\x7f"}) {
    config.text_path = path;
    EXPECT_NE(refusal([&] { config.check(); }, Fault::usage).find("study.text: found \"/a/"),
              std::string::npos);
  }
  config.text_path = "/дом/b c.txt";
  EXPECT_EQ(refusal([&] { settle(config); }), "accepted");
}

}  // namespace
}  // namespace gnomon
