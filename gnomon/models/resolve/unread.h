#pragma once
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// Keys that look like settings of position and that nobody has asked for: a remark each, of a known family with the name that
// was perhaps meant, and with the code of the repository that may read it. What an unknown class reads is not known.
void remark_unread(const FileReading& file, const Family& family, Resolved& answer);

}  // namespace gnomon
