#include "gnomon/hub/cache.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestRef = 255;  // bytes; a commit has 40

bool is_folder(const Path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}
bool is_file(const Path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

// A link that leads nowhere is there: opening it says what is wrong.
bool is_there(const Path& path) {
  std::error_code none;
  return fs::exists(fs::symlink_status(path, none));
}

// The names in a folder, in order; none where it cannot be listed.
std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The commit that a revision names in a repository's folder, or a commit that is there itself.
std::optional<std::string> commit_of(const Path& repo, const std::string& revision) {
  std::string commit = revision;
  const Path ref = repo / "refs" / revision;
  if (is_file(ref)) {
    const ReadableFile file(ref);
    commit.assign(std::min(file.size(), kLongestRef), ' ');
    file.read(0, commit);
  }
  const bool plain = commit.find('/') == commit.npos && is_plain_relative(commit);
  if (!plain || !is_folder(repo / "snapshots" / commit)) return {};
  return commit;
}

std::optional<Path> found_in(const Path& cache, const HubName& name) {
  const Path repo = hub_repo_folder(cache, name.repo);
  const auto commit = commit_of(repo, name.revision);
  return commit ? hub_model_in(repo / "snapshots" / *commit, name) : std::nullopt;
}

// Why the cache has no such model, as the end of a sentence.
std::string lacks(const HubName& name, const Path& cache) {
  const Path repo = hub_repo_folder(cache, name.repo);
  const std::string where = text("the cache ", cache.string());
  if (!is_folder(repo)) return text(where, " does not have this model");
  const auto commit = commit_of(repo, name.revision);
  if (commit && name.file.empty())
    return text(where, " has neither a config.json nor a GGUF file of revision ", *commit);
  if (commit) return text(where, " does not have this file of revision ", *commit);
  std::string revisions;
  for (const std::string& known : names_in(repo / "snapshots"))
    revisions += text(revisions.empty() ? "" : ", ", known);
  return text(where, " does not have revision ", name.revision, " of this model; it has ",
              revisions.empty() ? "none" : revisions);
}

Error not_there(const std::string& given, const HubName& name, const Path& cache, const std::string& how) {
  return Error(Fault::resource,
               text(given, ": there is no such file or folder, and ", lacks(name, cache), ". Fetch it with ",
                    how, ". HF_HUB_CACHE or HF_HOME names another cache."),
               {.place = given, .allowed = "a path, or a model in the cache"});
}

// Whether a missing "model" is a mistyped file: its own error is the better one.
bool ends_as_file(const HubName& name) {
  constexpr std::array endings = {".json", ".gguf", ".safetensors", ".bin", ".txt", ".toml"};
  return name.file.empty() &&
         std::any_of(endings.begin(), endings.end(), [&](const char* e) { return name.repo.ends_with(e); });
}

}  // namespace

Path hub_repo_folder(const Path& cache, std::string_view repo) {
  std::string folder = "models";
  for (const std::string_view part : split(repo, '/')) folder += text("--", part);
  return cache / folder;
}

std::optional<Path> hub_model_in(const Path& snapshot, const HubName& name) {
  if (!name.file.empty()) {
    const Path file = snapshot / name.file;
    return is_file(file) || is_file(file / "config.json") ? std::optional(file) : std::nullopt;
  }
  if (is_file(snapshot / "config.json")) return snapshot;
  std::vector<std::string> ggufs = names_in(snapshot);
  std::erase_if(ggufs, [](const std::string& file) { return !file.ends_with(".gguf"); });
  if (ggufs.empty()) return {};
  if (ggufs.size() == 1) return snapshot / ggufs.front();
  throw Error(Fault::usage, text(name.print(), ": this model has ", ggufs.size(),
                                 " GGUF files; name one, such as ", name.repo, "/", ggufs.front()));
}

std::optional<Path> find_in_cache(const HubName& name, const HubPlaces& places, HubPart part) {
  if (part == HubPart::weights) return found_in(places.cache, name);
  // Only a folder of headers has weights' names and shapes where the cache has no weights.
  const bool settings = part == HubPart::settings;
  if (auto found = found_in(settings ? places.cache : places.headers, name)) return found;
  return found_in(settings ? places.headers : places.cache, name);
}

std::optional<HubName> named_model(const std::string& given) {
  return is_there(given) ? std::nullopt : parse_hub_name(given);
}

std::optional<std::string> find_model(const std::string& given, const HubPlaces& places, HubPart part) {
  if (is_there(given)) return given;
  const auto name = parse_hub_name(given);
  const auto found = name ? find_in_cache(*name, places, part) : std::nullopt;
  return found ? std::optional(found->string()) : std::nullopt;
}

std::string model_path(const std::string& given, const HubPlaces& places, HubPart part,
                       const HubAdvice& advice) {
  if (const auto found = find_model(given, places, part)) return *found;
  const auto name = parse_hub_name(given);
  const Path folder = Path(given).parent_path();
  const bool meant_as_path = !folder.empty() && is_there(folder.string());
  if (!name || ends_as_file(*name) || meant_as_path) return given;
  throw not_there(given, *name, places.cache, advice(*name));
}

}  // namespace gnomon
