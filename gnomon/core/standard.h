#pragma once

// Every header begins here: an older standard is named as what is wrong, instead of a page of errors.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "gnomon needs C++20: compile with -std=c++20"
#endif
