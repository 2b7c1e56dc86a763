#include "gnomon/models/lint/context.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/release.h"
#include "gnomon/models/resolve/gguf_architectures.h"

namespace gnomon {
void check_versions(const LintPrograms& programs) {
  for (const std::string& version : {programs.transformers, programs.vllm})
    if (!version.empty() && !release_of(version))
      throw Error(Fault::usage,
                  text("found the version ", excerpt(version), "; allowed are versions such as 5.4.0"));
}

LintContext::LintContext(const std::string& where, LintObstacle obstacle)
    : LintContext(Config::parse("{}", where), {}, {std::move(obstacle)}) {
  readable_ = false;
}

LintContext::LintContext(Config config, std::vector<LintTensor> tensors, std::vector<LintObstacle> obstacles,
                         LintPrograms programs)
    : FileView(std::move(config)),
      tensors_(std::move(tensors)),
      obstacles_(std::move(obstacles)),
      programs_(std::move(programs)) {
  check_versions(programs_);
  if (gguf()) readable_ = no_model().empty();
}

std::string_view LintContext::no_model() const {
  if (!gguf()) return {};
  return gguf_of_no_model(config().text("general.type").value_or(""),
                          config().text("general.architecture").value_or(""));
}

const LintContext::Understood& LintContext::understood(Reader reader) const {
  const auto [place, fresh] = understood_.try_emplace(reader);
  if (fresh) {
    try {
      place->second.resolved = resolve(config(), reader);
    } catch (const WrongValue& error) {
      place->second.refusal = error.what(), place->second.refused_key = error.key();
    } catch (const Error& error) {
      if (error.fault() != Fault::input && error.fault() != Fault::usage) throw;
      place->second.refusal = error.what();
    }
  }
  return place->second;
}
const Resolved* LintContext::read_by(Reader reader) const {
  const Understood& found = understood(reader);
  return found.resolved ? &*found.resolved : nullptr;
}
const std::string& LintContext::refusal(Reader reader) const { return understood(reader).refusal; }
const std::string& LintContext::refused_key(Reader reader) const { return understood(reader).refused_key; }

LintFile settings_for_lint(Config config, LintPrograms programs) {
  return {std::make_shared<const LintContext>(std::move(config), std::vector<LintTensor>(),
                                              std::vector<LintObstacle>(), std::move(programs))};
}

}  // namespace gnomon
