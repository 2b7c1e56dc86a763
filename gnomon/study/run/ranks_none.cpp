// A build without MPI. Its twin is ranks_mpi.cpp: a build has one of them.
#include "gnomon/core/error.h"
#include "gnomon/study/run/ranks.h"

namespace gnomon {

std::unique_ptr<Ranks> join_ranks() {
  throw Error(Fault::usage,
              "gnomon was built without MPI: build it with cmake -D GNOMON_MPI=ON (Debian: libopenmpi-dev)");
}

}  // namespace gnomon
