#include "cli/machine.h"

#include <sys/utsname.h>

#include <fstream>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/targets.h"

namespace gnomon::cli {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0)
      return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  }
  return "unknown processor";
}

}  // namespace

std::string machine() {
  struct utsname system {};
  uname(&system);
  return text(processor(), ", ", std::thread::hardware_concurrency(), " logical cores, SIMD ", simd_target(),
              ", ", system.sysname, " ", system.machine, ", compiler ", __VERSION__);
}

}  // namespace gnomon::cli
