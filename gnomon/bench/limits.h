#pragma once
#include <cstdint>
#include <string>

namespace gnomon::bench {

// What a machine allows, and every timing is a share of.
enum class Resource {
  multiply_f32,   // float32 multiply-adds ×2 a second, in registers
  multiply_bf16,  // bfloat16 products added up in float32, ×2 a second, in registers: by AMX or vdpbf16ps
  scale,          // bytes a second of x *= a in place: each number is read and written
  copy,           // bytes a second of y = x
  read            // bytes a second of a sum
};
struct Limit {
  Resource resource;
  std::int64_t bytes = 0;  // of scale, copy, read: the numbers that all threads share
};
std::string name(const Limit& limit);  // "float32 multiply", "in-place scale of 16 MB"

// Whether this processor has what the limit needs.
bool has(const Limit& limit);

// Operations or bytes a second that `threads` threads reach, in some tens of milliseconds; the best of three attempts. The
// numbers of scale, copy and read are those of the last call with as many bytes. Throws Error(usage) where has() is false.
double rate(const Limit& limit, int threads);

}  // namespace gnomon::bench
