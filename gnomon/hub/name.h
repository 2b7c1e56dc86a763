#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gnomon/core/standard.h"

namespace gnomon {

// A model at the Hugging Face Hub, as a user names it.
struct HubName {
  std::string repo;      // "org/name"; old models have a name alone
  std::string file;      // a file of the repository, "sub/model.gguf"; empty: the model as a whole
  std::string revision;  // a branch, a tag or a commit
  std::string print() const;
};

// Reads org/name, org/name@revision, org/name/file and org/name/file@revision; the revision is "main" if none is named. Nothing for
// text of another form: then it is a path. What a name may hold is what huggingface_hub 2.4 allows (utils/_validators.py,
// `validate_repo_id`). A file or revision may hold no part "." or "..", no empty part, and no control character or backslash.
std::optional<HubName> parse_hub_name(std::string_view text);

// Whether the text is a commit as the Hub writes it: 40 hexadecimal digits in lower case.
bool is_commit(std::string_view text);
// Whether each part between slashes is a plain name, so that below a folder it names nothing outside of it.
bool is_plain_relative(std::string_view path);

}  // namespace gnomon
