// What a training needs of its settings, which no file and no list of keys has to be read for.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "gnomon/core/names.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {

Architecture StudyModel::with(const Spec& position) const {
  Architecture a = make_block(block, *this, position);
  if (causal) a.causal = *causal;
  if (tied) a.head.tied = *tied;
  a.vocabulary = vocabulary;
  const std::vector<std::string_view> norms{"block", "layer", "rms"};
  if (std::find(norms.begin(), norms.end(), norm) == norms.end()) throw unknown("model.norm", norm, norms);
  if (norm != "block") a.norm.form = norm == "rms" ? NormForm::rms : NormForm::layer;
  return a;
}

Architecture model_of(const RunSettings& settings, const Spec& spec) { return settings.model.with(spec); }

std::int64_t RunSettings::tokens_at(double factor) const {
  return std::llround(factor * double(model.length));
}

std::int64_t RunSettings::longest() const {
  std::int64_t most = model.length;
  for (const double factor : lengths) most = std::max(most, tokens_at(factor));
  return most;
}

}  // namespace gnomon
