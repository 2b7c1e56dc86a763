#include "cli/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/tokenizer.h"
#include "gnomon/files/weights.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/models/run/open.h"

namespace gnomon::cli {
namespace {

using Clock = std::chrono::steady_clock;

// --- The text, as tokens of the model

struct TextTokens {
  std::vector<std::int32_t> ids;            // bare
  std::vector<std::int32_t> before, after;  // what the model has around a text, as [CLS] and [SEP]
  std::optional<Tokenizer> tokenizer;       // of the model, where there is one that gnomon reads
  bool is_word(std::int32_t id) const { return !tokenizer || !tokenizer->is_special(id); }
};

std::vector<std::int32_t> ids_of(const std::string& path) {
  std::vector<std::int32_t> ids;
  std::istringstream in(read_file(path));
  std::int64_t id = 0;
  while (in >> id) {
    if (id < 0 || id > INT32_MAX) throw Error(Fault::input, text(path, ": ", id, " is no token id"));
    ids.push_back(std::int32_t(id));
  }
  if (!in.eof()) throw Error(Fault::input, text(path, ": not whole numbers with spaces between them"));
  return ids;
}

// Ids may be of a tokeniser that gnomon does not read.
std::optional<Tokenizer> tokenizer_beside_ids(const Path& model) {
  try {
    return Tokenizer::read(model / "tokenizer.json");
  } catch (const Error&) {
    return {};
  }
}

TextTokens tokens_of(const InspectOptions& o) {
  const Path path(o.model);
  if (!o.ids.empty()) return {ids_of(o.ids), {}, {}, tokenizer_beside_ids(path)};
  const Tokenizer tokenizer = path.extension() == ".gguf" ? Tokenizer::from(*Weights::open(path).gguf())
                                                          : Tokenizer::read(path / "tokenizer.json");
  TextTokens t{tokenizer.encode(read_file(o.text), Tokenizer::Ends::bare), {}, {}, tokenizer};
  const auto ends = tokenizer.encode("a"), bare = tokenizer.encode("a", Tokenizer::Ends::bare);
  const auto at = std::search(ends.begin(), ends.end(), bare.begin(), bare.end());
  if (at != ends.end())
    t.before.assign(ends.begin(), at), t.after.assign(at + std::ptrdiff_t(bare.size()), ends.end());
  return t;
}

// Windows one after the other, as many as there are up to `most`. A decoder predicts the next token. An encoder gets what it
// has around a text in every window; its targets are the words of the text, of which it is asked those that are masked.
Sample windows_of_text(const TextTokens& t, bool causal, std::int64_t T, std::int64_t most) {
  const std::int64_t frame = causal ? 0 : std::int64_t(t.before.size() + t.after.size()), body = T - frame;
  const std::int64_t enough =
      (std::int64_t(t.ids.size()) - (causal ? 1 : 0)) / std::max<std::int64_t>(body, 1);
  Sample s{T, {}, {}};
  for (std::int64_t w = 0; w < std::min(most, enough); ++w) {
    const auto begin = t.ids.begin() + w * body;
    if (causal) {
      s.inputs.insert(s.inputs.end(), begin, begin + T),
          s.targets.insert(s.targets.end(), begin + 1, begin + T + 1);
      continue;
    }
    s.inputs.insert(s.inputs.end(), t.before.begin(), t.before.end());
    s.inputs.insert(s.inputs.end(), begin, begin + body);
    s.inputs.insert(s.inputs.end(), t.after.begin(), t.after.end());
    s.targets.resize(s.targets.size() + t.before.size(), kUnscored);
    for (auto id = begin; id < begin + body; ++id) s.targets.push_back(t.is_word(*id) ? *id : kUnscored);
    s.targets.resize(s.inputs.size(), kUnscored);
  }
  if (s.inputs.empty())
    throw Error(Fault::usage,
                text("the text has ", t.ids.size(), " tokens; a window takes ", body + (causal ? 1 : 0)));
  return s;
}

// How the words of a text are masked. Throws Error(usage) where it is not known what stands for a masked one.
Masking masking_of(const OpenedModel& m, const TextTokens& t) {
  const std::int64_t known = m.model.architecture().vocabulary;
  const auto named = t.tokenizer ? t.tokenizer->mask() : std::nullopt;
  const std::optional<std::int64_t> mask = named ? *named : m.config.whole("mask_token_id");
  if (!mask)
    throw Error(Fault::usage, text("an encoder is scored on masked tokens, and its mask token is not known: ",
                                   t.tokenizer ? "tokenizer.json has no special token [MASK] or <mask>"
                                               : "there is no tokenizer.json that gnomon reads",
                                   ", and config.json no mask_token_id"));
  return {*mask, t.tokenizer ? std::min(known, t.tokenizer->size()) : known};
}

// --- The parts, one after the other

struct Part {
  std::string name;
  double tokens;  // that go through the model
  std::function<void()> look;
};

// Tells what is looked at and how long the rest will take, judged by the tokens of the parts before.
void look_at_all(const std::vector<Part>& parts, pages::Inspected& in, bool quiet) {
  const auto begin = Clock::now();
  double all = 0, done = 0;
  for (const Part& p : parts) all += p.tokens;
  for (const Part& p : parts) {
    if (interruptions()) throw Stopped{};
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!quiet)
      tell(text(p.name, done > 0
                            ? text(" (about ", grouped(std::ceil(seconds * (all - done) / done)), " s left)")
                            : ""));
    try {
      p.look();
    } catch (const Error& e) {
      if (e.fault() != Fault::usage) throw;
      in.found.left_out.push_back({p.name, e.what()});
    }
    done += p.tokens;
  }
}

std::vector<std::int64_t> some_layers(std::int64_t layers) {
  std::vector<std::int64_t> some{0, 1, layers / 4, layers / 2, 3 * layers / 4, layers};
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

struct Subject {
  const InspectOptions& o;
  const OpenedModel& model;
  const TextTokens& text;
  pages::Inspected& in;

  Trained trained() const { return model.trained(); }
  const Architecture& architecture() const { return model.model.architecture(); }
  // The longest window up to T that the model has positions for.
  std::int64_t within(std::int64_t T) const { return std::min(T, model.model.positions_end().value_or(T)); }
  Sample windows(std::int64_t T, std::int64_t most) const {
    return windows_of_text(text, architecture().causal, within(T), most);
  }
  // The same to be scored: with masked tokens, where the model fills them in.
  Sample scored(std::int64_t T, std::int64_t most) const {
    const Sample sample = windows(T, most);
    if (in.found.measure != Measure::loss_of_masked) return sample;
    in.found.masking = masking_of(model, text);
    return masked(sample, *in.found.masking);
  }
};

void add_tables(const Subject& s, std::vector<Part>& parts) {
  if (!s.architecture().position.input) {
    s.in.found.left_out.push_back(
        {"position table", "the model has none: no vector of position joins the words"});
    return;
  }
  Inspection& f = s.in.found;
  parts.push_back(
      {"position table beside word table", 2000, [&f, s] { f.table = look_at_table(s.trained()); }});
  parts.push_back({"four terms of the first layer's logits", 2000, [&f, s] {
                     const Sample sample = s.windows(64, 8);
                     f.terms = look_at_terms(s.trained(), sample), f.term_windows = sample.count();
                   }});
}

void add_streams(const Subject& s, std::vector<Part>& parts) {
  Inspection& f = s.in.found;
  const std::int64_t L = s.architecture().layers;
  parts.push_back({"heads", double(s.o.window * s.o.windows) * 2,
                   [&f, s] { f.heads = watch_heads(s.trained(), s.windows(s.o.window, s.o.windows)); }});
  parts.push_back({"streams and probes", double(40 * 128) * (1 + std::ceil(double(L + 2) / 8)), [&f, s, L] {
                     const Sample sample = s.windows(128, 40);
                     f.probed = sample.T, f.stream_windows = sample.count();
                     Streams found = look_at_streams(s.trained(), sample, some_layers(L));
                     f.streams = std::move(found.looks), f.word_probe = found.words;
                   }});
  parts.push_back({"rotary pairs", double(128 * 2 * 3), [&f, s, L] {
                     f.frequencies = pair_frequencies(s.trained(), 0);
                     for (const std::int64_t l : std::set<std::int64_t>{0, L / 2, L - 1}) {
                       Matrix stream;
                       const Sample sample = s.windows(128, 2);
                       stream = Matrix(std::int64_t(sample.inputs.size()), s.architecture().width);
                       watch(s.trained(), sample, {text("layers.", l, ".before")},
                             [&](std::int64_t w, const std::string&, TapValue& value) {
                               const Floats all = value.read();
                               std::copy(all.begin(), all.end(), &stream.at(w * sample.T, 0));
                             });
                       f.pairs.push_back(rotary_use(s.trained(), l, stream, sample.T)),
                           f.pair_layers.push_back(l);
                     }
                   }});
}

void add_heads(const Subject& s, double once, std::vector<Part>& parts) {
  Inspection& f = s.in.found;
  const std::int64_t L = s.architecture().layers, H = s.architecture().attention.heads, T = s.o.window;
  if (!s.o.each_head) {
    f.left_out.push_back(
        {"position taken from single heads",
         text("not asked for: --each-head runs the model once for each of ", L * H, " heads")});
    return;
  }
  parts.push_back(
      {text("position taken from each of ", L * H, " heads"), once * double(1 + L * H), [&f, s, T, L, H] {
         const Sample sample = s.scored(T, std::min<std::int64_t>(s.o.windows, 4));
         const SampleOutcome before = outcome_of(s.trained(), sample);
         for (std::int64_t n = 0; n < L * H; ++n) {
           if (interruptions()) throw Stopped{};
           f.head_removals.push_back(
               {n / H, n % H, look_without_heads(s.trained(), sample, before, n / H, {n % H})});
         }
       }});
}

void add_changes(const Subject& s, std::vector<Part>& parts) {
  Inspection& f = s.in.found;
  const std::int64_t L = s.architecture().layers, T = s.o.window;
  const double once = double(T * std::min<std::int64_t>(s.o.windows, 4));
  parts.push_back({"positions moved", once * 4, [&f, s, T] {
                     const Sample sample = s.scored(T, std::min<std::int64_t>(s.o.windows, 4));
                     const SampleOutcome before = outcome_of(s.trained(), sample);
                     f.changed_windows = sample.count();
                     for (const double shift : {1.0, 16.0, 128.0})
                       f.shifts.push_back(look_at_shift(s.trained(), sample, before, shift));
                   }});
  const bool layers =
      !s.architecture().position.attention.empty() || !s.architecture().position.layers.empty();
  parts.push_back({"position taken away", once * double(2 + (layers ? L : 0)), [&f, s, T, L, layers] {
                     const Sample sample = s.scored(T, std::min<std::int64_t>(s.o.windows, 4));
                     const SampleOutcome before = outcome_of(s.trained(), sample);
                     f.removals.push_back(look_without(s.trained(), sample, before, -1));
                     for (std::int64_t l = 0; layers && l < L; ++l) {
                       if (interruptions()) throw Stopped{};
                       f.removals.push_back(look_without(s.trained(), sample, before, l));
                     }
                   }});
  if (layers) add_heads(s, once, parts);
}

constexpr std::int64_t kLossTokens = 8192;  // at least four windows of them

void add_losses(const Subject& s, std::vector<Part>& parts) {
  Inspection& f = s.in.found;
  if (f.measure == Measure::rows) {
    f.left_out.push_back({"losses", "the model ends in its rows: it has no head"});
    return;
  }
  const std::int64_t T = s.within(s.o.longest);
  const std::int64_t windows = std::max<std::int64_t>(4, kLossTokens / T);
  parts.push_back({"loss by place", double(T * windows), [&f, s, T, windows] {
                     const Sample sample = s.scored(T, windows);
                     const std::vector<float> losses = outcome_of(s.trained(), sample).losses;
                     f.by_place = loss_by_place(losses, sample, std::max<std::int64_t>(1, T / 32));
                     const LossAt whole = loss_by_place(losses, sample, sample.T).front();
                     f.loss = BlockMean{whole.nats, whole.half_width};
                     f.loss_window = sample.T, f.loss_windows = sample.count();
                     f.loss_tokens = std::int64_t(sample.targets.size()) -
                                     std::count(sample.targets.begin(), sample.targets.end(), kUnscored);
                   }});
  if (s.o.beyond <= 1) {
    f.left_out.push_back(
        {"longer windows",
         "not asked for: --beyond 2 reads windows twice as long as the model was trained on, in six ways"});
    return;
  }
  const auto trained = s.model.resolved.trained_length;
  const auto length = std::int64_t(std::ceil(s.o.beyond * double(trained)));
  // Attention grows with the square: counted as tokens of a model that attends to nothing.
  const double cost = double(length) * (1 + double(length) / (12 * double(s.architecture().width)));
  for (const WayOfReading& way : extensions(s.architecture().position, s.o.beyond, trained)) {
    parts.push_back({text("windows of ", length, " tokens, ", way.name), cost, [&f, s, way, length] {
                       f.readings.push_back(look_beyond(s.trained(), way, s.scored(length, 1),
                                                        std::min<std::int64_t>(512, length / 4)));
                     }});
  }
}

pages::Inspected about(const InspectOptions& o, const OpenedModel& m) {
  const Architecture& a = m.model.architecture();
  pages::Inspected in;
  in.model = o.model, in.family = m.resolved.family, in.text = o.ids.empty() ? o.text : o.ids;
  in.parameters = m.model.param_count(), in.layers = a.layers, in.heads = a.attention.heads,
  in.width = a.width;
  in.trained_length = m.resolved.trained_length, in.spec = a.position.print(), in.causal = a.causal;
  in.found.window = o.window, in.found.windows = o.windows, in.found.measure = measure_of(a);
  return in;
}

void print(const pages::Inspected& in) {
  fmt::print("{}: {}, {} parameters, {} layers, {} heads, {}\n\n", printable(in.model), printable(in.family),
             grouped(double(in.parameters)), in.layers, in.heads, in.spec);
  for (const std::string& sentence : pages::inspect_words(in)) fmt::print("{}\n", wrapped(sentence));
  for (const auto& left : in.found.left_out)
    fmt::print("{}\n", wrapped(text("Left out: ", left.part, ": ", left.why)));
}

}  // namespace

std::optional<pages::Inspected> look_at_model(const InspectOptions& o) {
  const OpenedModel model = open_model(o.model);
  const TextTokens tokens = tokens_of(o);
  pages::Inspected in = about(o, model);
  const Subject subject{o, model, tokens, in};
  subject.windows(o.window, 2);  // a text that is too short is refused before anything is computed
  std::vector<Part> parts;
  add_tables(subject, parts), add_streams(subject, parts), add_changes(subject, parts),
      add_losses(subject, parts);
  try {
    look_at_all(parts, in, o.quiet);
  } catch (const Stopped&) {
    tell("interrupted; nothing was written");
    return {};
  }
  return in;
}

int inspect(const InspectOptions& o) {
  if (o.text.empty() == o.ids.empty())
    throw Error(Fault::usage, "inspect: exactly one of --text and --ids says what the model reads");
  const Patient until_it_stops;
  const auto in = look_at_model(o);
  if (!in) return 128 + last_signal();
  if (!o.out.empty()) {
    write_file(o.out, pages::inspect_page(*in));
    if (!o.quiet) tell(text("page: ", o.out));
  }
  o.json ? fmt::print("{}", pages::inspect_json(*in)) : print(*in);
  return 0;
}

}  // namespace gnomon::cli
