#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/lint/lint.h"
#include "gnomon/models/lint/tensors.h"
#include "gnomon/models/resolve/file_view.h"
#include "gnomon/models/resolve/place.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// Why rules cannot look at a file, or at the weights beside it.
struct LintObstacle {
  std::string why;
  bool incomplete = false;  // a part of the model is elsewhere; nothing need be wrong with what is here
  TextPlace place = {};
};

// A file, what the readers make of it, and what stands beside it.
class LintContext : public FileView {
 public:
  explicit LintContext(Config config, std::vector<LintTensor> tensors = {},
                       std::vector<LintObstacle> obstacles = {}, LintPrograms programs = {});
  // A file that cannot be read: it has no settings.
  LintContext(const std::string& where, LintObstacle obstacle);

  bool readable() const { return readable_; }
  std::string_view no_model() const;  // what a GGUF file holds that is not a model; empty: it is one
  const std::vector<LintObstacle>& obstacles() const { return obstacles_; }
  const LintPrograms& programs() const { return programs_; }
  // Null where this reader cannot read the file; refusal() then says why.
  const Resolved* read_by(Reader reader) const;
  const std::string& refusal(Reader reader) const;
  const std::string& refused_key(Reader reader) const;  // what it is about; empty: no single key
  const std::vector<LintTensor>& tensors() const { return tensors_; }  // empty: the weights are not there

 private:
  std::vector<LintTensor> tensors_;
  std::vector<LintObstacle> obstacles_;
  bool readable_ = true;
  LintPrograms programs_;
  struct Understood {
    std::optional<Resolved> resolved;
    std::string refusal, refused_key;
  };
  const Understood& understood(Reader reader) const;
  mutable std::map<Reader, Understood> understood_;  // each made when first asked for
};

}  // namespace gnomon
