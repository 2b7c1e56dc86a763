#pragma once
// What extend.cpp and extend_snippets.cpp share. Internal to families.
#include <string>
#include <vector>

#include "gnomon/models/extend/extend.h"
#include "gnomon/models/resolve/family.h"

namespace gnomon {

// A model on its way to a longer context.
struct ExtensionTask {
  const Config& config;
  const Family& family;
  const ExtensionPlan& plan;
  double original() const { return double(plan.now.trained()); }
  // Which layers the one dictionary, or flag, is about: all that turn, or only those without a window.
  bool full_only = false;
};

// The rotation among the encodings of a layer; null: it does not turn.
const Named* rotation_of(const LayerPosition& position);
// In the announced spec's words.
Named extended(const ExtensionTask& task, std::string_view method, const LayerGroup& group);
// The base that NTK changes to.
double ntk_theta(double theta, double factor, std::int64_t rotary_dim);

// Whether the file scales its rotation already; the name of the encoding, or nothing.
std::string scaling_of(const ExtensionPlan& plan);
// Of a plan whose ways are there.
ExtensionAdvice advice_for(const ExtensionPlan& plan);
// Tokens in words, as plan_extension() takes them; throws Error(usage).
std::int64_t tokens_in(std::string_view words, std::int64_t promised);

// Fills in the snippets of a way whose method and groups are there, and what is missing.
void add_snippets(const ExtensionTask& task, Extension& way);

}  // namespace gnomon
