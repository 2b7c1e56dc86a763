// A GGUF file made key by key (github.com/ggml-org/ggml, docs/gguf.md), with tensors of one dimension.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gnomon {

class GgufBytes {
 public:
  explicit GgufBytes(const std::string& arch) : arch_(arch) { text("general.architecture", arch); }

  GgufBytes& whole(const std::string& key, std::uint32_t x) { return head(key, 4).put(x); }
  GgufBytes& number(const std::string& key, float x) { return head(key, 6).put(x); }
  GgufBytes& flags(const std::string& key, const std::vector<bool>& list) {
    head(key, 9).put(std::uint32_t(7)).put(std::uint64_t(list.size()));
    for (const bool x : list) put(std::uint8_t(x));
    return *this;
  }
  GgufBytes& wholes(const std::string& key, const std::vector<std::uint32_t>& list) {
    head(key, 9).put(std::uint32_t(4)).put(std::uint64_t(list.size()));
    for (const std::uint32_t x : list) put(x);
    return *this;
  }
  GgufBytes& numbers(const std::string& key, const std::vector<float>& list) {
    head(key, 9).put(std::uint32_t(6)).put(std::uint64_t(list.size()));
    for (const float x : list) put(x);
    return *this;
  }
  GgufBytes& flag(const std::string& key, bool x) { return head(key, 7).put(std::uint8_t(x)); }
  // A list of `count` bytes: 8-bit whole numbers.
  GgufBytes& eights(const std::string& key, std::size_t count) {
    head(key, 9).put(std::uint32_t(0)).put(std::uint64_t(count));
    body_.append(count, '\7');
    return *this;
  }
  GgufBytes& text(const std::string& key, const std::string& x) {
    head(key, 8);
    return string(x);
  }
  GgufBytes& tensor(const std::string& name, std::vector<float> numbers) {
    tensors_.emplace_back(name, std::move(numbers));
    return *this;
  }
  std::string bytes() const {
    GgufBytes all;
    all.body_ = "GGUF";
    all.put(std::uint32_t(3)).put(std::uint64_t(tensors_.size())).put(std::uint64_t(keys_));
    all.body_ += body_;
    std::uint64_t place = 0;
    for (const auto& [name, numbers] : tensors_) {
      all.string(name)
          .put(std::uint32_t(1))
          .put(std::uint64_t(numbers.size()))
          .put(std::uint32_t(0))
          .put(place);
      place += padded(numbers.size() * sizeof(float));
    }
    all.body_.resize(padded(all.body_.size()));
    for (const auto& [name, numbers] : tensors_) {
      for (const float x : numbers) all.put(x);
      all.body_.resize(padded(all.body_.size()));
    }
    return all.body_;
  }

 private:
  GgufBytes() = default;
  static std::size_t padded(std::size_t bytes) { return (bytes + 31) / 32 * 32; }
  GgufBytes& head(const std::string& key, std::uint32_t type) {
    ++keys_;
    string(key.starts_with("general.") || key.starts_with("other.") || key.starts_with("tokenizer.") ||
                   key.starts_with("xielu.")
               ? key
               : arch_ + "." + key);
    return put(type);
  }
  GgufBytes& string(const std::string& x) {
    put(std::uint64_t(x.size()));
    body_ += x;
    return *this;
  }
  template <class T>
  GgufBytes& put(T x) {
    char raw[sizeof x];
    std::memcpy(raw, &x, sizeof x);
    body_.append(raw, sizeof x);
    return *this;
  }
  std::string arch_, body_;
  std::uint64_t keys_ = 0;
  std::vector<std::pair<std::string, std::vector<float>>> tensors_;
};

}  // namespace gnomon
