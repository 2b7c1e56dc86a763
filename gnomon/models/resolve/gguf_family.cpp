#include <algorithm>
#include <cmath>
#include <deque>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/gguf_rope.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostHead = 65536;

// Which layers have a window, by the rules of the architecture.
WindowRule windows_of(FileReading& file, const GgufArchitecture& fixed, const std::string& arch,
                      const WindowRule& row, std::deque<std::string>& words) {
  WindowRule out{.chunk = row.chunk};
  const auto& window = words.emplace_back(text(arch, ".attention.sliding_window"));
  const GgufWindows& own = fixed.windows;
  out.key = {};
  if (!has_gguf_windows(file, arch, fixed)) return out;
  out.which = own.all ? WindowRule::Which::all : WindowRule::Which::all_but;
  out.every = own.every, out.full_at = own.full_first ? 0 : 1;
  out.every_key = words.emplace_back(text(arch, ".attention.sliding_window_pattern"));
  out.key = window, out.standard = own.standard;
  out.fixed = own.fixed;
  if (own.symmetric) out.divisor = 2, out.more = 1;
  return out;
}

// The pairs of channels, and the sections of M-RoPE.
void set_pairs(FileReading& file, const GgufArchitecture& fixed, const std::string& arch, RopeFacts& rope) {
  const bool said = fixed.sections_if_said && file.has(text(arch, ".rope.dimension_sections"));
  rope.pairing = fixed.pairs == GgufPairs::adjacent && !said ? Pairing::adjacent : Pairing::halves;
  const bool sections =
      said || fixed.pairs == GgufPairs::sections || fixed.pairs == GgufPairs::sections_in_turn;
  rope.streams = fixed.pairs == GgufPairs::sections_in_turn ? StreamOrder::in_turns : StreamOrder::sections;
  if (!sections) rope.sections = {};
  if (sections && rope.sections.empty() && file.has(text(arch, ".rope.dimension_sections")))
    rope.sections = "said";
}

// Layers with a window have a head of their own, where the file says so.
void set_heads(FileReading& file, const std::string& arch, Family& own, std::deque<std::string>& words) {
  const std::string name = text(arch, ".attention.key_length_swa");
  if (!file.has(name) || own.windows.which == WindowRule::Which::none) return;
  own.full.head_dim_key = own.keys.head_dim;
  const auto width = file.whole(own.keys.width, 1, 1 << 24), heads = file.whole(own.keys.heads, 1, kMostHead);
  own.full.head_dim =
      file.whole(own.keys.head_dim, 1, kMostHead).value_or(width && heads ? *width / *heads : 0);
  if (own.full.head_dim) own.keys.head_dim = words.emplace_back(name);
}

// Where position enters, as the architecture's graph has it.
void set_method(FileReading& file, const GgufArchitecture& fixed, const std::string& arch, Family& own) {
  const auto nowhere = [&] { own.method = Method::rotary, own.no_position = NoPosition::always; };
  switch (fixed.position) {
    case GgufPosition::rotation:
      if (own.method != Method::table && own.method != Method::baichuan) own.method = Method::rotary;
      break;
    case GgufPosition::none:
    case GgufPosition::no_attention:
      return nowhere();
    case GgufPosition::table:
      own.method = Method::table;
      break;
    case GgufPosition::buckets:
      own.method = Method::t5;
      break;
    case GgufPosition::blocks:
      own.method = Method::deepseek_v4;
      break;
    case GgufPosition::alibi:
      own.method = Method::alibi;
      break;
    case GgufPosition::alibi_if_said:
      if (file.number(text(arch, ".attention.max_alibi_bias")).value_or(0) <= 0) return nowhere();
      own.method = Method::alibi;
      break;
  }
}

// The row of the family with the words of GGUF; `words` keeps them.
Family translated(const Family& row, FileReading& file, const std::string& arch,
                  std::deque<std::string>& words) {
  const GgufArchitecture fixed = gguf_architecture(arch);
  const auto word = [&](std::string_view name) -> std::string_view {
    return words.emplace_back(text(arch, ".", name));
  };
  Family own = row;
  own.sizes = {};
  own.keys = {.width = word("embedding_length"),
              .layers = word("block_count"),
              .heads = word("attention.head_count"),
              .kv_heads = word("attention.head_count_kv"),
              .head_dim = word("attention.key_length"),
              .longest = word("context_length")};
  // MLA's keys are stored compressed; this one is the size of those that attention sees.
  if (file.has(text(arch, ".attention.key_length_mla"))) own.keys.head_dim = word("attention.key_length_mla");
  own.two_sided_key = {};
  own.windows = windows_of(file, fixed, arch, row.windows, words);
  own.full = {}, own.table = {};
  set_heads(file, arch, own, words);
  // Llama 4 without its chunks turns in all layers, and q does not grow.
  if (row.windows.chunk && file.whole(text(arch, ".attention.sliding_window")) == 0)
    own.windows.chunk = 0, own.no_position = NoPosition::never, own.temperature = Temperature::none;
  own.mla.pairing_key = {}, own.indexer = {};
  if (!own.shared_key.empty()) own.shared_key = word("attention.shared_kv_layers"), own.shared = 0;
  set_pairs(file, fixed, arch, own.rope);
  if (fixed.no_position != NoPosition::never) own.no_position = fixed.no_position;
  own.dense_first = {};
  if (fixed.dense_turns) own.turning_first_key = word("leading_dense_block_count");
  set_method(file, fixed, arch, own);
  return own;
}

// 1/√head_dim unless a key, or llama.cpp's own code for the family, says otherwise.
void set_scale(FileReading& file, const Family& row, const std::string& arch, Resolved& answer) {
  const GgufArchitecture fixed = gguf_architecture(arch);
  const std::string key = text(arch, ".", fixed.scale);
  const auto own = fixed.scale.empty() ? std::nullopt : file.number(key);
  const std::int64_t rooted = fixed.root_of_width;
  const bool by_width = rooted && file.whole(text(arch, ".block_count")) == rooted;
  const GgufScaling scaling = read_gguf_scaling(file, arch, fixed);
  const bool pre_scaled =
      fixed.pre_scaled && (scaling.extrapolation == 0 || fixed.keyless) && scaling.softmax() != 1;
  for (LayerPosition& layer : answer.layers) {
    if (!layer.mixer.empty()) continue;
    if (own && *own != 0) layer.scale = *own;
    if (!own && (fixed.plain_scale == GgufScale::one || row.scale == AttentionScale::one)) layer.scale = 1;
    if (!own && fixed.plain_scale == GgufScale::by_head) layer.scale = 1 / double(layer.head_dim);
    if (pre_scaled) layer.scale = std::pow(scaling.softmax(), 2) / std::sqrt(double(layer.head_dim));
    if (!own && by_width) layer.scale = 1 / std::sqrt(double(answer.width / layer.heads));
    if (layer.scale != 0)
      layer.because.push_back({"scale", shortest(layer.scale), own ? key : "",
                               by_width && !own
                                   ? "1/sqrt(width / heads), in models with this number of layers"
                                   : "scale of q·k"});
  }
}

// Heads of each layer, where the file lists them. Layers without keys have no attention.
class HeadLists {
 public:
  HeadLists(const Config& config, const std::string& arch, std::size_t layers)
      : config_(config), layers_(layers) {
    for (auto* list : {&heads_, &kv_}) {
      list->key = text(arch, list == &heads_ ? ".attention.head_count" : ".attention.head_count_kv");
      if (config.kind(list->key) == Config::Kind::list) read(*list);
    }
  }
  // The file with a number in place of each list: of the first layer, or the most, where that has none.
  Config without() const {
    Config out = config_;
    for (const List* list : {&heads_, &kv_})
      if (!list->numbers.empty())
        out = out.with_number(list->key, list->numbers.front()
                                             ? list->numbers.front()
                                             : *std::max_element(list->numbers.begin(), list->numbers.end()));
    return out;
  }
  void fill(Resolved& answer) const {
    for (LayerPosition& layer : answer.layers) {
      const auto of = [&](const List& list, std::string_view what, std::int64_t& to) {
        if (list.numbers.empty()) return;
        to = list.numbers.at(std::size_t(layer.number));
        layer.because.push_back({std::string(what), text(to), list.key, "one for each layer"});
      };
      of(heads_, "heads", layer.heads);
      of(kv_, "kv_heads", layer.kv_heads);
      if (kv_.numbers.empty() && !heads_.numbers.empty())
        layer.kv_heads = std::min(layer.kv_heads, layer.heads);
    }
  }

 private:
  struct List {
    std::string key;
    std::vector<std::int64_t> numbers;
  };
  void read(List& list) {
    list.numbers = *config_.wholes(list.key);
    const auto wrong = [&] {
      throw WrongValue(list.key, text(config_.where(), ": ", list.key, " is ", config_.printed(list.key),
                                      "; allowed is one number from 0 to ", kMostHead, " for each of ",
                                      layers_, " layers"));
    };
    if (list.numbers.size() != layers_) wrong();
    for (const std::int64_t x : list.numbers)
      if (x < 0 || x > kMostHead) wrong();
  }
  const Config& config_;
  const std::size_t layers_;
  List heads_, kv_;
};

// Layers that have no attention: recurrent ones, and those of no heads.
void name_layers_without_attention(FileReading& file, const Family& row, const std::string& arch,
                                   Resolved& answer) {
  const std::int64_t standard = gguf_architecture(arch).attention_every;
  const std::string interval = text(arch, ".full_attention_interval"),
                    list = text(arch, ".attention.recurrent_layers");
  const std::int64_t every = standard ? file.whole(interval, 1, 4096).value_or(standard) : 0;
  std::vector<bool> recurrent;
  if (standard && file.kind(list) == Config::Kind::list) recurrent = *file.flags(list);
  std::size_t with = 0;
  for (LayerPosition& layer : answer.layers) {
    const auto l = std::size_t(layer.number);
    const bool by_rule =
        recurrent.empty() ? every && (layer.number + 1) % every != 0 : l < recurrent.size() && recurrent[l];
    if (!by_rule && layer.heads != 0 && layer.kv_heads != 0) {
      ++with;
      continue;
    }
    layer.mixer = !attends(row.windows.other) ? std::string(row.windows.other)
                  : by_rule                   ? "linear_attention"
                                              : "no_attention";
    layer.spec.attention.clear();
    layer.because = {{"kind", layer.mixer,
                      !by_rule            ? text(arch, ".attention.head_count_kv")
                      : recurrent.empty() ? interval
                                          : list,
                      by_rule && recurrent.empty() ? text("of ", every, " layers the last has attention")
                                                   : "for this layer"}};
  }
  if (with == 0) throw Error(Fault::input, text(file.config().where(), ": no layer has attention"));
}

// What value vectors are wide, where it is another width than that of keys.
void set_values(FileReading& file, const Family& family, const std::string& arch, Resolved& answer) {
  if (family.mla.rope) return;
  const std::string full = text(arch, ".attention.value_length"), sliding = full + "_swa";
  const auto all = file.whole(full, 1, kMostHead), windowed = file.whole(sliding, 1, kMostHead);
  for (LayerPosition& layer : answer.layers) {
    const bool slides = windowed && std::any_of(layer.spec.attention.begin(), layer.spec.attention.end(),
                                                [](const Named& n) { return n.name == "window"; });
    const auto own = slides ? windowed : all;
    if (!layer.mixer.empty() || !own || *own == layer.head_dim) continue;
    layer.value_dim = *own;
    layer.because.push_back({"value_dim", text(*own), slides ? sliding : full, "channels of a value"});
  }
}

// Latent attention keeps one vector for all heads: attention.key_length channels (llama-kv-cache.cpp, is_mla).
void set_latent(FileReading& file, const std::string& arch, Resolved& answer) {
  if (!file.has(text(arch, ".attention.key_length_mla"))) return;
  const std::string key = text(arch, ".attention.key_length");
  const auto latent = file.whole(key, 1, kMostHead);
  if (!latent) return;
  for (LayerPosition& layer : answer.layers) {
    if (!layer.mixer.empty()) continue;
    layer.kept.latent = *latent;
    layer.because.push_back(
        {"kept", text(*latent), key, "one vector for all heads, with keys and values in it"});
  }
}

// The channels of each head that do not turn, and those at its end that do.
Mla trailing_slice(const Config& config, const std::string& arch) {
  const auto number = [&](std::string_view name) { return config.whole(text(arch, ".", name)).value_or(0); };
  const std::int64_t latent = number("attention.key_length_mla"),
                     head = latent ? latent : number("attention.key_length"),
                     turning = number("rope.dimension_count");
  if (turning <= 0 || turning >= head) return {};
  return {.nope = head - turning, .rope = turning};
}

// What gnomon makes of an architecture that no row of families/ has.
Family unlisted(const Config& config, const std::string& arch, Resolved& answer) {
  const GgufArchitecture* fixed = find_gguf_architecture(arch);
  if (fixed && fixed->position == GgufPosition::no_attention)
    throw WrongValue("general.architecture",
                     text(config.where(), ": general.architecture is ", arch,
                          ". It has no attention in llama.cpp, and gnomon does not read such files"));
  Family generic;
  generic.method = Method::rotary;
  if (fixed) generic.no_position = fixed->no_position;
  if (fixed && fixed->trailing) generic.mla = trailing_slice(config, arch);
  if (!fixed)
    answer.remarks.push_back(
        {"general.architecture",
         text("gnomon does not know the architecture '", arch,
              "': the pairing of channels is a guess, because llama.cpp fixes it by this name")});
  return generic;
}

// T5, whose buckets end at 128 tokens (llama-graph.cpp, llama_relative_position_bucket); the encoder's file has no decoder.
void fill_t5(const Resolving& task, const std::string& arch) {
  const std::string key = text(arch, ".attention.relative_buckets_count"),
                    decoder = text(arch, ".decoder_block_count");
  const auto count = task.file.whole(key, 2, 1 << 20);
  if (!count) task.file.wrong(key, "a whole number: it has no default");
  SpecPart part{{"t5", {{"buckets", *count}, {"distance", 128}, {"scale", "off"}}}, {}, {}};
  part.because.push_back({"buckets", text(*count), key, "from the file"});
  part.because.push_back({"distance", "128", "", "fixed in llama.cpp"});
  for (const std::string_view component : {"encoder", "decoder"}) {
    const bool decodes = component == "decoder";
    if (decodes && arch == "t5encoder") break;
    const auto layers =
        decodes ? task.file.whole(decoder, 0, 4096).value_or(task.sizes.layers) : task.sizes.layers;
    for (std::int64_t l = 0; l < layers; ++l) {
      LayerPosition layer = make_layer(task, {}, {part});
      layer.component = component, layer.number = l, layer.causal = decodes;
      task.answer.layers.push_back(std::move(layer));
    }
  }
}

void fill(const Resolving& task, const std::string& arch) {
  switch (task.family.method) {
    case Method::table:
      return resolve_table(task);
    case Method::rotary:
      return resolve_rotary(task);
    case Method::alibi:
      return resolve_alibi(task);
    case Method::baichuan:
      return resolve_baichuan(task);
    case Method::t5:
      return fill_t5(task, arch);
    default:
      throw WrongValue("general.architecture",
                       text(task.file.config().where(), ": gnomon does not read GGUF files of the family ",
                            task.answer.family));
  }
}

}  // namespace

Resolved resolve_gguf(const Config& written) {
  const std::string arch = written.text("general.architecture").value_or("");
  if (const auto what = gguf_of_no_model(written.text("general.type").value_or(""), arch); !what.empty())
    throw Error(Fault::input, text(written.where(), ": the file is ", what, ", not a language model"));
  if (arch.empty()) throw Error(Fault::input, text(written.where(), ": there is no general.architecture"));
  const HeadLists lists(written, arch, std::size_t(written.whole(text(arch, ".block_count")).value_or(0)));
  const Config config = lists.without();
  FileReading file(config, "");
  const Family* listed = find_gguf_family(arch);
  Resolved answer;
  answer.reader = Reader::llama_cpp;
  answer.known = listed || find_gguf_architecture(arch);
  answer.family = listed ? std::string(listed->name) : arch;
  const Family row = listed ? *listed : unlisted(config, arch, answer);
  std::deque<std::string> words;
  const Family family = translated(row, file, arch, words);
  const std::string causal = text(arch, ".attention.causal");
  answer.causal = !gguf_architecture(arch).two_sided && file.flag(causal).value_or(row.causal);
  answer.because.push_back({"family", answer.family, "general.architecture", "the name of the architecture"});
  if (file.has(causal))
    answer.because.push_back({"mask", answer.causal ? "causal" : "bidirectional", causal, "from the file"});
  Family for_sizes = family;
  for_sizes.mla = {};
  const Sizes sizes = read_sizes(file, for_sizes, answer.because);
  answer.width = sizes.width, answer.longest = sizes.longest, answer.trained_length = sizes.longest;
  answer.input = words_alone();
  Family plain = family;
  plain.scale = AttentionScale::root;
  fill({file, plain, sizes, answer}, arch);
  lists.fill(answer);
  name_layers_without_attention(file, row, arch, answer);
  set_scale(file, row, arch, answer);
  set_values(file, row, arch, answer), set_latent(file, arch, answer);
  if (std::string says = gguf_window_unread(file, arch); !says.empty())
    answer.remarks.push_back(
        {text(arch, ".attention.sliding_window"), std::move(says), "gguf-window-unread"});
  check_layers(config, answer.layers);
  return answer;
}

}  // namespace gnomon
