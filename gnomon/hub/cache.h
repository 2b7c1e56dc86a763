#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gnomon/hub/name.h"
#include "gnomon/hub/places.h"

namespace gnomon {

// What of a model is read: its settings, its settings and the headers of its weights, or all of it.
enum class HubPart { settings, headers, weights };

// The folder of a repository in a cache, with refs/, blobs/ and snapshots/.
Path hub_repo_folder(const Path& cache, std::string_view repo);

// What to open of a model in a folder that holds a snapshot: the named file; the folder, if it has a config.json; the only GGUF file
// in it. Nothing: none of them is there. Throws Error(usage) if there are several GGUF files and none is named.
std::optional<Path> hub_model_in(const Path& snapshot, const HubName& name);

// The path of a model on this machine, without asking the network: a folder or a file. The cache is read as huggingface_hub writes it
// (file_download.py, `try_to_load_from_cache`): models--ORG--NAME/refs/REVISION names a commit, snapshots/COMMIT/ has its files.
std::optional<Path> find_in_cache(const HubName& name, const HubPlaces& places, HubPart part);

// The path that a user means: `given` if something is there, otherwise the model of this name in the cache; nothing if it has none.
std::optional<std::string> find_model(const std::string& given, const HubPlaces& places, HubPart part);
// How a user fetches a model, in the words of the program that reads it: what follows "Fetch it with".
using HubAdvice = std::function<std::string(const HubName&)>;
// The same, and `given` if it can be no name. Throws Error(resource) for a name that is not in the cache; it says where it was looked
// for and how to fetch it.
std::string model_path(const std::string& given, const HubPlaces& places, HubPart part,
                       const HubAdvice& advice);

// The name that a user gave, unless something is there as a path.
std::optional<HubName> named_model(const std::string& given);

}  // namespace gnomon
