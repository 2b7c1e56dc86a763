#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/study/plan/finished.h"

namespace gnomon::cli {
namespace {

// Bytes that are no UTF-8, which a young model writes, become U+FFFD.
std::string readable(std::string bytes) {
  for (std::size_t at; (at = first_invalid_utf8(bytes)) != std::string::npos;)
    bytes.replace(at, 1, "\xEF\xBF\xBD");
  return bytes;
}

// What a terminal would obey is written out, as \x1b; line ends and tabs stay.
std::string for_terminal(std::string_view written) {
  std::string out;
  for (std::size_t at = 0; at <= written.size();) {
    const std::size_t end = std::min(written.find_first_of("\n\t", at), written.size());
    out += printable(written.substr(at, end - at));
    if (end < written.size()) out += written[end];
    at = end + 1;
  }
  return out;
}

}  // namespace

int sample(const SampleOptions& o) {
  std::optional<std::int64_t> seed;
  if (o.run_seed) seed = *o.run_seed;
  const FinishedRun run = finished_run({o.study}, o.arm, seed);
  const std::string written = readable(continuation(
      run, o.prompt, {.count = o.bytes, .temperature = o.temperature, .seed = std::uint64_t(o.seed)}));
  if (o.json) {
    const nlohmann::ordered_json j{{"arm", run.result.plan.arm},
                                   {"seed", run.result.plan.seed},
                                   {"nats", run.result.nats},
                                   {"prompt", o.prompt},
                                   {"written", written}};
    fmt::print("{}\n", without_unprintables(j.dump(1)));
    return 0;
  }
  fmt::print(stderr, "{}, seed {}, {:.3f} nats per byte\n", run.result.plan.arm, run.result.plan.seed,
             run.result.nats);
  const std::string all = o.prompt + written;
  fmt::print("{}\n", isatty(STDOUT_FILENO) ? for_terminal(all) : all);
  return 0;
}

}  // namespace gnomon::cli
