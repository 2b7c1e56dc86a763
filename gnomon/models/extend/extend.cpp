#include "gnomon/models/extend/extend.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/models/explain/differences.h"
#include "gnomon/models/extend/parts.h"
#include "gnomon/models/resolve/gguf_architectures.h"

namespace gnomon {
namespace {

// "Peng" is the paper as published at ICLR 2024; its first version numbers sections and definitions differently. Its table 5 has
// perplexities of LLaMA 7B, trained for 2,048 tokens: 4.05 there, and lower is better.
constexpr ExtensionMethod kMethods[] = {
    {"linear", "linear: position interpolation", "It divides the frequency of every pair by the factor.",
     "near tokens become hard to tell apart. Within the trained length the perplexity of LLaMA 7B rises from "
     "4.05 to 4.36 at factor 2, 7.09 at factor 4 and above 10 at factor 8 (Peng et al. 2023, table 5)",
     "1,000 steps extend LLaMA 7B to 65B to at most 32,768 tokens (section 3.1). After 200 steps a passkey "
     "is found over the whole length (section 3.3)",
     "Chen et al. 2023, https://arxiv.org/abs/2306.15595", "7.09", kNotKnown},
    {"ntk", "NTK: a larger base",
     "It raises the base: the slowest pair rotates slower by the factor, the fastest as before.",
     "made for use without training, but some pairs still rotate further than in training, so the usable "
     "length grows by less than the factor. At factor 4 the perplexity is 3.84 at 2 times the length and "
     "above 10 "
     "at 4 times (table 5)",
     "after 400 steps at factor 16 the perplexity is better than with linear at 8 times the length (3.21 "
     "against 3.97). It is worse at 16 times (8.49 against 3.57; table 5)",
     "bloc97 2023; Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.1 and definition 3",
     kNotKnown, "above 10"},
    {"dynamic", "dynamic NTK: a base that grows with the text",
     "Nothing changes up to the trained length; beyond it the base grows with every token. At s times the "
     "length, where s is the factor, the base is that of NTK with factor s\u00b7s \u2212 s + 1.",
     "made for use without training (section 3.4), but cached keys of a shorter text were rotated with "
     "another base (huggingface/transformers#25104)",
     "the paper uses it only for inference",
     "emozilla 2023; Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.4", "4.05", kNotKnown},
    {"yarn", "YaRN: slow pairs interpolated, fast ones kept",
     "Pairs that make many turns within the trained length stay as they are; slow pairs are interpolated. q "
     "and k become slightly larger.",
     "at factor 4 the perplexity of LLaMA 7B rises from 4.05 to 4.19 within the trained length; it is 3.65 "
     "at 4 times the length (table 5)",
     "Llama 2: 400 steps of 64 windows with 64k tokens for factor 16, 200 more for factor 32 (section 4.1)",
     "Peng et al. 2023, https://arxiv.org/abs/2309.00071, definition 2; the ramp follows the authors' code",
     "4.19", "3.65"},
    {"longrope", "LongRoPE format: a list of factors, one for each pair",
     "These lists do not come from a search: they are YaRN's factor for each pair, times what the file "
     "already divides by. LongRoPE's own lists come from a search over the model's loss, which nothing here "
     "replaces. If you have such lists, write them as short_factor and long_factor; in a GGUF file they are "
     "the tensors rope_factors_short.weight and rope_factors_long.weight.",
     "no published number for these lists; searched lists reached 8 times the length (abstract)",
     "no published number for these lists; searched lists reached 2048k tokens after up to 1,000 steps on "
     "lengths within 256k (abstract)",
     "Ding et al. 2024, https://arxiv.org/abs/2402.13753", kNotKnown, kNotKnown}};

constexpr std::string_view kPlainRotations[] = {"rope", "mrope", "mrope_interleaved"};
constexpr std::string_view kRotations[] = {
    "rope", "mrope",  "mrope_interleaved", "linear",      "ntk", "dynamic_ntk",
    "yarn", "llama3", "longrope",          "proportional"};
// Options of every rotation, whatever its frequencies.
constexpr std::string_view kWindowOptions[] = {"theta",    "pairing", "fraction", "channels",
                                               "rounding", "offset",  "side"};
// What YaRN has beside its factor and its length, which a new factor leaves as it is.
constexpr std::string_view kYarnOptions[] = {"beta_fast",      "beta_slow",      "truncate",     "mscale",
                                             "mscale_all_dim", "softmax_mscale", "extrapolation"};

template <class List>
bool among(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

void copy_options(const Named& from, std::span<const std::string_view> names, Named& to) {
  for (const auto& [key, value] : from.options)
    if (std::find(names.begin(), names.end(), key) != names.end()) to.options.emplace_back(key, value);
}

// Five digits: what a list in a file shows, and what is announced.
double rounded(double x) { return std::stod(text(std::round(x * 1e5) / 1e5)); }
std::vector<double> rounded(std::vector<double> list) {
  for (double& x : list) x = rounded(x);
  return list;
}

// θ_i/θ'_i of YaRN for this factor, with the standard ramp on the trained length.
std::vector<double> yarn_division(const LayerGroup& g, double factor, double original) {
  LayerPosition p = g.position;
  Named yarn{"yarn", {}};
  copy_options(*rotation_of(p), kWindowOptions, yarn);
  yarn.options.emplace_back("factor", factor);
  yarn.options.emplace_back("original", original);
  p.spec.attention = {yarn};
  auto division = plain_frequencies(g);
  const Numbers n = numbers_of(p, original);
  for (std::size_t i = 0; i < division.size(); ++i) division[i] /= n.inv_freq[i];
  return division;
}

// What the file divides each pair by today, in a context of `length` tokens.
std::vector<double> division_of(const LayerGroup& g, double length) {
  auto division = plain_frequencies(g);
  const Numbers n = numbers_of(g.position, length);
  for (std::size_t i = 0; i < division.size(); ++i) division[i] /= n.inv_freq[i];
  return division;
}

// Lists on top of what the file has: up to the length that it reaches now, its own; beyond, YaRN's division of them.
void longrope_options(const ExtensionTask& task, const LayerGroup& g, Named& to) {
  const double reached = double(std::max(task.plan.now.model.longest, task.plan.now.trained()));
  const auto today = division_of(g, reached);
  const bool scaled = !among(kPlainRotations, rotation_of(g.position)->name);
  const double more = scaled ? std::max(1.0, double(task.plan.to) / reached) : task.plan.factor;
  auto longer = yarn_division(g, more, scaled ? reached : task.original());
  for (std::size_t i = 0; i < longer.size(); ++i) longer[i] *= today[i];
  to.options.emplace_back("short", rounded(division_of(g, task.original())));
  to.options.emplace_back("long", rounded(longer));
}

}  // namespace

std::span<const ExtensionMethod> extension_methods() { return kMethods; }

const Named* rotation_of(const LayerPosition& p) {
  for (const Named& n : p.spec.attention)
    if (among(kRotations, n.name)) return &n;
  return nullptr;
}

std::string scaling_of(const ExtensionPlan& plan) {
  std::string scaled;
  for (const LayerGroup& g : plan.now.groups) {
    const Named* now = rotation_of(g.position);
    if (now && !among(kPlainRotations, now->name) && now->name != "proportional") scaled = now->name;
  }
  return scaled;
}

double ntk_theta(double theta, double factor, std::int64_t rotary_dim) {
  const double r = double(rotary_dim);
  return theta * std::pow(factor, r / (r - 2));
}

Named extended(const ExtensionTask& task, std::string_view method, const LayerGroup& g) {
  const Named& now = *rotation_of(g.position);
  // One number divides every frequency, so a second division is a product of the two.
  const bool again = method == "linear" && now.name == "linear";
  const double s = task.plan.factor * (again ? now.number("factor") : 1);
  if (now.name == "proportional") {
    Named to = now;
    std::erase_if(to.options, [](const auto& o) { return o.first == "factor"; });
    to.options.emplace_back("factor", s);
    return to;
  }
  if (method == "ntk" && now.name.starts_with("mrope")) {
    Named to = now;
    for (auto& [key, value] : to.options)
      if (key == "theta") value = ntk_theta(*g.theta, s, g.numbers().rotary_dim);
    return to;
  }
  Named to{method == "dynamic" ? "dynamic_ntk" : std::string(method), {}};
  copy_options(now, kWindowOptions, to);
  if (method == "longrope") longrope_options(task, g, to);
  to.options.emplace_back("factor", s);
  if (method != "linear" && method != "ntk") to.options.emplace_back("original", task.original());
  if (method != "yarn") return to;
  if (now.name == "yarn")
    copy_options(now, kYarnOptions, to);
  else
    to.options.insert(to.options.end(), {{"beta_fast", 32}, {"beta_slow", 1}, {"truncate", "on"}});
  return to;
}

namespace {

const Family& family_of(const Resolved& model) {
  static const Family generic;
  for (const Family& f : families())
    if (f.name == model.family) return f;
  return generic;
}

ExtendedGroup extended_group(const ExtensionTask& task, std::string_view method, const LayerGroup& g) {
  ExtendedGroup out{g.layers, g.position.component, g.position, {}, {}, 0, 0, 0};
  for (Named& n : out.position.spec.attention)
    if (&n - out.position.spec.attention.data() == rotation_of(g.position) - g.position.spec.attention.data())
      n = extended(task, method, g);
  out.numbers = numbers_of(out.position, double(task.plan.to));
  const auto plain = plain_frequencies(g), today = division_of(g, task.original());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / plain[i], factor = plain[i] / out.numbers.inv_freq[i];
    out.pairs.push_back({wavelength, task.original() / wavelength, factor, today[i]});
    const bool kept = factor <= 1 + 1e-6, whole = factor >= task.plan.factor * (1 - 1e-4);
    ++(kept ? out.kept : whole ? out.interpolated : out.blended);
  }
  return out;
}

bool extends(const ExtensionTask& task, const LayerGroup& g) {
  return rotation_of(g.position) && !(task.full_only && g.window);
}

// Why no class of transformers, which vLLM reads with as well, takes the file; empty: one does.
std::string refusal(const ExtensionTask& task, std::string_view method) {
  const auto& types = task.family.rope.types.names;
  if (task.config.gguf() || method == "ntk" || types.empty() || among(types, method)) return {};
  return text("the class of this family accepts only the type ", types.front(),
              " (transformers, validate_rope). llama.cpp may accept more for a GGUF file made from this one");
}

Extension way(const ExtensionTask& task, const ExtensionMethod& method) {
  Extension out{&method, "", {}, {}, {}};
  out.refused = refusal(task, method.name);
  if (!out.refused.empty()) return out;
  for (const LayerGroup& g : task.plan.now.groups) {
    if (!extends(task, g)) continue;
    if (rotation_of(g.position)->option("direction") == OptionValue("backward")) {
      out.refused = "its pairs turn backward, and no scaled encoding of gnomon does";
      return out;
    }
    if (rotation_of(g.position)->name == "proportional" && method.name != "linear") {
      out.refused = "proportional RoPE has one factor for all pairs and no other scaling";
      return out;
    }
    out.groups.push_back(extended_group(task, method.name, g));
  }
  add_snippets(task, out);
  return out;
}

void note_model(const ExtensionTask& task, std::vector<std::string>& notes) {
  const ExtensionPlan& plan = task.plan;
  bool window = false, bare = false, turns = false;
  const std::string scaled = scaling_of(plan);
  std::string sections;
  for (const LayerGroup& g : plan.now.groups) {
    const Named* now = rotation_of(g.position);
    window |= g.window.has_value(), bare |= g.kind == "none", turns |= now != nullptr;
    if (now && now->name.starts_with("mrope")) sections = now->name;
  }
  if (!scaled.empty()) {
    const bool linear = scaled == "linear";
    notes.push_back(text(
        "The file already scales its rotation (", scaled, "). ",
        linear ? "With linear, the file's factor is multiplied, so what the model learned is kept. " : "",
        "A dictionary has one type, so ", linear ? "" : "linear, ",
        "NTK, dynamic and YaRN replace this scaling and start again from ", plan.now.trained(),
        " tokens. Therefore original_max_position_embeddings stays at that value and the factor is ",
        shortest(plan.factor),
        ". What the model learned with the old scaling is then lost. The lists of longrope multiply the "
        "scaling in the file instead."));
  }
  if (turns && window)
    notes.push_back(text("Layers with a window see no keys beyond it at any length. They need no extension",
                         task.full_only
                             ? " and get none."
                             : ", but this file has one dictionary for all layers, so they get it too."));
  if (turns && bare) notes.push_back("Layers without positions have nothing to extend.");
  if (!sections.empty())
    notes.push_back(
        "M-RoPE: linear, dynamic, YaRN and longrope replace the type of the dictionary and keep its "
        "mrope_section. The specs below are for text, where the coordinates are equal; images use the same "
        "frequencies by section. Some programs drop either the type or the sections (LightLLM#1582).");
}

// Models that do not turn: what can be done instead.
void note_other(const ExtensionPlan& plan, std::vector<std::string>& notes) {
  if (plan.now.positions_end)
    notes.push_back(text("The model has a table of ", *plan.now.positions_end,
                         " rows, and no row for a token beyond it. Add rows, interpolated from the present "
                         "ones or new, and train them. If you change only max_position_embeddings in the "
                         "file, the model raises an index error."));
  bool alibi = false, t5 = false, none = false;
  for (const LayerGroup& g : plan.now.groups)
    alibi |= !g.numbers().slopes.empty(), t5 |= !g.buckets.empty(), none |= g.kind == "none";
  if (alibi)
    notes.push_back(
        "The bias of ALiBi is defined for every distance: it needs no extension, only memory. "
        "Distant tokens weigh less and less (Press et al. 2021, https://arxiv.org/abs/2108.12409).");
  if (t5)
    notes.push_back(
        "T5's buckets cover every distance: all distances in the last bucket share its bias. You need not "
        "change anything, but the model cannot tell far tokens apart.");
  if (none && !plan.now.positions_end && !alibi && !t5)
    notes.push_back("No layer uses positions: there is nothing to extend.");
}

std::optional<std::int64_t> cache_at(const Explanation& now, std::int64_t to) {
  Resolved longer = now.model;
  longer.longest = to;
  const Explanation e = explain(std::move(longer), now.where, now.gguf);
  if (!e.cache) return std::nullopt;
  const auto found = std::find(e.lengths.begin(), e.lengths.end(), to);
  return e.cache->at[std::size_t(found - e.lengths.begin())];
}

std::int64_t beyond(const ExtensionPlan& plan) {
  std::int64_t most = 0;
  for (const LayerGroup& g : plan.now.groups) {
    if (g.window) continue;
    const Numbers now = numbers_of(g.position, double(plan.to));
    most = std::max(most, pairs_beyond_training(g, now, plan.now.trained(), plan.to));
  }
  return most;
}

// Each way is read again by each program, and each pair is told of: what a file may ask for is less than `explain` takes.
constexpr std::size_t kMostKeys = 4096;
constexpr std::int64_t kMostChannels = 16384;

void check_extent_of(const Config& config, const Explanation& now) {
  const std::size_t keys = config.keys().size();
  if (keys > kMostKeys)
    throw Error(Fault::input,
                text(config.where(), ": the file has ", keys, " keys; allowed are at most ", kMostKeys));
  std::int64_t channels = 0;
  for (const LayerGroup& g : now.groups) channels += g.position.head_dim;
  if (channels > kMostChannels)
    throw Error(Fault::input, text(config.where(), ": the heads of the different layers have ", channels,
                                   " channels together; allowed are at most ", kMostChannels));
}

// Layers with a window have a rotation of their own in this architecture of llama.cpp.
bool slides_apart(const Config& gguf) {
  const auto* fixed = find_gguf_architecture(gguf.text("general.architecture").value_or(""));
  return fixed && fixed->windows.rope != SlidingRope::as_full;
}

}  // namespace

ExtensionPlan plan_extension(const Config& config, std::int64_t to) {
  return plan_extension(config, std::string_view(text(to)));
}

ExtensionPlan plan_extension(const Config& config, std::string_view words) {
  ExtensionPlan plan;
  plan.now = explain(config, config.gguf() ? Reader::llama_cpp : Reader::v5);
  check_extent_of(config, plan.now);
  if (plan.now.model.tower_alone)
    throw Error(Fault::input, text(config.where(), ": ", plan.now.model.family,
                                   " is a tower for images or sound, which has no context to extend"));
  const std::int64_t to = tokens_in(words, std::max(plan.now.trained(), plan.now.model.longest));
  if (to <= plan.now.trained())
    throw Error(Fault::usage,
                text(config.where(), ": --to is ", to, "; allowed are lengths above the trained ",
                     plan.now.trained(), " tokens"));
  plan.to = to;
  plan.factor = double(to) / double(plan.now.trained());
  plan.beyond = beyond(plan);
  plan.cache_bytes = cache_at(plan.now, to);
  const Family& family = family_of(plan.now.model);
  const RopeDicts dicts = family.rope.dicts;
  const bool by_kind =
      dicts == RopeDicts::by_kind || dicts == RopeDicts::both_kinds || dicts == RopeDicts::as_written;
  const ExtensionTask task{config, family, plan, config.gguf() ? slides_apart(config) : by_kind};
  const bool turns = std::any_of(plan.now.groups.begin(), plan.now.groups.end(),
                                 [&](const LayerGroup& g) { return extends(task, g); });
  std::vector<std::string> notes;
  if (turns && family.decoder.in_objects())
    throw Error(Fault::input, text(config.where(),
                                   ": the stacks that turn have their settings in objects of their own, and "
                                   "gnomon writes settings for one: extend the object of each"));
  note_model(task, notes);
  if (!turns) note_other(plan, notes);
  std::vector<Extension> ways;
  for (const ExtensionMethod& method : kMethods)
    if (turns) ways.push_back(way(task, method));
  plan.ways = std::move(ways), plan.notes = std::move(notes);
  plan.advice = advice_for(plan);
  return plan;
}

}  // namespace gnomon
