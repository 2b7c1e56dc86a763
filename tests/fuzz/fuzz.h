// What the fuzz targets share. Each target is one file with accepts(): libFuzzer calls it with mutated bytes
// (entry.cpp, preset `fuzz`), and corpus_test.cpp with the kept ones in every build.
#pragma once
#include <string>
#include <string_view>

#include "gnomon/core/file.h"

namespace gnomon::fuzz {

// Whether the bytes are taken for what the target reads. Any exception that leaves it is a finding: a crash
// for libFuzzer, a failure for the corpus test.
bool accepts(std::string_view bytes);

// Throws std::logic_error, which no target catches.
void require(bool holds, std::string_view promise);

// An empty folder in memory for this process, gone with it.
const Path& empty_folder();
Path file_with(std::string_view bytes);  // its path, in a folder emptied before

// The same content with the checksum that belongs to it, or nothing, when `complaint` is not about one. A
// random edit never gets past a checksum; this does, so what lies behind it is tested too. It goes by the words
// "found <64 digits>, expected <64 digits>" (or "<64 digits>" in quotes), on which the files named good-behind-checksum-* of the corpus insist.
std::string with_its_checksum(std::string_view bytes, std::string_view complaint);

}  // namespace gnomon::fuzz
