// A folder for the files of one test.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"

namespace gnomon {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-test-", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Path folder_;
};

}  // namespace gnomon
