// What a user of the lab library writes: a file of tensors, there and back, and a study as it would be.
#include <gnomon/core/error.h>
#include <gnomon/files/safetensors.h>
#include <gnomon/study/settings/config.h>

#include <cstdio>
#include <vector>

int main() {
  const gnomon::Path path = "consumer.safetensors";
  const std::vector<float> numbers{1, 2, 3};
  gnomon::write_safetensors(path, std::vector<gnomon::Tensor>{{"a", {3}, numbers}},
                            {{"written", "by a consumer"}});
  const gnomon::TensorFile file = gnomon::read_safetensors(path, gnomon::Digest::required);
  std::printf("%s\n", file.metadata.at("written").c_str());
  return file.at("a", path).data[2] == 3 && !gnomon::print_toml(gnomon::StudyConfig()).empty() ? 0 : 1;
}
