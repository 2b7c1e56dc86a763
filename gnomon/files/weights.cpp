#include "gnomon/files/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/gguf_header.h"
#include "gnomon/files/gguf_parts.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/parts.h"
#include "gnomon/files/safetensors_header.h"

namespace gnomon {

struct Weights::Opened {
  std::vector<Path> paths;
  std::vector<WeightFile> files;
  std::vector<StoredTensor> tensors;
  std::map<std::string_view, std::size_t> by_name;  // of the tensors
  std::unique_ptr<Gguf> gguf;
};

namespace {

constexpr std::string_view kLfsPointer = "a git-LFS pointer; the file itself was not downloaded";

Error bad(const Path& path, std::string_view why) {
  return Error(Fault::input, text(path.string(), ": ", why));
}

// --- One file

// What the beginning of a file that is no safetensors file looks like; empty: like nothing known. In a safetensors file
// bytes 4 to 7, of a length below 2^32, are 0.
template <class File>  // a WeightFile, or a ReadableFile
std::string_view foreign(const File& file) {
  char first[8] = {};
  file.read(0, std::span(first, std::min<std::uint64_t>(8, file.size())));
  const std::string_view begin(first, sizeof first);
  if (begin.substr(4) == std::string_view("\0\0\0\0", 4)) return "";
  if (begin == "version ") return kLfsPointer;
  if (begin.substr(0, 2) == "PK") return "a zip archive (such as PyTorch's .pt and .bin)";
  if (begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) return "a Python pickle";
  if (begin[0] == '<') return "a page of HTML or XML";
  if (begin[0] == '{' || begin[0] == '[') return "JSON";
  return "";
}

void add_safetensors(const WeightFile& file, std::size_t number, std::vector<StoredTensor>& tensors) {
  if (const auto found = foreign(file); !found.empty())
    throw bad(file.path(), text("found ", found, ", allowed are safetensors and GGUF files"));
  SafetensorsHeader header = read_safetensors_header(file);
  for (auto& e : header.entries)
    tensors.push_back({std::move(e.name), std::move(e.shape), std::string(e.kind->name), number,
                       header.data + e.begin, e.end - e.begin});
}

std::unique_ptr<Gguf> add_gguf(const WeightFile& file, std::size_t number,
                               std::vector<StoredTensor>& tensors) {
  GgufHeader header = read_gguf_header(file);
  for (auto& e : header.entries)
    tensors.push_back(
        {std::move(e.name), std::move(e.shape), std::string(e.kind->name), number, e.begin, e.bytes});
  return std::make_unique<Gguf>(std::move(header.metadata), file.path());
}

// --- Shards

// The file of every tensor, by the index of a model of several files.
std::map<std::string, std::string> weight_map(const Path& index) {
  const ReadableFile file(index);
  if (file.size() > kLongestHeader)
    throw bad(index, text("found ", file.size(), " bytes, allowed are at most ", kLongestHeader));
  std::string bytes(file.size(), ' ');
  file.read(0, bytes);
  const StrictJson json = parse_json(bytes, index.string());
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : JsonValue(json, index.string()).member("weight_map").members()) {
    const std::string& name = shard.text();
    const bool plain = !name.empty() && name != "." && name != ".." &&
                       name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (!plain) shard.wrong("the name of a file in the same folder");
    shard_of.emplace(tensor, name);
  }
  if (shard_of.empty()) throw bad(index, "\"weight_map\" names no tensor, allowed is one or more");
  return shard_of;
}

std::set<std::string> shards_of(const std::map<std::string, std::string>& shard_of) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  return shards;
}

void add_shards(const Path& index, std::vector<WeightFile>& files, std::vector<StoredTensor>& tensors) {
  const auto shard_of = weight_map(index);
  const Path folder = index.parent_path();
  for (const std::string& shard : shards_of(shard_of)) {
    const WeightFile& file = files.emplace_back(folder / shard);
    const std::size_t before = tensors.size();
    add_safetensors(file, files.size() - 1, tensors);
    for (std::size_t n = before; n < tensors.size(); ++n) {
      const std::string& name = tensors[n].name;
      const auto found = shard_of.find(name);
      if (found == shard_of.end())
        throw bad(file.path(), text("tensor ", excerpt(name), " is not in ", index.filename().string()));
      if (found->second != shard)
        throw bad(file.path(), text("tensor ", excerpt(name), " is here too, but ", index.filename().string(),
                                    " lists it only in ", excerpt(found->second)));
    }
  }
  std::set<std::string_view> there;
  for (const StoredTensor& t : tensors) there.insert(t.name);
  for (const auto& [tensor, shard] : shard_of) {
    if (!there.count(tensor))
      throw bad(folder / shard, text("there is no tensor ", excerpt(tensor), ", but ",
                                     index.filename().string(), " lists it here"));
  }
}

// The other parts of the model whose first file is open; those that are not here are refused, unless that is allowed.
struct GgufPieces {
  std::vector<WeightFile>& files;
  std::vector<StoredTensor>& tensors;

  void add(std::int64_t count, bool may_lack) {
    const Path first = files.front().path();
    const auto part = gguf_part(first);
    if (!part || part->count != count)
      throw bad(first, text("one of ", count,
                            " parts of a model, allowed is the first under the name that llama-gguf-split "
                            "gave it"));
    if (part->number != 1)
      throw bad(first, text("part ", part->number, " of ", count,
                            " of a model, allowed is the first: ", part->part(1).filename().string()));
    for (int n = 2; n <= part->count; ++n) {
      const Path path = part->part(n);
      if (std::filesystem::exists(path)) {
        open(path, n, count);
      } else if (!may_lack) {
        throw bad(path, text("there is no such file; it is part ", n, " of ", count, " of a model"));
      }
    }
    for (std::set<std::string_view> names; const StoredTensor& t : tensors)
      if (!names.insert(t.name).second)
        throw bad(files[t.file].path(), text("tensor ", excerpt(t.name), " is in another part too"));
  }

 private:
  void open(const Path& path, int n, std::int64_t count) {
    const std::size_t number = files.size();
    const auto own = add_gguf(files.emplace_back(path), number, tensors);
    if (own->whole("split.count") != count || own->whole("split.no") != n - 1)
      throw bad(path, text("it does not say that it is part ", n, " of ", count));
  }
};

// --- A folder

// The file to open in it: of the names that transformers looks for, in its order, or the only one of either format.
Path file_in(const Path& folder) {
  std::error_code error;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (std::filesystem::exists(folder / name, error)) return folder / name;
  }
  std::vector<Path> found = ggufs_in(folder);
  bool pickled = false;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const Path ending = entry->path().extension();
    if (ending == ".safetensors") found.push_back(entry->path());
    pickled |= ending == ".bin" || ending == ".pt" || ending == ".pth";
  }
  if (error)
    throw Error(Fault::resource, text(folder.string(), ": cannot list the folder: ", error.message()));
  if (found.size() == 1) return found[0];
  if (found.empty())
    throw bad(
        folder,
        text("there is no model.safetensors, no model.safetensors.index.json and no .gguf file",
             pickled
                 ? " (the folder has pickled weights, which gnomon does not read: they could run any program)"
                 : ""));
  throw bad(folder, text("found ", found.size(),
                         " weight files but no model.safetensors.index.json; name one of them"));
}

}  // namespace

// --- What there is

std::int64_t StoredTensor::size() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::set<std::string> shards_in(const Path& index) { return shards_of(weight_map(index)); }

Weights::Weights(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
Weights::~Weights() = default;
Weights::Weights(Weights&&) noexcept = default;
Weights& Weights::operator=(Weights&&) noexcept = default;

bool is_lfs_pointer(const Path& path) { return foreign(ReadableFile(path)) == kLfsPointer; }

Weights Weights::open(const Path& path, Parts parts) {
  auto opened = std::make_unique<Opened>();
  std::error_code unreadable;  // which opening the file then says
  const Path file = std::filesystem::is_directory(path, unreadable) ? file_in(path) : path;
  if (file.extension() == ".json") {
    add_shards(file, opened->files, opened->tensors);
  } else {
    const WeightFile& one = opened->files.emplace_back(file);
    if (begins_as_gguf(one)) {
      opened->gguf = add_gguf(one, 0, opened->tensors);
      if (const auto count = opened->gguf->whole("split.count"); count && *count > 1)
        GgufPieces{opened->files, opened->tensors}.add(*count, parts == Parts::that_are_here);
    } else {
      add_safetensors(one, 0, opened->tensors);
    }
  }
  for (const WeightFile& f : opened->files) opened->paths.push_back(f.path());
  for (std::size_t n = 0; n < opened->tensors.size(); ++n) opened->by_name[opened->tensors[n].name] = n;
  return Weights(std::move(opened));
}

std::span<const Path> Weights::files() const { return opened_->paths; }
std::span<const StoredTensor> Weights::tensors() const { return opened_->tensors; }
const Gguf* Weights::gguf() const { return opened_->gguf.get(); }

const StoredTensor* Weights::find(std::string_view name) const {
  const auto found = opened_->by_name.find(name);
  return found == opened_->by_name.end() ? nullptr : &opened_->tensors[found->second];
}

const StoredTensor& Weights::at(std::string_view name) const {
  if (const StoredTensor* found = find(name)) return *found;
  constexpr std::size_t kLookedAt = 10'000;  // a stranger's file may have a million, of any length
  std::vector<std::string_view> names;
  for (const StoredTensor& t : tensors().first(std::min(tensors().size(), kLookedAt))) {
    if (t.name.size() < 2 * name.size()) names.push_back(t.name);
  }
  const auto near = nearest(name, names);
  throw bad(files()[0], text("there is no tensor ", excerpt(name),
                             near.empty() ? "" : text(": did you mean ", excerpt(near), "?")));
}

// --- Numbers

namespace {

const NumberKind& readable_kind(const StoredTensor& tensor, const Path& path) {
  const NumberKind* kind = find_kind(tensor.stored);
  if (kind && kind->widen) return *kind;
  throw bad(path, text("tensor ", excerpt(tensor.name), ": found numbers stored as ", excerpt(tensor.stored),
                       ", which gnomon does not read; it reads ", readable_kinds()));
}

// Numbers [first, last) of a tensor, by way of a small buffer.
Floats numbers_of(const StoredTensor& tensor, const WeightFile& file, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kBuffer = 1 << 18;  // bytes
  const NumberKind& kind = readable_kind(tensor, file.path());
  std::int64_t block = first / kind.numbers;
  const std::int64_t end = (last + kind.numbers - 1) / kind.numbers;
  const std::int64_t before = first - block * kind.numbers;
  check_memory(text(file.path().string(), ": tensor ", excerpt(tensor.name), " takes"),
               std::uint64_t(end - block) * std::uint64_t(4 * kind.numbers));
  Floats numbers(std::size_t((end - block) * kind.numbers));
  std::vector<char> bytes(std::size_t(std::min(kBuffer / kind.bytes, end - block) * kind.bytes));
  for (float* to = numbers.data(); block < end;) {
    const std::int64_t blocks = std::min(kBuffer / kind.bytes, end - block);
    file.read(tensor.offset + std::uint64_t(block * kind.bytes),
              std::span(bytes).first(std::size_t(blocks * kind.bytes)));
    kind.widen(bytes.data(), blocks, to);
    block += blocks, to += blocks * kind.numbers;
  }
  // A row that is one number begins and ends anywhere in a block.
  numbers.resize(std::size_t(before + last - first));
  numbers.erase(numbers.begin(), numbers.begin() + before);
  return numbers;
}

}  // namespace

Floats Weights::read(const StoredTensor& tensor) const {
  return numbers_of(tensor, opened_->files.at(tensor.file), 0, tensor.size());
}

Floats Weights::read_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count) const {
  const std::string place = text("tensor ", excerpt(tensor.name));
  const auto rank = std::int64_t(tensor.shape.size());
  check_extents(place, {{"the number of its dimensions", rank, 1, std::max<std::int64_t>(rank, 1)}});
  check_extents(place, {{"the first row", first, 0, tensor.shape[0]}});
  check_extents(place, {{"the number of rows", count, 0, tensor.shape[0] - first}});
  const std::int64_t width = tensor.shape[0] == 0 ? 0 : tensor.size() / tensor.shape[0];
  return numbers_of(tensor, opened_->files.at(tensor.file), first * width, (first + count) * width);
}

}  // namespace gnomon
