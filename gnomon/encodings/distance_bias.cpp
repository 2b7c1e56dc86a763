#include "gnomon/encodings/distance_bias.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gnomon/core/error.h"

namespace gnomon {

double alibi_slope(std::int64_t h, std::int64_t H, bool geometric, double most) {
  const std::int64_t P = geometric ? H : std::int64_t(std::bit_floor(std::uint64_t(H)));
  return h < P ? std::exp2(-most * double(h + 1) / double(P))
               : std::exp2(-most / 2 * double(2 * (h - P) + 1) / double(P));
}

// Of B buckets the first e = B/2 hold one distance each, the others ⌊e + ln(n/e)/ln(distance/e)·(B − e)⌋, at most
// B − 1.
std::int64_t t5_bucket(const Buckets& b, double delta) {
  const std::int64_t B = b.causal ? b.count : b.count / 2, exact = B / 2;
  const std::int64_t side = !b.causal && delta < 0 ? B : 0;
  const double n = b.causal ? std::max(delta, 0.0) : std::abs(delta);
  if (n < double(exact)) return side + std::int64_t(n);
  const double log =
      std::log(n / double(exact)) / std::log(double(b.distance) / double(exact)) * double(B - exact);
  return side + std::min(B - 1, exact + std::int64_t(log));
}

OptionSpec bucket_count_option() {
  return {.name = "buckets",
          .help = "number of rows in the bias table",
          .standard = "32",
          .least = 2,
          .most = 1 << 20,
          .whole = true};
}
OptionSpec bucket_distance_option() {
  return {.name = "distance",
          .help = "keys this many tokens away or more share the last bucket",
          .standard = "128",
          .least = 2,
          .most = 1 << 24,
          .whole = true};
}

void check_buckets(std::string_view owner, const Buckets& b) {
  const std::int64_t exact = (b.causal ? b.count : b.count / 2) / 2;
  if (b.count % 2 || exact < 1 || b.distance <= exact) {
    throw Error(Fault::usage,
                text(owner, ": buckets=", b.count, ", distance=", b.distance,
                     ": buckets must be even and at least ", b.causal ? 2 : 4, "; distance must exceed ",
                     exact, ", the number of buckets with a single distance"));
  }
}

}  // namespace gnomon
