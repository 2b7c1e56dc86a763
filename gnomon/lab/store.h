#pragma once
#include <memory>
#include <vector>

#include "gnomon/lab/run.h"

namespace gnomon {

// study.sqlite: the runs of a study with their curves and evaluations, for queries. One writer; everything in
// it can be rebuilt from the run folders. Tables: runs, curves, by_length, by_position, joined by `key`.
class Store {
 public:
  explicit Store(const Path& path);  // opens or creates; throws Error(resource)
  ~Store();
  void put(const RunResult& result);              // replaces what it has of this run, in one transaction
  void keep_only(std::span<const RunPlan> plan);  // forgets runs of other plans

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gnomon
