#include "gnomon/download/model.h"

#include <algorithm>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/download/remote.h"
#include "gnomon/download/store.h"
#include "gnomon/files/gguf_header.h"
#include "gnomon/files/kinds.h"
#include "gnomon/files/safetensors_header.h"
#include "gnomon/files/weights.h"

namespace gnomon {
namespace {

constexpr std::uint64_t kMostSettings = 16 << 20, kMostTokenizer = 256 << 20;  // bytes of one file
constexpr std::size_t kMostShards = 1000;
constexpr std::uint64_t kLargestRope = 65536 * 8;  // bytes of a tensor that is settings

constexpr std::string_view kIndex = "model.safetensors.index.json";

std::string megabytes(std::uint64_t bytes) { return text(significant(double(bytes) / 1e6), " MB"); }

// What is to be fetched of a model, by the list of its files.
struct Wanted {
  std::vector<std::string> settings;
  std::string weights;  // a file of weights, or the index of several; empty: there are none
  bool gguf() const { return weights.ends_with(".gguf"); }
  bool index() const { return weights.ends_with(".json"); }
};

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == file.npos ? "" : file.substr(0, slash + 1);
}

// The only GGUF file of a repository without a config.json.
std::string only_gguf(const HubName& name, const HubListing& listing) {
  std::vector<std::string> found;
  for (const HubListing::File& f : listing.files)
    if (f.name.ends_with(".gguf") && f.name.find('/') == f.name.npos) found.push_back(f.name);
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(Fault::input, text(name.print(), ": the model has neither a config.json nor a GGUF file"));
  std::string some;
  for (std::size_t n = 0; n < std::min<std::size_t>(found.size(), 5); ++n)
    some += text(n ? ", " : "", excerpt(name.repo + "/" + found[n]));
  throw Error(Fault::usage,
              text(name.print(), ": this model has ", found.size(), " GGUF files; name one, such as ", some));
}

Wanted wanted_of(const HubName& name, const HubListing& listing, HubPart part) {
  Wanted wanted;
  if (!name.file.empty() && !listing.has(name.file))
    throw Error(Fault::resource, text(name.print(), ": the revision has no such file"));
  const bool of_weights = name.file.ends_with(".gguf") || name.file.ends_with(".safetensors");
  const std::string folder = folder_of(name.file);
  if (!name.file.empty() && !of_weights) wanted.settings.push_back(name.file);
  if (name.file.empty() || of_weights) {
    for (const char* file : {"config.json", "generation_config.json", "tokenizer_config.json"})
      if (listing.has(folder + file)) wanted.settings.push_back(folder + file);
    if (part == HubPart::weights && listing.has(folder + "tokenizer.json"))
      wanted.settings.push_back(folder + "tokenizer.json");
  }
  if (of_weights) wanted.weights = name.file;
  if (!name.file.empty()) return wanted;
  for (const std::string_view file : {kIndex, std::string_view("model.safetensors")})
    if (listing.has(file)) wanted.weights = file;
  if (!listing.has("config.json")) wanted.weights = only_gguf(name, listing);
  return wanted;
}

class Fetching {
 public:
  Fetching(const HubName& name, const HubPlaces& places, const HubAccess& access, const HubFetch& fetch)
      : asked_(name),
        name_(name),
        fetch_(fetch),
        server_(access),
        listing_(server_.list(name)),
        whole_(std::filesystem::absolute(places.cache), name, listing_.commit),
        headers_(std::filesystem::absolute(places.headers), name, listing_.commit),
        wanted_(wanted_of(name, listing_, fetch.part)) {
    name_.revision = listing_.commit;
  }

  Path all() {
    for (const std::string& file : wanted_.settings)
      keep(file, file.ends_with("tokenizer.json") ? kMostTokenizer : kMostSettings);
    const bool weights = fetch_.part == HubPart::weights && !wanted_.weights.empty(),
               parts = !weights && !wanted_.weights.empty() &&
                       (wanted_.gguf() || fetch_.part == HubPart::headers || !asked_.file.empty()) &&
                       !are_whole();
    if (weights) keep_weights();
    if (parts) keep_headers();
    if (bytes_ > 0)
      tell(text(asked_.print(), " at commit ", listing_.commit, ": ", megabytes(bytes_), " fetched"));
    HubStore& kept = parts ? headers_ : whole_;
    if (std::filesystem::exists(whole_.snapshot())) whole_.keep_revision();
    if (parts) headers_.keep_revision();
    const auto path = hub_model_in(kept.snapshot(), asked_);
    if (!path)
      throw Error(Fault::input,
                  text(asked_.print(), ": the model has neither a config.json nor a GGUF file"));
    return *path;
  }

 private:
  void tell(const std::string& sentence) const {
    if (fetch_.tell) fetch_.tell(sentence);
  }
  void keep(const std::string& file, std::uint64_t most) {
    if (!whole_.find(file)) tell(text("fetching ", name_.repo, "/", file));
    bytes_ += whole_.fetch(server_, file, most);
  }

  // The files of weights, by their index if they have one. It lies where they do: an index alone would promise files.
  std::vector<std::string> weight_files(HubStore& store) {
    if (!wanted_.index()) return {wanted_.weights};
    bytes_ += store.fetch(server_, wanted_.weights, kLongestHeader);
    const std::set<std::string> shards = shards_in(store.snapshot() / wanted_.weights);
    if (shards.size() > kMostShards)
      throw Error(Fault::input, text(asked_.print(), ": the index names ", shards.size(),
                                     " files; allowed are at most ", kMostShards));
    return {shards.begin(), shards.end()};
  }
  bool are_whole() {
    if (!whole_.find(wanted_.weights)) return false;
    const std::vector<std::string> files = weight_files(whole_);
    return std::all_of(files.begin(), files.end(),
                       [&](const std::string& file) { return whole_.find(file); });
  }

  void keep_weights() {
    const std::vector<std::string> files = weight_files(whole_);
    std::uint64_t size = 0;
    for (const HubListing::File& f : listing_.files)
      if (std::find(files.begin(), files.end(), f.name) != files.end() && !whole_.find(f.name))
        size += f.size;
    if (size > fetch_.most_weights) throw too_large(size);
    std::uint64_t left = fetch_.most_weights;  // whatever the server announced
    for (const std::string& file : files) {
      if (!whole_.find(file)) tell(text("fetching ", name_.repo, "/", file));
      const std::uint64_t came = whole_.fetch(server_, file, left);
      bytes_ += came, left -= came;
    }
  }
  Error too_large(std::uint64_t size) const {
    return Error(Fault::usage, text(asked_.print(), ": the weights have ", megabytes(size), "; allowed are ",
                                    megabytes(fetch_.most_weights), ". --download-limit allows more."));
  }

  // Beside the headers stand links to the settings, so that the folder reads like the model's.
  void keep_headers() {
    for (const std::string& file : weight_files(headers_)) keep_header(file);
    for (const std::string& file : wanted_.settings)
      replace_link(whole_.snapshot() / file, headers_.snapshot() / file);
  }
  void keep_header(const std::string& file) {
    if (headers_.find(file)) return;
    tell(text("fetching the header of ", name_.repo, "/", file));
    RemoteFile remote(server_, name_, file);
    const WeightFile readable = remote.readable();
    const auto read = [&](std::string_view tensor, std::uint64_t begin, std::uint64_t bytes) {
      const bool rope =
          tensor.ends_with(kFrequencies) ||
          std::find(std::begin(kRopeTensors), std::end(kRopeTensors), tensor) != std::end(kRopeTensors);
      if (!rope || bytes == 0 || bytes > kLargestRope) return;
      std::vector<char> numbers(bytes);
      readable.read(begin, numbers);
    };
    if (file.ends_with(".gguf")) {
      for (const auto& e : read_gguf_header(readable).entries) read(e.name, e.begin, e.bytes);
    } else {
      const SafetensorsHeader header = read_safetensors_header(readable);
      for (const auto& e : header.entries) read(e.name, header.data + e.begin, e.end - e.begin);
    }
    const Path path = headers_.snapshot() / file;
    make_folders(path.parent_path());
    write_parts(path, remote.size(), remote.parts());
    bytes_ += remote.fetched();
  }

  const HubName asked_;
  HubName name_;  // at the commit
  const HubFetch& fetch_;
  HubServer server_;
  const HubListing listing_;
  HubStore whole_, headers_;
  const Wanted wanted_;
  std::uint64_t bytes_ = 0;  // that came
};

}  // namespace

Path fetch_model(const HubName& name, const HubPlaces& places, const HubAccess& access,
                 const HubFetch& fetch) {
  return Fetching(name, places, access, fetch).all();
}

}  // namespace gnomon
