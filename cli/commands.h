#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/encodings/search.h"
#include "gnomon/models/inspect/inspect.h"

// The commands of the program. Each takes its parsed options and returns the exit code; errors are thrown.
namespace gnomon::cli {

// Whether a model that is named and not on this machine may be fetched, and how much of it.
struct Download {
  bool allowed = false, quiet = false;
  double gigabytes = 4;  // of weights
};

struct EncodingsOptions {
  std::string name, search;
  std::vector<std::string> acts;  // names of sites
  EncodingFilter filter;
  bool json = false, markdown = false;
};
int encodings(const EncodingsOptions& options);

struct ShowOptions {
  std::string spec, out;
  std::optional<long long> dim, head_dim;  // 16 a head
  std::optional<long long> heads;          // not given: heads_of()
  long long length = 128, first = 0;
  bool bidirectional = false, json = false, plan = false;
};
int show(const ShowOptions& options);

struct CheckCommand {
  std::string dump, spec, positions;
  double theta = 0;
  bool json = false;
};
int check(const CheckCommand& options);

struct LintOptions {
  std::vector<std::string> paths, only, ignore;
  std::string transformers, vllm;                   // versions of what reads the files
  std::string rule, fail_on = "error", exceptions;  // `rule`: an id to explain; `exceptions`: a file
  bool write_baseline = false, schema = false;
  bool fix = false, write = false;  // show what the suggestions change; write it
  bool rules = false, json = false, sarif = false, markdown = false;
  Download download;
};
int lint(const LintOptions& options);

struct ExplainOptions {
  std::string path, other, reader, out;  // reader: of a GGUF file llama.cpp, of others v5
  std::vector<std::string> ignore;       // words of quantities (differences.h)
  bool readers = false, full = false, json = false, families = false, markdown = false;
  Download download;
};
int explain(const ExplainOptions& options);

struct ExtendOptions {
  std::string path, way, to,
      write;  // way: of extension_methods(); to: as plan_extension() takes it; write: a file
  bool all = false, full = false, json = false, replace = false;
  bool force = false;  // although lint finds errors
  Download download;
};
int extend(const ExtendOptions& options);

struct StudyOptions {
  std::string config, preset, text, out = "study";
  std::vector<std::string> set;
  std::vector<std::string> parts;  // names of those to do; empty: all
  std::string from;                // an archive that has runs of it
  std::optional<double> minutes;
  std::optional<long long> seeds;
  bool dry_run = false, quiet = false, json = false, replace = false, slurm = false;
  std::string command;  // as typed, for the report
};
int study(const StudyOptions& options);
int study_export(const StudyOptions& options);

// The other verbs of `study`, on what stands in a folder.
struct StudyFolderOptions {
  std::string out = "study", other;  // `compare`: two of them
  std::string from;                  // `report`: an archive
  long long most = 1'000'000;        // `work`: runs
  bool task = false;                 // `work`: one run, without waiting
  bool quiet = false, json = false;
  std::string command;  // as typed
};
int study_status(const StudyFolderOptions& options);
int study_report(const StudyFolderOptions& options);
int study_archive(const StudyFolderOptions& options);
int study_compare(const StudyFolderOptions& options);
int study_work(const StudyFolderOptions& options);

struct SampleOptions {
  std::string study = "study", arm, prompt = "In the beginning ";
  std::optional<long long> run_seed;
  long long bytes = 200, seed = 1;
  double temperature = 0.8;
  bool json = false;
};
int sample(const SampleOptions& options);

struct InspectCommand {
  std::string model, text, ids, out;
  std::string component = "decoder";  // of a model with an encoder and a decoder
  InspectOptions options;
  bool quiet = false, json = false;
  Download download;
};
int inspect(const InspectCommand& command);

struct ClaimsOptions {
  std::vector<std::string> ids;  // none: list
  std::string text, out;         // folder; empty: "claims", where something is trained
  std::string model;             // a stranger's, to be measured instead
  std::string from;              // claims.json of a run, to be told again instead
  bool quick = false, quiet = false, json = false, replace = false;
  bool rules = false;   // only what was written down before a run
  std::string command;  // as typed
};
int claims(const ClaimsOptions& options);
int real_claims(const ClaimsOptions& options);

struct BenchOptions {
  std::vector<std::string> names;  // cases, or what their names begin with; none: all
  std::string out;                 // a page
  std::optional<long long> threads;
  long long rounds = 7;
  bool quick = false, list = false, quiet = false, json = false;
  std::string command;  // as typed
};
int bench(const BenchOptions& options);

struct WorkerOptions {
  std::string study, arm, key;
  long long seed = 0, steps = 0, parent = 0;
  double rate = 0;
};
int worker(const WorkerOptions& options);

struct RankOptions {
  std::string config, text, out, arm;
  std::vector<std::string> set;
  long long seed = 1;
  bool quiet = false;
};
int rank(const RankOptions& options);

}  // namespace gnomon::cli
