#include "gnomon/study/data/token_file.h"

#include <bit>
#include <cstring>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/files/sha256.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "files of ids are little-endian");

struct Header {
  std::int32_t magic, version, count;
};
constexpr std::size_t kHeaderBytes = 256 * sizeof(std::int32_t);
struct Known {
  std::int32_t magic, version;
  std::int64_t id_bytes;
};
constexpr Known kKnown[] = {{20240520, 1, 2}, {20240801, 7, 4}};  // HEADERS_INFO of data_common.py

// What follows the header, or everything where there is none.
std::string_view behind_header(std::string_view bytes, std::int64_t id_bytes, const Path& path) {
  Header header{};
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  for (const Known& known : kKnown) {
    if (header.magic != known.magic) continue;
    const auto bad = [&](const auto&... why) {
      return Error(Fault::input,
                   text(path.string(), ": in the header of llm.c (", known.magic, "): found ", why...));
    };
    if (header.version != known.version)
      throw bad("version ", header.version, ", allowed is ", known.version);
    if (id_bytes != known.id_bytes)
      throw bad("ids of ", known.id_bytes, " bytes, expected are ids of ", id_bytes);
    const std::int64_t ids = std::int64_t(bytes.size()) - std::int64_t(kHeaderBytes);
    if (ids < 0 || ids != header.count * id_bytes)
      throw bad("a count of ", header.count, " ids, and ", ids, " bytes after the ", kHeaderBytes,
                " of the header; expected are ", id_bytes, " bytes per id");
    return bytes.substr(kHeaderBytes);
  }
  return bytes;
}

// f(ids) with the ids as the numbers that they are.
template <class F>
auto with_ids(std::string_view bytes, std::int64_t id_bytes, F&& f) {
  const auto as = [&](auto* first) { return f(std::span(first, bytes.size() / sizeof *first)); };
  if (id_bytes == 2) return as(reinterpret_cast<const std::uint16_t*>(bytes.data()));
  return as(reinterpret_cast<const std::uint32_t*>(bytes.data()));
}

}  // namespace

TokenFile::TokenFile(const Path& path, std::int64_t id_bytes, std::int64_t vocabulary)
    : file_(path), id_bytes_(id_bytes), vocabulary_(vocabulary) {
  if (id_bytes != 2 && id_bytes != 4)
    throw Error(Fault::usage, text("token file: found ids of ", id_bytes, " bytes, allowed are 2 and 4"));
  check_extents("token file", {{"vocabulary", vocabulary, 1, std::int64_t{1} << 31}});
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  ids_ = behind_header(file_.bytes(), id_bytes, path);
  if (ids_.empty()) throw bad("found no ids; at least one is needed");
  if (ids_.size() % std::size_t(id_bytes) != 0)
    throw bad("found ", counted(ids_.size(), "byte"), ", allowed are multiples of the ", id_bytes,
              " bytes of an id");
  with_ids(ids_, id_bytes, [&](auto ids) {
    for (std::size_t n = 0; n < ids.size(); ++n) {
      if (ids[n] >= vocabulary)
        throw bad("id ", n, " (from 0): found ", ids[n], ", allowed is 0 to ", vocabulary - 1);
    }
  });
}

void TokenFile::copy(std::int64_t begin, std::span<std::int32_t> to) const {
  check_extents("token file", {{"ids to copy", std::int64_t(to.size()), 0, size()},
                               {"first of them", begin, 0, size() - std::int64_t(to.size())}});
  with_ids(ids_, id_bytes_, [&](auto ids) {
    for (std::size_t n = 0; n < to.size(); ++n) to[n] = std::int32_t(ids[std::size_t(begin) + n]);
  });
}

std::string TokenFile::sha256() const { return gnomon::sha256(ids_); }

}  // namespace gnomon
