// A file, the weights beside it, and whatever keeps rules from looking at them.
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf_parts.h"
#include "gnomon/files/malformed_json.h"
#include "gnomon/files/weights.h"
#include "gnomon/models/lint/context.h"

namespace gnomon {
namespace {

constexpr std::string_view kPointer = "a Git LFS pointer is here, and not the file itself";

LintFile unreadable(const std::string& where, LintObstacle obstacle) {
  return {std::make_shared<const LintContext>(where, std::move(obstacle))};
}

// Why the weights cannot be read: those of a model that was not downloaded, or was in part, are elsewhere.
LintObstacle obstacle_of(const Error& error, const Path& path) {
  if (!std::filesystem::is_directory(path))
    return is_lfs_pointer(path) ? LintObstacle{std::string(kPointer), true}
                                : LintObstacle{error.what(), gguf_part(path).has_value()};
  bool pointers = false;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    pointers = pointers || (entry.path().extension() == ".safetensors" && entry.is_regular_file() &&
                            is_lfs_pointer(entry.path()));
  return {error.what(), pointers || error.fault() == Fault::resource};
}

// What a file is read with: the weights beside it, and the programs that will read it.
struct Beside {
  const Path& weights;
  const LintPrograms& programs;
};

LintFile with_weights(Config config, std::string bytes, const Beside& beside) {
  std::vector<LintTensor> tensors;
  std::vector<LintObstacle> obstacles;
  try {
    if (!beside.weights.empty()) tensors = lint_tensors(beside.weights);
  } catch (const Error& error) {
    obstacles.push_back(obstacle_of(error, beside.weights));
  }
  return {std::make_shared<const LintContext>(std::move(config), std::move(tensors), std::move(obstacles),
                                              beside.programs),
          std::move(bytes)};
}

LintFile with_weights(std::string json, const std::string& where, const Beside& beside) {
  if (json.starts_with("version https://git-lfs.github.com/"))
    return unreadable(where, {std::string(kPointer), true});
  try {
    return with_weights(Config::parse(json, where), json, beside);
  } catch (const MalformedJson& error) {
    return unreadable(where, {error.why(), false, place_of_byte(json, error.byte())});
  } catch (const Error& error) {
    return unreadable(where, {error.what()});
  }
}

}  // namespace

LintFile open_for_lint(const LintTarget& target, const LintPrograms& programs) {
  check_versions(programs);
  const std::string where = target.file.string();
  try {
    if (target.file.extension() != ".gguf")
      return with_weights(read_file(target.file), where, {target.weights, programs});
    return with_weights(Config::open(target.file), "", {target.file, programs});
  } catch (const Error& error) {
    const bool there = std::filesystem::is_regular_file(target.file) && error.fault() == Fault::input;
    return unreadable(where, there ? obstacle_of(error, target.file) : LintObstacle{error.what()});
  }
}
LintFile text_for_lint(std::string json, const std::string& where, const LintPrograms& programs) {
  check_versions(programs);
  return with_weights(std::move(json), where, {{}, programs});
}

}  // namespace gnomon
