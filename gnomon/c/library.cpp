// The library itself: its versions, the names of its statuses, its threads.
#include "gnomon/c/call.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

using gnomon::c::call;
using gnomon::c::need;

namespace {

using gnomon::Fault;
static_assert(int(Fault::usage) == GNOMON_USAGE && int(Fault::input) == GNOMON_INPUT);
static_assert(int(Fault::resource) == GNOMON_RESOURCE && int(Fault::busy) == GNOMON_BUSY);
static_assert(int(Fault::bug) == GNOMON_BUG && int(Fault::lost) == GNOMON_LOST);

constexpr int kMostThreads = 1 << 16;

}  // namespace

const char* gnomon_version(void) { return GNOMON_VERSION; }
int gnomon_abi_version(void) { return GNOMON_ABI_VERSION; }

const char* gnomon_status_name(gnomon_status status) {
  switch (status) {
    case GNOMON_OK:
      return "ok";
    case GNOMON_USAGE:
      return "usage";
    case GNOMON_INPUT:
      return "input";
    case GNOMON_RESOURCE:
      return "resource";
    case GNOMON_BUSY:
      return "busy";
    case GNOMON_BUG:
      return "bug";
    case GNOMON_LOST:
      return "lost";
  }
  return "unknown";
}

gnomon_status gnomon_set_threads(int threads) {
  return call([&] {
    gnomon::check_extents("gnomon_set_threads", {{"threads", threads, 1, kMostThreads}});
    gnomon::set_thread_count(threads);
  });
}

gnomon_status gnomon_get_threads(int* threads) {
  return call([&] { need("threads", threads) = gnomon::thread_count(); });
}
