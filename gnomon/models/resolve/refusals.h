#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/file_view.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

using Remarks = std::vector<Remark>;

// What transformers 5.23 raises an error for when it reads the file, builds the model or runs it, though its keys can be read:
// seen by building each class and running it on a few tokens. The rest of these is remarked where the numbers are made.
Remarks refusals(const FileView& file);

// Of layers that need a window or a chunk (refused_windows.cpp).
Remarks window_missing(const FileView& file);
Remarks window_impossible(const FileView& file);
// The name of the family whose class transformers 5.23 has; empty: gnomon does not know the class.
std::string_view class_of(const FileView& file);
// About a key of the whole file, which may be missing.
Remark refused(std::string key, std::string_view instead, std::string_view says);

}  // namespace gnomon
