#pragma once
#include <optional>
#include <span>
#include <string>

#include "gnomon/study/run/run.h"

namespace gnomon {

// study.sqlite: the runs of a study with their curves and evaluations, for queries. Tables: runs, curves, by_length,
// by_position, joined by `key`. Everything in it can be rebuilt from the run folders, so nothing that happens to it
// stops a study: no connection stays open, a file that is damaged or of another schema is replaced.
//
// Makes it hold exactly these runs. Returns why it could not (locked by another program for two seconds, a full disk).
std::optional<std::string> write_store(const Path& path, std::span<const RunResult> results);
// Puts one run in, or replaces it; a file that is missing or not ours becomes one with this run alone.
std::optional<std::string> put_in_store(const Path& path, const RunResult& result);

}  // namespace gnomon
