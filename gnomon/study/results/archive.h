#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gnomon/study/plan/study.h"

namespace gnomon {

// A study as its archive has it: settings, what is told of the data, and results, without the text and the models.
// Summaries and pages are made of it anywhere as of the study. In the file, losses of blocks are whole numbers of 10⁻⁵ nats.
// Curves and losses by position are those of the largest budget, to 10⁻⁴ and as pages draw them. A member that would say
// nothing is left out.
struct Archived {
  std::string name;  // of a part; empty: it is a study by itself
  StudyConfig config;
  std::unique_ptr<Data> data;  // of a text: without windows, which throw Error(usage)
  Found found;                 // by the keys that runs have here
};

struct ToArchive {
  std::string name;
  const StudyConfig* config;
  const Data* data;
  const Found* found;  // of this study
};
// Compact JSON; equal for equal studies. Throws Error(usage) for a text of questions and answers.
std::string archive_json(const std::vector<ToArchive>& studies);
// Of a file that may be packed by gzip. Throws Error(input) for one that is no archive.
std::vector<Archived> archive_from(const Path& path);
// The runs of an archive that a study has, by settings and data, and that its folder lacks: their results, without models, are
// put there as if they had been trained. Settings, with what they predict, stand there before, if none do. Returns how many.
std::size_t take_over(const Archived& from, const StudyConfig& config, const Data& data,
                      const StudyFolder& folder);

}  // namespace gnomon
