#include "gnomon/study/results/archive.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"

namespace gnomon {
namespace {

using Json = StrictJson;

constexpr double kOfANat = 1e5;  // rounding adds 3e-6 nats to a block, 2e-7 to the mean of 320
constexpr double kDrawn = 1e4;   // of what is only drawn

// What is told of a text whose windows nobody has here.
class TextOfAnArchive final : public Data {
 public:
  explicit TextOfAnArchive(const JsonValue& j)
      : print_(j.member("print").text()),
        unit_(j.member("unit").text()),
        vocabulary_(j.member("vocabulary").whole(1, std::int64_t{1} << 31)),
        tokens_(j.member("training_tokens").number()) {
    for (const JsonValue& sentence : j.member("describe").list()) sentences_.push_back(sentence.text());
    if (const auto r = j.find("reference"))
      reference_ = ReferenceLosses{r->member("letters").number(), r->member("pairs").number()};
  }
  std::string print() const override { return print_; }
  std::string unit() const override { return unit_; }
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::vector<std::string> describe() const override { return sentences_; }
  double training_tokens() const override { return tokens_; }
  std::optional<ReferenceLosses> reference() const override { return reference_; }
  Sample training(const StepBatch&) const override { return none(); }
  Sample held_out(const Windows&) const override { return none(); }

 private:
  [[noreturn]] static Sample none() { throw Error(Fault::usage, "an archive of a study has no text"); }
  std::string print_, unit_;
  std::int64_t vocabulary_;
  double tokens_;
  std::vector<std::string> sentences_;
  std::optional<ReferenceLosses> reference_;
};

Json json_of(const Data& d) {
  const auto reference = d.reference();
  return {
      {"print", d.print()},
      {"unit", d.unit()},
      {"vocabulary", d.vocabulary()},
      {"training_tokens", d.training_tokens()},
      {"describe", d.describe()},
      {"reference", reference ? Json{{"letters", reference->letters}, {"pairs", reference->pairs}} : Json()}};
}

void round_all(Json& numbers, double per_nat) {
  for (Json& x : numbers) {
    if (x.is_number_float()) x = std::round(x.get<double>() * per_nat) / per_nat;
  }
}
// A run with the arrays and digits that pages need. Keys are those of a machine, so none stands here.
Json json_of(const RunResult& run, bool largest) {
  Json j = Json::parse(result_json(run));
  for (const char* key : {"sha256", "key", "asked", "weights_sha256"}) j.erase(key);
  if (!largest || tunes(run.plan)) j["by_position"] = j["curve"] = Json::array();
  if (tunes(run.plan)) j["by_block"] = Json::array();
  round_all(j["by_block"], kOfANat), round_all(j["by_position"], kDrawn);
  for (Json& point : j["curve"]) round_all(point, kDrawn);
  for (Json& length : j["by_length"]) round_all(length["by_block"], kOfANat);
  j["cost"] = {run.cost.tokens_per_second, run.cost.peak_memory_bytes};
  return j;
}

RunResult run_from(Json j, const std::string& where) {
  if (!j.is_object()) throw Error(Fault::input, text(where, ": a run is no object"));
  for (const char* key : {"key", "asked", "weights_sha256"}) j[key] = "";
  if (!j["cost"].is_array() || j["cost"].size() != 2)
    throw Error(Fault::input, text(where, ": a run has no cost"));
  j["cost"] = {{"training_seconds", 0.0},
               {"evaluation_seconds", 0.0},
               {"tokens_per_second", j["cost"][0]},
               {"peak_memory_bytes", j["cost"][1]}};
  return result_from_text(j.dump(), where);
}

// It becomes that of a folder.
std::string name_of(const JsonValue& study, bool alone) {
  const std::string& name = study.member("name").text();
  if (!(name.empty() ? alone : is_plain_word(name)))
    study.member("name").wrong("a name of a to z, 0 to 9 and -, or an empty one of the only study");
  return name;
}

}  // namespace

std::string archive_json(const std::vector<ToArchive>& studies) {
  Json all{{"schema", 1}, {"version", GNOMON_VERSION}, {"studies", Json::array()}};
  for (const ToArchive& s : studies) {
    StudyConfig config = *s.config;
    if (config.data == "lines")
      throw Error(Fault::usage, "an archive holds studies of texts and tasks; found study.data lines");
    config.text_path = Path(config.text_path).filename().string();
    Json study{{"name", s.name},
               {"study", print_toml(config)},
               {"data", config.is_task() ? Json() : json_of(*s.data)},
               {"runs", Json::array()}};
    std::vector<const RunResult*> runs;
    for (const auto& [key, run] : *s.found) runs.push_back(&run);
    const auto place = [](const RunResult* r) {
      return std::tuple(r->plan.arm, r->plan.seed, r->plan.steps, r->plan.learning_rate);
    };
    std::sort(runs.begin(), runs.end(),
              [&](const RunResult* a, const RunResult* b) { return place(a) < place(b); });
    for (const RunResult* run : runs)
      study["runs"].push_back(json_of(*run, run->plan.steps == steps_at(config, Arm(run->plan.arm), 1)));
    all["studies"].push_back(std::move(study));
  }
  std::string lines;  // a run a line, so that a change is one
  const std::string whole = all.dump();
  for (std::size_t from = 0;;) {
    const std::size_t next = whole.find(",{\"numerics\"", from);
    lines += whole.substr(from, next == std::string::npos ? next : next + 1 - from) + "\n";
    if (next == std::string::npos) return lines;
    from = next + 1;
  }
}

std::vector<Archived> archive_from(const Path& path) {
  const Json json = parse_json(read_file(path), path.string());
  const JsonValue top(json, path.string());
  top.member("schema").whole(1, 1);
  std::vector<Archived> all;
  const std::vector<JsonValue> studies = top.member("studies").list();
  for (const JsonValue& study : studies) {
    Archived a{name_of(study, studies.size() == 1), {}, nullptr, {}};
    read_toml(fields(a.config), {study.member("study").text(), study.where()});
    a.config.check();
    if (a.config.is_task())
      a.data = open_data(a.config);
    else
      a.data = std::make_unique<TextOfAnArchive>(study.member("data"));
    (void)study.member("runs").list();  // that it is one
    for (const Json& written : json["studies"][all.size()]["runs"]) {
      RunResult run = run_from(written, study.where());
      const std::string computed_by = run.plan.numerics;
      run.plan = plan_of(a.config, *a.data, run.plan), run.plan.numerics = computed_by;
      a.found.emplace(run.plan.key, std::move(run));
    }
    all.push_back(std::move(a));
  }
  return all;
}

// A result may be the last that the choice of a rate waited for, and then more runs follow.
std::size_t take_over(const Archived& from, const StudyConfig& config, const Data& data,
                      const StudyFolder& folder) {
  std::map<std::string, const RunResult*> there;
  for (const auto& [key, run] : from.found) there.emplace(run.plan.asked, &run);
  StudyConfig settings = from.config;
  settings.text_path = config.text_path;  // an archive has its name alone
  Found found;
  std::size_t taken = 0;
  for (bool news = true; news;) {
    news = false;
    for (const RunPlan& run : plan_runs(config, data, found)) {
      const Path result = folder.run(run).result();
      const auto same = there.find(run.asked);
      const bool is_here = std::filesystem::exists(result);
      if (found.count(run.key) || (!is_here && same == there.end())) continue;
      news = true;
      if (!is_here) {
        RunResult copy = *same->second;
        copy.plan.key = run.key;
        make_folders(result.parent_path());
        if (!std::filesystem::exists(folder.config())) write_file(folder.config(), print_toml(settings));
        write_file(result, result_json(copy)), ++taken;
      }
      found.emplace(run.key, result_of(run, folder.run(run)));
    }
  }
  return taken;
}

}  // namespace gnomon
