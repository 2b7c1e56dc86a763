#pragma once
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// Keys that look like settings of position and that nobody has asked for: a remark each, of a known family with the name that
// was perhaps meant. What an unknown class reads is not known.
void remark_unread(const FileReading& file, Resolved& answer);

}  // namespace gnomon
