// Any bytes as the checkpoint of a run: continued from, or passed over with a note; never an error. The run takes
// one step and stops, and what it then keeps has to lie within the run. The shape is that of make_corpus.py.
#include <nlohmann/json.hpp>

#include "gnomon/files/safetensors.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/plan/study.h"
#include "gnomon/study/run/run.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

struct Tiny {
  StudyConfig study;
  RunPlan plan{{"none", 1, 10, 3e-3}, "fuzz", "asked", "numerics"};
  Corpus corpus;
  Job job;

  Tiny() : study(config()), corpus(text_file(), study.longest() + 1), job(job_of(study, corpus, plan)) {}
  static StudyConfig config() {
    StudyConfig c;
    c.model.layers = 1, c.model.width = 4, c.model.heads = 1, c.model.feed_forward = 1, c.model.length = 4;
    c.model.tied = true;
    c.train.steps = 10, c.train.batch = 1;
    c.arms = {"none"}, c.baseline = "none", c.lengths = {1}, c.score = 4, c.windows = 1, c.points = 5;
    return c;
  }
  static Path text_file() {
    std::string words;
    while (words.size() < 1200) words += "the cat sat. ";
    return file_with(words);
  }
};

// What the run said of the checkpoint; empty: it went on from there.
std::string complaint_about(std::string_view bytes) {
  static const Tiny tiny;
  const RunFolder run{empty_folder() / "run"};
  make_folders(run.folder);
  write_file(run.checkpoint(), bytes);
  std::string notes;
  int asked = 0;
  const auto finished = perform(tiny.job, tiny.plan, run,
                                {.stop = [&] { return asked++ > 0; },
                                 .progress = [](const RunProgress&) {},
                                 .note = [&](const std::string& note) { notes += note; }});
  if (finished) {
    require(!finished->failure.empty(), "a run that finishes at its first step has failed");
  } else {
    const TensorFile kept = read_safetensors(run.checkpoint(), Digest::required);
    const std::int64_t step = nlohmann::json::parse(kept.metadata.at("gnomon.state")).at("step");
    require(step >= 0 && step <= tiny.study.train.steps, "a step of the run");
  }
  return notes;
}

}  // namespace

bool accepts(std::string_view bytes) {
  const std::string complaint = complaint_about(bytes);
  if (complaint.empty()) return true;
  const std::string mended = with_its_checksum(bytes, complaint);
  return !mended.empty() && complaint_about(mended).empty();
}

}  // namespace gnomon::fuzz
