#include "gnomon/core/array.h"

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"

namespace gnomon {

void* allocate_aligned(std::size_t bytes) {
  if (void* p = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow)) return p;
  throw Error(Fault::resource,
              text("out of memory: cannot allocate ", bytes_text(double(bytes)), "; ", memory_text()));
}

}  // namespace gnomon
