#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace gnomon {

// How much memory this process may still take, in bytes, and what says so: the machine's free memory, the limit of its
// control group, or a limit of the process (ulimit -v).
struct AvailableMemory {
  std::int64_t shared_bytes;  // by all processes of a command together
  std::string shared_by;
  std::int64_t own_bytes;  // by one process
  std::string own_by;
};
AvailableMemory available_memory();

// Throws Error(resource), "<what> 7 bytes, but only 3 bytes of memory are available", where these are more than there are;
// 1 MB always is.
void check_memory(std::string_view what, std::uint64_t bytes);

std::int64_t resident_bytes();  // of this process now

std::string memory_text() noexcept;  // "61.5 MB are in use, 2.1 GB are free on this machine"

// "61.5 MB", "2.1 GB": powers of 1000.
std::string bytes_text(double n);

}  // namespace gnomon
