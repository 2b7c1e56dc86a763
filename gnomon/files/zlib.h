#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace gnomon {

// Bytes in zlib's format (RFC 1950), as small as it makes them, and the CRC-32 that gzip and PNG use.
std::string zlib_compressed(std::string_view bytes);
std::uint32_t crc32_of(std::string_view bytes);

// What a file of gzip (RFC 1952) holds; other bytes as they are. `where` begins messages. Throws Error(input) for a file that is
// cut or broken, and for one that holds more than 1 GiB.
std::string gunzipped(std::string bytes, const std::string& where);

}  // namespace gnomon
