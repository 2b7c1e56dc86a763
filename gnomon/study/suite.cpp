#include "gnomon/study/suite.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

std::vector<Field> fields(std::vector<std::string>& names) {
  return {{"suite.parts", "names of the studies in this folder; each has a folder of that name", &names}};
}

void read(StudyConfig& config, const std::optional<Toml>& toml, const std::string& part) {
  if (!toml) return;
  parts_of(*toml).empty() ? read_toml(fields(config), *toml) : read_toml_part(fields(config), *toml, part);
}

}  // namespace

Suite read_suite(const std::optional<Toml>& preset, const std::optional<Toml>& file) {
  std::vector<std::string> names = preset ? parts_of(*preset) : std::vector<std::string>{};
  const std::vector<std::string> in_file = file ? parts_of(*file) : std::vector<std::string>{};
  if (!names.empty() && !in_file.empty())
    throw Error(Fault::usage, text(preset->where, " and ", file->where,
                                   " both have [[part]] tables, allowed are such tables in one of them"));
  if (names.empty()) names = in_file.empty() ? std::vector<std::string>{""} : in_file;
  Suite suite;
  for (const std::string& name : names) {
    Part& part = suite.emplace_back(Part{name, {}});
    read(part.config, preset, name);
    read(part.config, file, name);
  }
  return suite;
}

void set_minutes(Suite& suite, double minutes) {
  double all = 0;
  for (const Part& part : suite) all += part.config.minutes;
  for (Part& part : suite) part.config.minutes *= minutes / all;
}

std::vector<std::string> SuiteFolder::parts() const {
  if (!std::filesystem::exists(names())) return {""};
  std::vector<std::string> found;
  read_toml(fields(found), toml_in(names()));
  for (const std::string& name : found) {
    if (!is_plain_word(name))
      throw Error(Fault::input, text(names().string(), ": found the part ", excerpt(name),
                                     ", allowed are names of a to z, 0 to 9 and -"));
  }
  return found;
}

void SuiteFolder::begin(const Suite& suite, bool replace) const {
  std::vector<std::string> own;
  for (const Part& part : suite) own.push_back(part.name);
  const bool alone = own == std::vector<std::string>{""};
  const bool other = std::filesystem::exists(names())
                         ? parts() != own
                         : !alone && std::filesystem::exists(StudyFolder{folder}.config());
  if (other && !replace)
    throw Error(Fault::usage, text(folder.string(),
                                   " holds other studies; give another folder with --out, or use "
                                   "--replace"));
  if (alone) {
    if (other) std::filesystem::remove(names());
    return;
  }
  make_folders(folder);
  write_file(names(), print_toml(fields(own)));
}

}  // namespace gnomon
