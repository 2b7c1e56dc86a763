// What is asked of an extension, which way to take, and the file with it.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/models/extend/parts.h"

namespace gnomon {
namespace {

constexpr double kMostTokens = 1e9;

const Extension* possible(const ExtensionPlan& plan, std::string_view name) {
  for (const Extension& e : plan.ways)
    if (e.method->name == name && e.refused.empty()) return &e;
  return nullptr;
}

}  // namespace

std::int64_t tokens_in(std::string_view words, std::int64_t promised) {
  const auto wrong = [&] {
    return Error(Fault::usage, text("--to: found ", excerpt(words),
                                    ", allowed are 1 to 1000000000 tokens, written as 16384, as 16k or 1M (k "
                                    "is 1024, M is 1048576), or as 4x (4 times the length in the file)"));
  };
  std::string_view digits = words;
  double unit = 1;
  if (!words.empty()) {
    const char last = words.back();
    unit = last == 'k' || last == 'K'   ? 1024
           : last == 'm' || last == 'M' ? 1048576
           : last == 'x'                ? double(promised)
                                        : 1;
    if (unit != 1 || last == 'x') digits.remove_suffix(1);
  }
  if (digits.empty() || digits.find_first_not_of("0123456789.") != digits.npos) throw wrong();
  double tokens = 0;
  try {
    tokens = number(digits, "--to") * unit;
  } catch (const Error&) {
    throw wrong();
  }
  const bool whole = digits.size() != words.size() || tokens == std::floor(tokens);
  if (!(tokens >= 1 && tokens <= kMostTokens) || !whole) throw wrong();
  return std::llround(tokens);
}

// Of a model that was trained with linear, linear: the others forget that scaling. Otherwise the first of these that it can have: YaRN has published numbers on both sides of the trained length; dynamic NTK is made
// for models that are not trained; NTK ends before its factor does; linear blurs near tokens until the model is trained.
ExtensionAdvice advice_for(const ExtensionPlan& plan) {
  if (plan.ways.empty()) return {};
  if (plan.now.model.longest >= plan.to)
    return {nullptr, text("Change nothing: the file promises ", grouped(double(plan.now.model.longest)),
                          " tokens already.")};
  const std::string scaled = scaling_of(plan);
  if (const Extension* way = scaled == "linear" ? possible(plan, scaled) : nullptr)
    return {way->method,
            "Take linear: the model was trained with this scaling, and a larger factor keeps it. Train with "
            "the new factor: "
            "without training, near tokens become hard to tell apart."};
  const std::string lost = scaled.empty() ? ""
                                          : text(" It replaces the scaling in the file (", scaled,
                                                 "), so try the model as it is first.");
  constexpr std::pair<std::string_view, std::string_view> kChoice[] = {
      {"yarn",
       "Take yarn if you do not train: it has the lowest published perplexity beyond the trained length."},
      {"dynamic", "Take dynamic if you do not train: this model cannot use yarn."},
      {"ntk",
       "Take ntk if you do not train: this model can use neither yarn nor dynamic. The usable length grows "
       "by less than the factor."},
      {"linear",
       "linear is the only way for this model. Train with it: without training, near tokens become hard to "
       "tell apart."}};
  for (const auto& [name, says] : kChoice)
    if (const Extension* way = possible(plan, name)) return {way->method, std::string(says) + lost};
  return {nullptr,
          "No way has a published number for a model like this one. Whichever you take, train with it."};
}

ExtendedFile extended_file(const Config& config, const Extension& way) {
  const auto cannot = [&](const std::string& why) {
    return Error(Fault::usage, text("--write: cannot write ", way.method->name, ": ", why));
  };
  if (config.gguf())
    throw cannot("gnomon does not change a GGUF file; pass the options above to the program that runs it");
  if (!way.refused.empty()) throw cannot(way.refused);
  const ExtensionSnippet* best = nullptr;
  for (const ExtensionSnippet& s : way.snippets) {
    const auto as_announced = [](const SnippetReading& r) { return r.differs.empty(); };
    if (!s.json || s.readings.empty() || !as_announced(s.readings.front())) continue;
    // Snippets of transformers 4 come first; they do for both where 5 reads them as well.
    if (!best || !std::all_of(best->readings.begin(), best->readings.end(), as_announced)) best = &s;
  }
  if (!best) throw cannot("no program would compute it from the changed file");
  ExtendedFile out{config.with(best->part, best->text).json() + "\n", {}};
  for (const SnippetReading& r : best->readings)
    if (r.differs.empty()) out.readers.push_back(r.reader);
  return out;
}

}  // namespace gnomon
