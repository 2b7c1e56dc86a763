#pragma once
#include "gnomon/families/reading.h"

namespace gnomon {

// Keys that look like settings of position and that nobody has asked for: a remark each, with the name that was perhaps meant.
void remark_unread(const FileReading& file, Resolved& answer);

}  // namespace gnomon
