#include "gnomon/models/inspect/inspect.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

using Clock = std::chrono::steady_clock;

// What a part reads where no option says it: windows of so many tokens, up to so many of them.
struct Windows {
  std::int64_t T, most;
  double tokens() const { return double(T * most); }
};
constexpr Windows kTerms{64, 8}, kStreams{128, 40}, kPairs{128, 2};
constexpr std::int64_t kChanged = 4;        // windows of which something is moved or taken away, at most
constexpr std::int64_t kLossTokens = 8192;  // whose loss is told by place, in at least four windows
constexpr double kShifts[] = {1, 16, 128};  // tokens
constexpr double kTableCost = 2000;         // a part without a pass, in tokens of one

std::vector<std::int64_t> some_layers(std::int64_t layers) {
  std::vector<std::int64_t> some{0, 1, layers / 4, layers / 2, 3 * layers / 4, layers};
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

// How the words of a text are masked. Throws Error(usage) where it is not known what stands for a masked one.
Masking masking_of(const OpenedModel& m, const ModelText& t) {
  const std::int64_t known = m.model.architecture().vocabulary;
  const auto named = t.tokenizer ? t.tokenizer->mask() : std::nullopt;
  const std::optional<std::int64_t> mask = named ? *named : m.config.whole("mask_token_id");
  if (!mask)
    throw Error(Fault::usage, text("an encoder is scored on masked tokens, but its mask token is unknown: ",
                                   t.tokenizer ? "tokenizer.json has no special token [MASK] or <mask>"
                                               : "there is no tokenizer.json that gnomon can read",
                                   ", and config.json has no mask_token_id"));
  return {*mask, t.tokenizer ? std::min(known, t.tokenizer->size()) : known};
}

std::string component_of(const OpenedModel& m) {
  if (m.encoder) return "decoder";
  const bool beside = !m.resolved.layers.empty() && !m.resolved.layers.front().component.empty();
  return beside ? "encoder" : "";
}

// One inspection: the list of its parts, and what they found.
class Inspecting {
 public:
  Inspecting(const OpenedModel& model, const ModelText& words, const InspectOptions& options,
             const InspectHooks& hooks);
  Inspected all();

 private:
  struct Part {
    std::string name;
    double tokens;  // that go through the model
    std::function<void()> look;
  };
  void add(std::string name, double tokens, std::function<void()> look) {
    parts_.push_back({std::move(name), tokens, std::move(look)});
  }
  void leave_out(std::string name, std::string why) {
    found_.left_out.push_back({std::move(name), std::move(why)});
  }
  void add_tables();
  void add_streams();
  void add_changes();
  void add_heads();
  void add_losses();
  void add_beyond();

  void look_at_pairs();
  void look_at_removals(bool of_layers);
  void look_at_each_head();
  void look_at_losses(const Windows& windows);

  Trained trained() const { return model_.trained(); }
  // The longest window up to T that the model has positions for.
  std::int64_t within(std::int64_t T) const { return std::min(T, model_.model.positions_end().value_or(T)); }
  Sample read(const Windows& windows) const;
  Sample read_beside_encoder(const Windows& windows) const;
  // The same to be scored: with masked tokens, where the model fills them in.
  Sample scored(const Windows& windows);
  // Of which something is moved or taken away.
  Windows changed() const { return {options_.window, std::min(options_.windows, kChanged)}; }

  const OpenedModel& model_;
  const ModelText& text_;
  const InspectOptions& options_;
  const InspectHooks& hooks_;
  const Architecture& architecture_;
  const std::int64_t layers_, heads_;
  Inspected in_;
  Inspection& found_ = in_.found;
  std::vector<Part> parts_;
};

Inspecting::Inspecting(const OpenedModel& model, const ModelText& words, const InspectOptions& options,
                       const InspectHooks& hooks)
    : model_(model),
      text_(words),
      options_(options),
      hooks_(hooks),
      architecture_(model.model.architecture()),
      layers_(architecture_.layers),
      heads_(architecture_.attention.heads) {
  using O = InspectOptions;
  check_extents("inspect", {{"window", options.window, O::kWindow.first, O::kWindow.second},
                            {"windows", options.windows, O::kWindows.first, O::kWindows.second},
                            {"longest", options.longest, O::kLongest.first, O::kLongest.second}});
  if (options.beyond > O::kMostBeyond)
    throw Error(Fault::usage,
                text("inspect: beyond is ", options.beyond, "; allowed are factors up to ", O::kMostBeyond));
  in_.family = model.resolved.family;
  in_.parameters = model.model.param_count(), in_.layers = layers_, in_.heads = heads_,
  in_.width = architecture_.width;
  in_.trained_length = model.resolved.trained_length, in_.spec = architecture_.position.print(),
  in_.causal = architecture_.causal;
  in_.component = component_of(model);
  found_.window = options.window, found_.windows = options.windows,
  found_.measure = measure_of(architecture_);
  read({options.window, 2});  // a text that is too short is refused before anything is computed
  add_tables(), add_streams(), add_changes(), add_losses();
}

// How long the rest takes is judged by the tokens of the parts before.
Inspected Inspecting::all() {
  const auto begin = Clock::now();
  double every = 0, done = 0;
  for (const Part& p : parts_) every += p.tokens;
  for (const Part& p : parts_) {
    if (hooks_.stop && hooks_.stop()) throw Stopped{};
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string left =
        done > 0 ? text(" (about ", grouped(std::ceil(seconds * (every - done) / done)), " s left)") : "";
    if (hooks_.tell) hooks_.tell(p.name + left);
    try {
      p.look();
    } catch (const Error& e) {
      if (e.fault() != Fault::usage) throw;
      leave_out(p.name, e.what());
    }
    done += p.tokens;
  }
  return std::move(in_);
}

// The decoder's windows, with the rows that its encoder left of the text before each.
Sample Inspecting::read_beside_encoder(const Windows& windows) const {
  const OpenedEncoder& encoder = *model_.encoder;
  auto [read, sample] = paired_windows_of_text(text_, encoder.start, within(windows.T), windows.most);
  const std::size_t numbers = std::size_t(sample.T * encoder.model.architecture().width);
  sample.encoder_T = sample.T;
  sample.encoder.resize(std::size_t(sample.count()) * numbers);
  Session session(encoder.model);
  for (std::int64_t w = 0; w < sample.count(); ++w) {
    Tokens tokens{1, sample.T, std::span(read).subspan(std::size_t(w * sample.T), std::size_t(sample.T)), {}};
    if (hooks_.stop) tokens.stop = &hooks_.stop;
    session.hidden(tokens, encoder.w, std::span(sample.encoder).subspan(std::size_t(w) * numbers, numbers));
  }
  return sample;
}
Sample Inspecting::read(const Windows& windows) const {
  Sample sample = model_.encoder
                      ? read_beside_encoder(windows)
                      : windows_of_text(text_, architecture_.causal, within(windows.T), windows.most);
  if (hooks_.stop) sample.stop = &hooks_.stop;
  return sample;
}
Sample Inspecting::scored(const Windows& windows) {
  const Sample sample = read(windows);
  if (found_.measure != Measure::loss_of_masked) return sample;
  found_.masking = masking_of(model_, text_);
  return masked(sample, *found_.masking);
}

void Inspecting::add_tables() {
  if (!architecture_.position.input)
    return leave_out("position table", "the model has none: it adds no position vectors to the words");
  add("position table against word table", kTableCost, [this] { found_.table = look_at_table(trained()); });
  add("four terms of the first layer's logits", kTableCost, [this] {
    const Sample sample = read(kTerms);
    found_.terms = look_at_terms(trained(), sample), found_.term_windows = sample.count();
  });
}

void Inspecting::add_streams() {
  const Windows windows{options_.window, options_.windows};
  add("heads", windows.tokens() * 2,
      [this, windows] { found_.heads = watch_heads(trained(), read(windows)); });
  add("streams and probes", kStreams.tokens() * (1 + std::ceil(double(layers_ + 2) / 8)), [this] {
    const Sample sample = read(kStreams);
    found_.probed = sample.T, found_.stream_windows = sample.count();
    Streams streams = look_at_streams(trained(), sample, some_layers(layers_));
    found_.streams = std::move(streams.looks), found_.word_probe = streams.words;
  });
  add("rotary pairs", kPairs.tokens() * 3, [this] { look_at_pairs(); });
}
void Inspecting::look_at_pairs() {
  found_.frequencies = pair_frequencies(trained(), 0);
  for (const std::int64_t l : std::set<std::int64_t>{0, layers_ / 2, layers_ - 1}) {
    const Sample sample = read(kPairs);
    Matrix stream(std::int64_t(sample.inputs.size()), architecture_.width);
    watch(trained(), sample, {text("layers.", l, ".resid_pre")},
          [&](std::int64_t w, const std::string&, TapValue& value) {
            const Floats rows = value.read();
            std::copy(rows.begin(), rows.end(), &stream.at(w * sample.T, 0));
          });
    found_.pairs.push_back(rotary_use(trained(), l, stream, sample.T));
    found_.pair_layers.push_back(l);
  }
}

void Inspecting::add_changes() {
  const double once = changed().tokens();
  add("positions shifted", once * 4, [this] {
    const Sample sample = scored(changed());
    const SampleOutcome before = outcome_of(trained(), sample);
    found_.changed_windows = sample.count();
    for (const double shift : kShifts)
      found_.shifts.push_back(look_at_shift(trained(), sample, before, shift));
  });
  const bool of_layers = !architecture_.position.attention.empty() || !architecture_.position.layers.empty();
  add("positions removed", once * double(2 + (of_layers ? layers_ : 0)),
      [this, of_layers] { look_at_removals(of_layers); });
  if (of_layers) add_heads();
}
void Inspecting::look_at_removals(bool of_layers) {
  const Sample sample = scored(changed());
  const SampleOutcome before = outcome_of(trained(), sample);
  for (std::int64_t l = -1; l < (of_layers ? layers_ : 0); ++l)
    found_.removals.push_back(look_without(trained(), sample, before, l));
}

void Inspecting::add_heads() {
  const std::int64_t count = layers_ * heads_;
  if (!options_.each_head)
    return leave_out("position removed from single heads",
                     text("not asked for: --each-head runs the model once for each of ", count, " heads"));
  add(text("position removed from each of ", count, " heads"), changed().tokens() * double(1 + count),
      [this] { look_at_each_head(); });
}
void Inspecting::look_at_each_head() {
  const Sample sample = scored(changed());
  const SampleOutcome before = outcome_of(trained(), sample);
  for (std::int64_t l = 0; l < layers_; ++l) {
    for (std::int64_t h = 0; h < heads_; ++h)
      found_.head_removals.push_back({l, h, look_without_heads(trained(), sample, before, l, {h})});
  }
}

void Inspecting::add_losses() {
  if (found_.measure == Measure::rows)
    return leave_out("losses", "the model has no output head, so it has no loss");
  const std::int64_t T = within(options_.longest);
  const Windows windows{T, std::max<std::int64_t>(4, kLossTokens / T)};
  add("loss by place", windows.tokens(), [this, windows] { look_at_losses(windows); });
  add_beyond();
}
void Inspecting::look_at_losses(const Windows& windows) {
  const Sample sample = scored(windows);
  const std::vector<float> losses = outcome_of(trained(), sample).losses;
  found_.by_place = loss_by_place(losses, sample, std::max<std::int64_t>(1, windows.T / 32));
  const LossAt whole = loss_by_place(losses, sample, sample.T).front();
  found_.loss = BlockMean{whole.nats, whole.half_width};
  found_.loss_window = sample.T, found_.loss_windows = sample.count();
  found_.loss_tokens = std::int64_t(sample.targets.size()) -
                       std::count(sample.targets.begin(), sample.targets.end(), kUnscored);
}

void Inspecting::add_beyond() {
  if (options_.beyond <= 1)
    return leave_out("longer windows",
                     "not asked for: --beyond 2 reads windows twice as long as in training, in six ways");
  const std::int64_t trained_length = model_.resolved.trained_length;
  const auto length = std::int64_t(std::ceil(options_.beyond * double(trained_length)));
  // Attention grows with the square: counted as tokens of a model that attends to nothing.
  const double cost = double(length) * (1 + double(length) / (12 * double(architecture_.width)));
  for (const WayOfReading& way : extensions(architecture_.position, options_.beyond, trained_length)) {
    add(text("windows of ", length, " tokens, ", way.name), cost, [this, way, length] {
      found_.readings.push_back(
          look_beyond(trained(), way, scored({length, 1}), std::min<std::int64_t>(512, length / 4)));
    });
  }
}

}  // namespace

Inspected inspect(const OpenedModel& model, const ModelText& text, const InspectOptions& options,
                  const InspectHooks& hooks) {
  return Inspecting(model, text, options, hooks).all();
}

Inspected inspect(const InspectFiles& files, const InspectOptions& options, const InspectHooks& hooks) {
  const OpenedModel model = open_model(files.model, {}, files.part);
  const ModelText text = files.ids ? read_ids(files.model, files.text) : read_text(files.model, files.text);
  Inspected in = inspect(model, text, options, hooks);
  in.model = files.model, in.text = files.text;
  return in;
}

}  // namespace gnomon
