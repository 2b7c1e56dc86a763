# A toolchain of zig's clang for WebAssembly with vectors of 128 bits, exceptions and the system interface WASI. scripts/dist makes
# the four tools, which know the target, and says in GNOMON_ZIG where the sources of the compiler's libraries are.
set(CMAKE_SYSTEM_NAME Generic)  # CMake 3.25 does not know WASI
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # a program needs the libraries of cmake/GnomonWasm.cmake
set(tools ${CMAKE_CURRENT_LIST_DIR}/../build/dist/wasm32-wasi/tools)
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_CXX_COMPILER ${tools}/c++)
set(CMAKE_AR ${tools}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${tools}/ranlib CACHE FILEPATH "")
# zig turns files and folders off in its libc++, which has them for WASI.
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -U_LIBCPP_HAS_FILESYSTEM -D_LIBCPP_HAS_FILESYSTEM=1")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib++")
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings ${CMAKE_CURRENT_LIST_DIR}/../tests/web/run.mjs)
