# Every source file is as clang-format leaves it. Run: cmake -D ROOT=<repository> -P tests/style.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files ${ROOT}/gnomon/*.h ${ROOT}/gnomon/*.cpp ${ROOT}/cli/*.h ${ROOT}/cli/*.cpp ${ROOT}/bench/*.h ${ROOT}/python/bindings/*.h ${ROOT}/python/bindings/*.cpp
     ${ROOT}/bench/*.cpp ${ROOT}/tests/unit/*.h ${ROOT}/tests/unit/*.cpp ${ROOT}/tests/consumer/*.cpp ${ROOT}/tests/consumer/*.c ${ROOT}/docs/examples/*.c
     ${ROOT}/tests/fuzz/*.h ${ROOT}/tests/fuzz/*.cpp ${ROOT}/tests/torture/*.cpp)
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format REQUIRED)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${files} COMMAND_ERROR_IS_FATAL ANY)
