#include "gnomon/kernels/targets.h"

#include <hwy/highway.h>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  hwy::SetSupportedTargetsForTest(0);  // back to what the processor has
  for (const auto target : hwy::SupportedAndGeneratedTargets()) names.push_back(hwy::TargetName(target));
  return names;
}

namespace {
std::string& chosen() {
  static std::string name;
  return name;
}
}  // namespace

std::string simd_target() { return chosen().empty() ? simd_targets().front() : chosen(); }

void use_simd_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  bool found = name.empty();
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    found = true;
  }
  if (!found) throw Error(Fault::usage, text("this machine has no SIMD target '", name, "'"));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  chosen() = name;
}

}  // namespace gnomon
