#pragma once
#include <cstddef>
#include <functional>

namespace gnomon {

// Does `count` things on threads of this process, each on one thread: work(n, stopped) for n from 0 on, as many side by side
// as thread_count(), or as the system lets be made. Once a work returns false or throws, stopped() is true and none is begun
// any more; what was thrown is thrown again when the others have ended. Returns whether all were done. The other way of doing
// many is a process for each (workers.h), where a crash takes one with it. Throws Error(resource) where no thread can be made.
using Work = std::function<bool(std::size_t n, const std::function<bool()>& stopped)>;
bool on_threads(std::size_t count, const Work& work);

}  // namespace gnomon
