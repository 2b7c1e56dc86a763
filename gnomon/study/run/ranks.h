#pragma once
#include <memory>

#include "gnomon/nn/ranks.h"

namespace gnomon {

// The ranks that a launcher of MPI has started (mpirun, or srun --mpi=pmix), of which this process is one; without a launcher it
// is the only one. Once in a process, before it starts threads. The others are heard of every second, whatever the threads of
// this process do: a rank that says nothing for 20 seconds, and the end of the process that started this one, are an
// Error(lost) of exchange() and check(), which say so within a second. After that, or while an exception is on its way, the
// destructor leaves MPI without a farewell, for there may be nobody to answer, and the process has to end.
// Throws Error(usage) where gnomon was built without MPI, Error(resource) where MPI cannot be had.
std::unique_ptr<Ranks> join_ranks();

}  // namespace gnomon
