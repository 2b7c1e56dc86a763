# Every source file is as clang-format leaves it. Run: cmake -D ROOT=<repository> -P tests/style.cmake
cmake_minimum_required(VERSION 3.25)
set(patterns "")
foreach(folder gnomon cli web bench examples python/bindings docs/examples tests)
  list(APPEND patterns ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.c)
endforeach()
file(GLOB_RECURSE files ${patterns})
list(FILTER files EXCLUDE REGEX "/fuzz/corpus/")  # data
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format REQUIRED)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${files} COMMAND_ERROR_IS_FATAL ANY)
