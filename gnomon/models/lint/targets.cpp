#include "gnomon/models/lint/targets.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf_parts.h"

namespace gnomon {
namespace {

// Files that transformers writes beside a config.json (save_pretrained of models, tokenizers and processors).
constexpr std::array<std::string_view, 12> kBeside{"generation_config.json",
                                                   "tokenizer_config.json",
                                                   "tokenizer.json",
                                                   "special_tokens_map.json",
                                                   "added_tokens.json",
                                                   "vocab.json",
                                                   "chat_template.json",
                                                   "processor_config.json",
                                                   "preprocessor_config.json",
                                                   "adapter_config.json",
                                                   "video_preprocessor_config.json",
                                                   "model.safetensors.index.json"};

bool is_hidden(const Path& path) { return path.filename().string().starts_with('.'); }

class Targets {
 public:
  void add(const Path& path) {
    if (path == "-") return put({path});
    std::error_code refused;
    const auto status = std::filesystem::status(path, refused);
    const bool absent = status.type() == std::filesystem::file_type::not_found;
    if (absent && is_pattern(path)) return each_match(path);
    if (absent) throw Error(Fault::resource, text(path.string(), ": no such file or folder"));
    if (std::filesystem::is_directory(status)) return walk(path);
    const std::string name = path.filename().string();
    const bool weights = path.extension() == ".safetensors";
    if (!weights && std::find(kBeside.begin(), kBeside.end(), name) == kBeside.end()) return put({path});
    const Path config = path.parent_path() / "config.json";
    if (!std::filesystem::exists(config)) return found_.passed_over.push_back(path.string());
    put({config, weights ? path : name.ends_with(".index.json") ? folder_of(path) : Path()});
  }
  LintTargets take() { return std::move(found_); }

 private:
  // What a shell would have made of it: quoted, or from a file of settings, it comes as it is.
  void each_match(const Path& pattern) {
    glob_t found{};
    const int failed = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<Path> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (failed || paths.empty())
      throw Error(Fault::resource, text(pattern.string(), ": no file or folder has such a name"));
    for (const Path& path : paths) add(path);
  }

  static Path folder_of(const Path& file) { return file.has_parent_path() ? file.parent_path() : Path("."); }

  void put(LintTarget target) {
    const auto [place, fresh] = known_.try_emplace(whole_path(target.file), found_.files.size());
    if (fresh) return found_.files.push_back(std::move(target));
    Path& weights = found_.files[place->second].weights;
    const bool several = !weights.empty() && !target.weights.empty() && weights != target.weights;
    if (several) weights = folder_of(target.file);
    if (weights.empty()) weights = target.weights;
  }

  void walk(const Path& folder) {
    found_.folders.push_back(whole_path(folder));
    std::vector<Path> files;
    std::error_code refused;  // of a folder that may not be looked into
    using Walk = std::filesystem::recursive_directory_iterator;
    Walk at(folder, std::filesystem::directory_options::skip_permission_denied, refused);
    for (; at != Walk(); at.increment(refused)) {
      std::error_code gone;
      const bool is_folder = at->is_directory(gone) && !at->is_symlink(gone);
      if (is_folder && is_hidden(at->path())) at.disable_recursion_pending();
      const bool named = at->path().filename() == "config.json" || at->path().extension() == ".gguf";
      if (named && !at->is_directory(gone) && !follows_a_part(at->path()))
        files.push_back(folder == "." ? at->path().lexically_relative(folder) : at->path());
    }
    if (files.empty())
      throw Error(Fault::resource,
                  text(folder.string(), ": there is no config.json and no .gguf file, in it or below it"));
    std::sort(files.begin(), files.end());
    for (const Path& file : files) put({file, file.extension() == ".gguf" ? Path() : folder_of(file)});
  }

  LintTargets found_;
  std::map<Path, std::size_t> known_;
};

}  // namespace

bool is_pattern(const Path& path) { return path.string().find_first_of("*?[") != std::string::npos; }

Path whole_path(const Path& path) {
  const Path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();  // "models/" is "models"
}
bool is_within(const Path& path, const Path& folder) {
  const Path from = path.lexically_relative(folder);
  return !from.empty() && *from.begin() != "..";
}

LintTargets lint_targets(std::span<const Path> paths) {
  Targets all;
  for (const Path& path : paths) all.add(path);
  return all.take();
}

}  // namespace gnomon
