// What the system says of memory.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// The first number in a file of the system, or `otherwise` ("max", or no such file).
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t n = 0;
  return file >> n && n >= 0 ? n : otherwise;
}
// The number behind `name` in a file of "name number" lines, times `unit`.
std::int64_t named_number(const std::string& path, std::string_view name, std::int64_t unit,
                          std::int64_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name, 0) == 0) return std::strtoll(line.c_str() + name.size(), nullptr, 10) * unit;
  }
  return otherwise;
}
// What the control groups of this process leave, from its own up to the root; file cache that can be dropped counts
// as free. Version 2 has one tree, version 1 one for memory alone.
struct GroupFiles {
  std::string_view line, root, limit, used, cache;
};
constexpr GroupFiles kGroups[] = {{"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
                                  {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                   "memory.usage_in_bytes", "total_inactive_file "}};

std::int64_t left_in_group() {
  std::int64_t left = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    for (const GroupFiles& g : kGroups) {
      const auto at = line.find(g.line);
      if (at == std::string::npos) continue;
      std::string folder = std::string(g.root) + line.substr(at + g.line.size());
      for (; folder.size() >= g.root.size(); folder = folder.substr(0, folder.rfind('/'))) {
        const auto file = [&](std::string_view name) { return text(folder, "/", name); };
        const std::int64_t most = number_in(file(g.limit), kNoLimit);
        if (most > kNoLimit / 4) continue;  // version 1 writes a huge number for none
        left = std::min(left,
                        most - number_in(file(g.used), 0) + named_number(file("memory.stat"), g.cache, 1, 0));
      }
    }
  }
  return std::max<std::int64_t>(left, 0);
}

}  // namespace

AvailableMemory available_memory() {
  AvailableMemory m{named_number("/proc/meminfo", "MemAvailable:", 1024, kNoLimit), "free on this machine",
                    kNoLimit, "no limit"};
  if (const std::int64_t group = left_in_group(); group < m.shared_bytes)
    m.shared_bytes = group, m.shared_by = "left within the limit of the control group";
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::int64_t mapped = number_in("/proc/self/statm", 0) * sysconf(_SC_PAGESIZE);
    m.own_bytes = std::max<std::int64_t>(0, std::int64_t(limit.rlim_cur) - mapped);
    m.own_by = "left within the limit of this process (ulimit -v)";
  }
  return m;
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t mapped = 0, resident = 0;
  return file >> mapped >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace gnomon
