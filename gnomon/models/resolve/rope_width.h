#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/rope_part.h"

namespace gnomon {

// What a dictionary of RoPE becomes while it is read: an encoding, why, and what there is to say; and which channels of a head turn,
// which depends on the type, on a share or a number in the dictionary, and on what the class makes of them.
class RopeWidth {
 public:
  RopeWidth(const RopeDict& dict, const RopeHead& head, const RopeFacts& facts, const RopeRules& rules)
      : dict_(dict), head_(head), facts_(facts), rules_(rules), type_(*dict.word("rope_type")) {}

 protected:
  // Sets rotated_, and writes what a spec says of it.
  void channels();

  void because(std::string_view what, std::string value, std::string key, std::string rule) {
    because_.push_back({std::string(what), std::move(value), std::move(key), std::move(rule)});
  }
  // The key says another number, from which this one follows.
  void follows(std::string_view what, std::string value, std::string key, std::string rule) {
    because(what, std::move(value), std::move(key), std::move(rule));
    because_.back().follows = true;
  }
  void note(std::string_view what, std::string value, std::string_view name) {
    const RopeValue* from = dict_.find(name);
    because(what, std::move(value), from ? from->key : "", from ? from->rule : rules_.source);
    because_.back().follows = from && from->follows;
  }
  void write(std::string_view option, const OptionValue& value) {
    encoding_.options.emplace_back(option, value);
  }
  // An option that is a member of the dictionary, and nothing else.
  void option(std::string_view option_name, const OptionValue& value, std::string_view name) {
    write(option_name, value);
    note(option_name, value.print(), name);
  }

  double needed(std::string_view name) {
    const auto x = dict_.number(name);
    if (!x) dict_.wrong(name, "a number");
    return *x;
  }
  // transformers 5.23 raises an error for it.
  void refuse(const std::string& key, std::string says, std::string_view rule) {
    remarks_.push_back({key, std::move(says), rule, {}, true});
  }

  const RopeDict& dict_;
  const RopeHead& head_;
  const RopeFacts& facts_;
  const RopeRules& rules_;
  const std::string type_;
  Named encoding_;
  std::int64_t rotated_ = 0;
  std::vector<Because> because_;
  std::vector<Remark> remarks_;

 private:
  void slice_of_share(double part);
  void even_out(std::int64_t n);
  std::optional<std::int64_t> pairs_of_sections() const;
  bool whole_head() const;
  void named_channels(double given);
  void rotate(std::int64_t n);
};

}  // namespace gnomon
