#include "cli/model.h"

#include <cstdlib>

#include "cli/progress.h"
#include "gnomon/download/model.h"

namespace gnomon::cli {

std::string model_path(const std::string& given, HubPart part, const Download& download) {
  const HubPlaces places = hub_places(std::getenv);
  const auto name = download.allowed ? named_model(given) : std::nullopt;
  if (!name) return gnomon::model_path(given, places, part);
  HubFetch fetch{part, std::uint64_t(download.gigabytes * 1e9)};
  if (!download.quiet) fetch.tell = tell;
  return fetch_model(*name, places, hub_access(std::getenv), fetch).string();
}

std::optional<std::string> find_model(const std::string& given, HubPart part) {
  return gnomon::find_model(given, hub_places(std::getenv), part);
}

}  // namespace gnomon::cli
