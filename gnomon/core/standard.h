#pragma once

// Every header includes this one: an older C++ standard then gives one clear error instead of a page of errors.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "gnomon needs C++20: compile with -std=c++20"
#endif
