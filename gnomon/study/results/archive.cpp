#include "gnomon/study/results/archive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/zlib.h"

namespace gnomon {
namespace {

using Json = StrictJson;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

constexpr double kOfANat = 1e5;  // of blocks: rounding adds 3e-6 nats to one, 2e-7 to the mean of 320
constexpr double kDrawn = 1e4;   // of what is only drawn

// What is told of a text whose windows nobody has here.
class TextOfAnArchive final : public Data {
 public:
  explicit TextOfAnArchive(const JsonValue& j)
      : print_(j.member("print").text()),
        unit_(j.member("unit").text()),
        vocabulary_(j.member("vocabulary").whole(1, std::int64_t{1} << 31)),
        tokens_(j.member("training_tokens").number()),
        chance_(j.find("chance") ? std::optional(j.member("chance").number()) : std::nullopt),
        trained_(chance_ ? j.member("trained").number() : 1) {
    for (const JsonValue& sentence : j.member("describe").list()) sentences_.push_back(sentence.text());
    if (const auto r = j.find("reference"))
      reference_ = ReferenceLosses{r->member("letters").number(), r->member("pairs").number()};
  }
  std::string print() const override { return print_; }
  std::string unit() const override { return unit_; }
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::vector<std::string> describe() const override { return sentences_; }
  double training_tokens() const override { return tokens_; }
  std::optional<Metric> metric() const override {
    return chance_ ? std::optional(Metric::symbols) : std::nullopt;
  }
  double chance() const override { return chance_.value_or(0); }
  double trained() const override { return trained_; }
  std::optional<ReferenceLosses> reference() const override { return reference_; }
  Sample training(const StepBatch&) const override { return none(); }
  Sample held_out(const Windows&) const override { return none(); }

 private:
  [[noreturn]] static Sample none() { throw Error(Fault::usage, "an archive of a study has no text"); }
  std::string print_, unit_;
  std::int64_t vocabulary_;
  double tokens_;
  std::optional<double> chance_;  // of images, whose metric is the share of right symbols
  double trained_;
  std::vector<std::string> sentences_;
  std::optional<ReferenceLosses> reference_;
};

Json json_of(const Data& d) {
  const auto reference = d.reference();
  Json j{
      {"print", d.print()},
      {"unit", d.unit()},
      {"vocabulary", d.vocabulary()},
      {"training_tokens", d.training_tokens()},
      {"describe", d.describe()},
      {"reference", reference ? Json{{"letters", reference->letters}, {"pairs", reference->pairs}} : Json()}};
  if (d.metric()) j["chance"] = d.chance(), j["trained"] = d.trained();
  return j;
}

Json blocks_of(const std::vector<double>& nats) {
  Json all = Json::array();
  for (const double x : nats) all.push_back(std::isfinite(x) ? Json(std::llround(x * kOfANat)) : Json());
  return all;
}
Json nats_of(const Json& blocks, const std::string& where) {
  Json all = Json::array();
  for (const JsonValue& x : JsonValue(blocks, where).list())
    all.push_back(x.null() ? Json() : Json(x.number() / kOfANat));
  return all;
}

Json rounded(Json numbers) {
  for (Json& x : numbers) x = x.is_number_float() ? Json(std::round(x.get<double>() * kDrawn) / kDrawn) : x;
  return numbers;
}
// Each mean stands for as many positions again.
Json positions_of(const Json& means, const std::string& where) {
  Json all = Json::array();
  for (const JsonValue& mean : JsonValue(means, where).list())
    all.insert(all.end(), kNeighbours, mean.number_or_nan());
  return all;
}

bool says_nothing(const Json& member) { return member.is_null() || member.empty() || member == ""; }
void drop_what_says_nothing(Json& object) {
  for (auto member = object.begin(); member != object.end();)
    member = says_nothing(*member) ? object.erase(member) : std::next(member);
}

// What all runs of an arm share stands with the arm, and numerics with the study, if they are those of most.
Json json_of(const RunResult& run, const std::string& numerics, bool largest) {
  Json j = Json::parse(result_json(run));
  for (const char* key : {"sha256", "key", "asked", "weights_sha256", "parameters", "flops_per_token"})
    j.erase(key);
  if (run.plan.numerics == numerics) j.erase("numerics");
  j.erase("by_block");
  if (!tunes(run.plan)) j["blocks"] = blocks_of(run.by_block);
  for (std::size_t n = 0; n < run.by_length.size(); ++n) {
    Json& length = j["by_length"][n];
    length.erase("by_block");
    length["blocks"] = blocks_of(run.by_length[n].by_block);
    drop_what_says_nothing(length);
  }
  if (largest && !tunes(run.plan)) {
    for (Json& point : j["curve"]) point = rounded(std::move(point));
    j["by_position"] = rounded(means_of_neighbours(run.by_position));
  } else {
    j.erase("curve"), j.erase("by_position");
  }
  j["cost"] = {run.cost.tokens_per_second, run.cost.peak_memory_bytes};
  drop_what_says_nothing(j);
  return j;
}

RunResult run_from(Json j, const JsonValue& study) {
  const std::string& where = study.where();
  if (!j.is_object()) throw Error(Fault::input, text(where, ": a run is no object"));
  if (!j["arm"].is_string()) throw Error(Fault::input, text(where, ": a run has no arm"));
  const JsonValue arm = study.member("arms").member(j["arm"].get<std::string>());
  if (!j["cost"].is_array() || j["cost"].size() != 2)
    throw Error(Fault::input, text(where, ": a run has no cost"));
  j["cost"] = {{"training_seconds", 0.0},
               {"evaluation_seconds", 0.0},
               {"tokens_per_second", j["cost"][0]},
               {"peak_memory_bytes", j["cost"][1]}};
  Json whole{{"key", ""},
             {"asked", ""},
             {"weights_sha256", ""},
             {"numerics", study.member("numerics").text()},
             {"failure", ""},
             {"parameters", arm.member("parameters").whole(0, kMost)},
             {"flops_per_token", arm.member("flops_per_token").number()},
             {"nats", Json()},
             {"blocks", Json::array()},
             {"curve", Json::array()},
             {"by_length", Json::array()},
             {"by_position", Json::array()}};
  whole.update(j);
  whole["by_block"] = nats_of(whole["blocks"], where);
  whole["by_position"] = positions_of(whole["by_position"], where);
  for (Json& length : whole["by_length"]) {
    Json all{{"nats", Json()}, {"blocks", Json::array()}, {"right", Json()}, {"by_depth", Json::array()}};
    if (length.is_object()) all.update(length);
    length = std::move(all), length["by_block"] = nats_of(length["blocks"], where);
  }
  return result_from_text(whole.dump(), where);
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
  Json all{{"schema", 2}, {"version", GNOMON_VERSION}, {"studies", Json::array()}};
  for (const ToArchive& s : studies) {
    StudyConfig config = *s.config;
    if (config.data == "lines")
      throw Error(Fault::usage,
                  "an archive holds studies of texts, images and tasks; found study.data lines");
    config.text_path = Path(config.text_path).filename().string();
    std::vector<const RunResult*> runs;
    std::map<std::string, std::size_t> numerics;
    Json arms = Json::object();
    for (const auto& [key, run] : *s.found) {
      runs.push_back(&run), ++numerics[run.plan.numerics];
      arms[run.plan.arm] = {{"parameters", run.parameters}, {"flops_per_token", run.flops_per_token}};
    }
    const auto most =
        std::ranges::max_element(numerics, {}, &std::pair<const std::string, std::size_t>::second);
    Json study{{"name", s.name},
               {"study", print_toml(config)},
               {"data", config.is_task() ? Json() : json_of(*s.data)},
               {"numerics", most == numerics.end() ? "" : most->first},
               {"arms", arms},
               {"runs", Json::array()}};
    const auto place = [](const RunResult* r) {
      return std::tuple(r->plan.arm, r->plan.seed, r->plan.steps, r->plan.learning_rate);
    };
    std::sort(runs.begin(), runs.end(),
              [&](const RunResult* a, const RunResult* b) { return place(a) < place(b); });
    for (const RunResult* run : runs)
      study["runs"].push_back(
          json_of(*run, study["numerics"], run->plan.steps == steps_at(config, Arm(run->plan.arm), 1)));
    all["studies"].push_back(std::move(study));
  }
  std::string lines;  // a run a line, so that a change is one
  const std::string whole = all.dump();
  for (std::size_t from = 0;;) {
    const std::size_t next = whole.find(",{\"arm\":", from);
    lines += whole.substr(from, next == std::string::npos ? next : next + 1 - from) + "\n";
    if (next == std::string::npos) return lines;
    from = next + 1;
  }
}

std::vector<Archived> archive_from(const Path& path) {
  const Json json = parse_json(gunzipped(read_file(path), path.string()), path.string());
  const JsonValue top(json, path.string());
  top.member("schema").whole(2, 2);
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
      RunResult run = run_from(written, study);
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
