// The door to zlib: no other file knows it.
#include "gnomon/files/zlib.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;
constexpr int kGzip = 15 + 16;  // the largest window, and gzip's header in the place of zlib's

// zlib takes bytes that it does not change without const.
Bytef* bytes_of(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }

}  // namespace

std::string zlib_compressed(std::string_view bytes) {
  uLongf size = compressBound(uLong(bytes.size()));
  std::string packed(size, '\0');
  const int code = compress2(bytes_of(packed), &size, bytes_of(bytes), uLong(bytes.size()), 9);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code != Z_OK) throw Error(Fault::bug, text("zlib cannot compress: code ", code));
  packed.resize(size);
  return packed;
}

std::uint32_t crc32_of(std::string_view bytes) {
  return std::uint32_t(crc32_z(0, bytes_of(bytes), bytes.size()));
}

std::string gunzipped(std::string bytes, const std::string& where) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> closed(&stream, inflateEnd);
  std::string out;
  std::array<char, 1 << 16> piece;
  int code = Z_OK;
  for (std::size_t taken = 0; code == Z_OK && out.size() <= kMost;) {
    if (stream.avail_in == 0) {  // zlib counts in 32 bits
      const std::size_t next = std::min(bytes.size() - taken, kMost);
      stream.next_in = bytes_of(bytes) + taken, stream.avail_in = uInt(next), taken += next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data()), stream.avail_out = uInt(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code == Z_OK) throw Error(Fault::input, text(where, ": holds more than 1 GiB"));
  if (code != Z_STREAM_END || stream.avail_in != 0)
    throw Error(Fault::input, text(where, ": is cut or no file of gzip"));
  return out;
}

}  // namespace gnomon
