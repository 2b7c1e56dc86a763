#include "gnomon/files/parts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/new_file.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

using Number = std::uint64_t;
constexpr std::string_view kMagic = "gnomon: parts 1\n";
constexpr Number kMostParts = 4096;

struct Place {
  Number begin, length;  // in the whole
  Number at;             // in the file of parts
};

std::string_view bytes_of(const Number& n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }

// The table of a file of parts, checked: parts follow each other, within the whole and within the file.
std::vector<Place> places_in(const ReadableFile& file, Number size, Number count) {
  const auto bad = [&] {
    return Error(Fault::input, text(file.path().string(), ": the table of its parts is malformed"));
  };
  const Number table = kMagic.size() + 2 * sizeof(Number);
  if (count > kMostParts || count > (file.size() - table) / (2 * sizeof(Number))) throw bad();
  std::vector<Number> numbers(2 * count);
  file.read(table, std::span(reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(Number)));
  std::vector<Place> places;
  Number at = table + numbers.size() * sizeof(Number), end = 0;
  for (Number n = 0; n < count; ++n) {
    const Place place{numbers[2 * n], numbers[2 * n + 1], at};
    if (place.begin < end || place.begin > size || place.length > size - place.begin ||
        place.length > file.size() - at)
      throw bad();
    end = place.begin + place.length, at += place.length;
    places.push_back(place);
  }
  return places;
}

struct Parts {
  ReadableFile file;
  std::vector<Place> places;

  void read(Number offset, std::span<char> bytes) const {
    while (!bytes.empty()) {
      const auto holds = [&](const Place& p) { return p.begin <= offset && offset - p.begin < p.length; };
      const auto place = std::find_if(places.begin(), places.end(), holds);
      if (place == places.end())
        throw Error(Fault::resource, text(file.path().string(), ": byte ", offset,
                                          " was not fetched; this file has only the header of the weights"));
      const Number within = offset - place->begin,
                   length = std::min<Number>(place->length - within, bytes.size());
      file.read(place->at + within, bytes.first(length));
      offset += length, bytes = bytes.subspan(length);
    }
  }
};

}  // namespace

void write_parts(const Path& path, std::uint64_t size, std::span<const FilePart> parts) {
  NewFile file(path);
  file.write(kMagic), file.write(bytes_of(size)), file.write(bytes_of(parts.size()));
  for (const FilePart& part : parts)
    file.write(bytes_of(part.begin)), file.write(bytes_of(part.bytes.size()));
  for (const FilePart& part : parts) file.write(part.bytes);
  file.keep();
}

WeightFile::WeightFile(Path path, std::uint64_t size, Reader read)
    : path_(std::move(path)), size_(size), read_(std::move(read)) {}

WeightFile::WeightFile(const Path& path) : path_(path) {
  const auto file = std::make_shared<ReadableFile>(path);
  struct Head {
    char magic[kMagic.size()];
    Number size, count;
  } head = {};
  if (file->size() >= sizeof head) file->read(0, std::span(reinterpret_cast<char*>(&head), sizeof head));
  if (std::string_view(head.magic, sizeof head.magic) != kMagic) {
    size_ = file->size();
    read_ = [file](Number offset, std::span<char> bytes) { file->read(offset, bytes); };
    return;
  }
  size_ = head.size;
  auto places = places_in(*file, head.size, head.count);
  const auto parts = std::make_shared<const Parts>(Parts{std::move(*file), std::move(places)});
  read_ = [parts](Number offset, std::span<char> bytes) { parts->read(offset, bytes); };
}

}  // namespace gnomon
