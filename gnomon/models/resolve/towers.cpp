#include "gnomon/models/resolve/towers.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostSide = 1 << 14, kMostPixels = 1 << 20, kMostExtra = 4096;

// What the coordinates of a rotation are, in the order of the encoding.
std::vector<std::string> axes_of(TowerTurn turn) {
  switch (turn) {
    case TowerTurn::none:
      return {};
    case TowerTurn::frames:
      return {"frame"};
    case TowerTurn::blocks:
    case TowerTurn::thirds:
      return {"time", "row", "column"};
    case TowerTurn::adjacent:
    case TowerTurn::columns:
    case TowerTurn::taking_turns:
      return {"column", "row"};
    case TowerTurn::halves:
    case TowerTurn::alternating:
    case TowerTurn::turns:
      break;
  }
  return {"row", "column"};
}

// A tower's object, on its way to an answer.
class TowerReader {
 public:
  TowerReader(const Config& config, const TowerRow& row, Tower& tower)
      : file_(config, tower.part), row_(row), tower_(tower) {}
  void read();

 private:
  std::int64_t say(std::string_view what, std::int64_t x, std::string key, std::string rule) {
    tower_.because.push_back({std::string(what), text(x), std::move(key), std::move(rule)});
    return x;
  }
  // By the first of these keys that the file has.
  std::int64_t size(std::string_view what, std::initializer_list<std::string_view> keys,
                    std::int64_t standard, std::int64_t limit) {
    for (const std::string_view key : keys)
      if (const auto x = key.empty() ? std::nullopt : file_.whole(key, 1, limit))
        return say(what, *x, file_.at(key), "from the file");
    if (standard == 0) file_.wrong(*keys.begin(), "a whole number: it has no default");
    return say(what, standard, "", "no key sets it: default of the class");
  }
  std::array<std::int64_t, 2> sides(std::string_view what, std::string_view key, std::int64_t standard);
  void read_grid();
  void read_table();
  std::string scope();
  double theta();
  double partial();
  std::string turning();
  void read_layers();
  void read_mixers();

  FileReading file_;
  const TowerRow& row_;
  Tower& tower_;
};

// Height and width in pixels: a number, or a list of two.
std::array<std::int64_t, 2> TowerReader::sides(std::string_view what, std::string_view key,
                                               std::int64_t standard) {
  if (file_.kind(key) != Config::Kind::list) {
    const std::int64_t one = size(what, {key}, standard, kMostPixels);
    return {one, one};
  }
  const auto both = *file_.wholes(key);
  if (both.size() != 2 || std::min(both[0], both[1]) < 1 || std::max(both[0], both[1]) > kMostPixels)
    file_.wrong(key, text("a whole number, or two of them, from 1 to ", kMostPixels));
  tower_.because.push_back(
      {std::string(what), text(both[0], " x ", both[1]), file_.at(key), "from the file"});
  return {both[0], both[1]};
}

void TowerReader::read_grid() {
  if (row_.patch == 0) return;
  const auto patch = sides("patch", "patch_size", row_.patch);
  if (row_.image == 0 && !file_.has("image_size")) return;
  if (row_.table == TowerTable::counted || row_.table == TowerTable::grid ||
      row_.table == TowerTable::coordinates)
    return;
  const auto image = sides("image", "image_size", row_.image);
  tower_.grid_rows = image[0] / patch[0], tower_.grid_columns = image[1] / patch[1];
  if (tower_.grid_rows < 1 || tower_.grid_columns < 1)
    file_.wrong("image_size", text("at least the patch, ", patch[0], " x ", patch[1], " pixels"));
}

void TowerReader::read_table() {
  Tower& t = tower_;
  t.input = words_alone();
  if (!row_.bare_key.empty()) t.without = file_.whole(row_.bare_key, 0, kMostExtra).value_or(row_.bare);
  if (row_.table == TowerTable::none) return;
  if (!row_.switch_key.empty() && file_.flag(row_.switch_key) == false) {
    t.because.push_back({"rows", "0", file_.at(row_.switch_key), "the file switches the table off"});
    return;
  }
  t.beside = row_.before + row_.after, t.first = row_.before;
  t.resized = row_.resized, t.asked = row_.asked;
  if (row_.table == TowerTable::patches) {
    t.rows = say("rows", t.grid_rows * t.grid_columns + t.beside, "",
                 t.beside ? text("one for each patch, and ", t.beside, " for tokens that are none")
                          : "one for each patch");
  } else if (row_.table == TowerTable::grid) {
    t.grid_rows = t.grid_columns = size("side", {row_.rows_key}, row_.rows, kMostSide);
    t.rows =
        say("rows", t.grid_rows * t.grid_columns + t.beside, "",
            text("one for each patch of a square grid", t.beside ? ", and one for the class token" : ""));
  } else {
    t.rows = size("rows", {row_.rows_key}, row_.rows, most::tokens);
  }
  if (row_.table == TowerTable::counted)
    while ((t.grid_rows + 1) * (t.grid_rows + 1) <= t.rows) t.grid_columns = ++t.grid_rows;
  t.by_coordinates = row_.table == TowerTable::coordinates;
  if (row_.table == TowerTable::sines)
    t.input.input = completed({"sinusoidal", {{"layout", "halves"}, {"frequencies", "tensor2tensor"}}});
  else if (!t.by_coordinates)
    t.input = learned_table(t.rows);
}

// Of the two dictionaries, the one that transformers takes: rope_scaling, if there is something in it.
std::string TowerReader::scope() {
  const bool scaled =
      file_.kind("rope_scaling") == Config::Kind::object && !file_.keys("rope_scaling").empty();
  return scaled ? "rope_scaling" : "rope_parameters";
}

// A dictionary's own base comes before that of the top level.
double TowerReader::theta() {
  const auto say_theta = [&](double x, std::string key, std::string rule) {
    tower_.position.because.push_back({"theta", shortest(x), std::move(key), std::move(rule)});
    return x;
  };
  const auto from = [&](std::string_view key) -> std::optional<double> {
    const auto x = file_.number(key);
    if (x && !(*x > 0)) file_.wrong(key, "a number above 0");
    return x;
  };
  if (!row_.theta_alone) {
    const std::string key = scope() + ".rope_theta";
    if (const auto x = from(key)) return say_theta(*x, file_.at(key), "from the file");
  }
  if (const auto x = from("rope_theta")) return say_theta(*x, file_.at("rope_theta"), "from the file");
  return say_theta(row_.theta, "", "no key sets it: default of the class");
}

// The share of a head that turns by frames. These classes take any rope_type; gnomon reads the one without scaling.
double TowerReader::partial() {
  for (const std::string_view name : {".rope_type", ".type"})
    if (const std::string key = text(scope(), name); file_.has(key) && file_.text(key) != "default")
      file_.wrong(key, "default: gnomon reads no other of a tower for sound");
  const auto say_partial = [&](double x, std::string key, std::string rule) {
    tower_.position.because.push_back({"partial", shortest(x), std::move(key), std::move(rule)});
    return x;
  };
  for (const std::string& key : {scope() + ".partial_rotary_factor", std::string("partial_rotary_factor")})
    if (const auto x = file_.number(key)) {
      if (!(*x > 0 && *x <= 1)) file_.wrong(key, "a number above 0, up to 1");
      return say_partial(*x, file_.at(key), "from the file");
    }
  return say_partial(row_.partial, "", "no key sets it: default of the class");
}

std::string TowerReader::turning() {
  if (row_.turn == TowerTurn::none) return {};
  const std::string base = shortest(theta());
  const std::int64_t half = tower_.position.head_dim / 2, quarter = half / 2;
  const std::int64_t third = tower_.position.head_dim / 6;
  const auto axial = [&](std::string_view rest) { return text("rope_axial(theta=", base, ", ", rest, ")"); };
  const auto along = [&](std::int64_t offset, std::string_view sections) {
    return text("mrope(theta=", base, ", channels=", half, ", offset=", offset,
                ", pairing=halves, sections=", sections, ")");
  };
  switch (row_.turn) {
    case TowerTurn::none:
      break;
    case TowerTurn::halves:
    case TowerTurn::columns:
      return axial("pairing=halves, index=reset");
    case TowerTurn::frames:
      return text("rope(theta=", base, ", channels=", std::int64_t(2 * double(half) * partial()),
                  ", pairing=halves)");
    case TowerTurn::taking_turns:
      return axial("pairing=halves, index=interleaved");
    case TowerTurn::thirds:
      return axial(text("channels=", 6 * third, ", pairing=halves, index=reset, sections=", third, "/", third,
                        "/", third));
    case TowerTurn::alternating:
      return axial("pairing=halves, index=alternating");
    case TowerTurn::adjacent:
      return axial("pairing=adjacent, index=reset");
    case TowerTurn::blocks:
      return along(0, text("0/0/", quarter)) + "+" + along(half, text("0/", quarter, "/0"));
    case TowerTurn::turns:
      return axial("pairing=halves, index=reset, unit=turn");
  }
  return {};
}

void TowerReader::read_layers() {
  Tower& t = tower_;
  LayerPosition& p = t.position;
  t.layers = size("layers", {row_.published[1], "num_hidden_layers", "depth", "encoder_layers"}, row_.layers,
                  most::layers);
  t.width = size("width", {row_.published[0], row_.width_key}, row_.width, most::width);
  p.heads = size(
      "heads",
      {row_.published[2], "num_attention_heads", "num_heads", "attention_heads", "encoder_attention_heads"},
      row_.heads, most::heads);
  p.kv_heads =
      row_.kv_heads ? size("kv_heads", {"num_key_value_heads"}, row_.kv_heads, most::heads) : p.heads;
  p.causal = false;
  p.head_dim = row_.head_dim ? size("head_dim", {"head_dim"}, row_.head_dim, most::heads)
                             : say("head_dim", t.width / p.heads, "", "width / heads");
  if (p.head_dim < 1) file_.wrong(row_.width_key, text("at least the number of heads, ", p.heads));
  const std::string turns = turning();
  t.axes = axes_of(row_.turn);
  p.spec = Spec::parse(turns.empty() ? "add(none, scale=off)" : "add(none, scale=off)+" + turns);
  t.coordinates = row_.coordinates, t.window = row_.window;
  if (row_.turn == TowerTurn::turns) t.unit = "half of the image";
}

// LFM3-VL: convolutions between the layers that attend.
void TowerReader::read_mixers() {
  if (!row_.convolutions) return;
  const auto said = file_.texts("layer_types");
  if (said && said->size() != std::size_t(tower_.layers))
    file_.wrong("layer_types", text("a list of ", tower_.layers, " words"));
  std::size_t count = 0;
  for (std::size_t l = 0; l < std::size_t(tower_.layers); ++l) {
    const bool conv = said ? (*said)[l] == "conv" : l < 2 || l % 2 == 1;
    tower_.mixers.push_back(conv ? "conv" : "");
    count += conv;
  }
  tower_.window = text(count, " of ", tower_.layers, " layers are convolutions of patches, and do not turn");
  tower_.because.push_back({"convolutions", text(count), said ? file_.at("layer_types") : "",
                            said ? "from the file" : "no key sets it: all but layers 2, 4, 6, …"});
}

void TowerReader::read() {
  tower_.component = row_.component;
  tower_.known = true, tower_.sound = row_.table == TowerTable::sines || row_.table == TowerTable::frames ||
                                      row_.turn == TowerTurn::frames;
  try {
    read_layers(), read_mixers(), read_grid(), read_table();
    pairs_of(tower_.position);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    throw Error(Fault::input, text(file_.config().where(), ": ", tower_.part, tower_.part.empty() ? "" : ": ",
                                   error.what()));
  }
}

// The row whose list of larger models, `within` or `fixed`, has this one.
const TowerRow* row_around(std::vector<std::string_view> TowerRow::*list, std::string_view larger,
                           std::string_view part) {
  const std::string_view key = part.substr(part.rfind('.') + 1);
  for (const TowerRow& row : tower_rows())
    if (key == row.part && std::find((row.*list).begin(), (row.*list).end(), larger) != (row.*list).end())
      return &row;
  return nullptr;
}
std::string word(const Config& config, const std::string& key) {
  return config.kind(key) == Config::Kind::text ? *config.text(key) : std::string();
}
// The class of an object: that of the larger model, the one that the object names, or the one that stands for no name.
const TowerRow* row_of_object(std::string_view part, std::string_view named,
                              const std::array<std::string, 2>& larger) {
  for (const std::string& one : larger)
    if (const TowerRow* row = row_around(&TowerRow::fixed, one, part)) return row;
  if (!named.empty()) return find_tower(named);
  for (const std::string& one : larger)
    if (const TowerRow* row = row_around(&TowerRow::within, one, part)) return row;
  return nullptr;
}
Tower tower_of(const Config& config, std::string part, std::string type, const TowerRow* row) {
  Tower tower;
  tower.part = std::move(part), tower.type = std::move(type);
  if (!row) return tower;
  try {
    TowerReader(config, *row, tower).read();
  } catch (const Error& error) {
    if (tower.part.empty() || error.fault() != Fault::input) throw;
    Tower unread;  // beside a language model, which can be read
    unread.part = tower.part, unread.type = tower.type, unread.wrong = error.what();
    return unread;
  }
  return tower;
}

// Whether a model of this type has a decoder in an object, beside an encoder that reads no text.
bool decodes_alone(std::string_view larger) {
  const Family* family = find_family(larger);
  return family && family->decoder.in_objects() && family->decoder.encoder_part.empty();
}

}  // namespace

const TowerRow* find_tower(std::string_view type) {
  for (const TowerRow& row : tower_rows())
    if (std::find(row.types.begin(), row.types.end(), type) != row.types.end()) return &row;
  return nullptr;
}

std::vector<Tower> resolve_towers(const Config& config) {
  std::vector<Tower> all;
  const std::string larger = word(config, "model_type");
  if (const TowerRow* row = find_tower(larger)) all.push_back(tower_of(config, "", larger, row));
  for (const std::string_view outside : {"", "thinker_config", "vlm_config"})
    for (const std::string_view key : {"vision_config", "audio_config", "encoder"}) {
      const std::string part = outside.empty() ? std::string(key) : text(outside, ".", key);
      if (config.kind(part) != Config::Kind::object || (key == "encoder" && !decodes_alone(larger))) continue;
      const std::string named = word(config, part + ".model_type");
      const std::string around = outside.empty() ? "" : word(config, text(outside, ".model_type"));
      const TowerRow* row = row_of_object(part, named, {around, larger});
      const bool own = row && find_tower(named) != row;
      if (row || !named.empty())
        all.push_back(tower_of(config, part, own ? std::string(row->types.front()) : named, row));
    }
  return all;
}

Resolved tower_alone(const Config& config) {
  Resolved answer;
  answer.towers = resolve_towers(config);
  const Tower& tower = answer.towers.front();
  answer.family = tower.type, answer.known = true, answer.tower_alone = true, answer.causal = false;
  answer.width = tower.width, answer.input = tower.input, answer.because = tower.because;
  answer.table_first = tower.first;
  answer.longest = answer.trained_length = tower.by_coordinates ? 0
                                           : tower.rows         ? tower.rows
                                                                : tower.grid_rows * tower.grid_columns;
  for (std::int64_t l = 0; l < tower.layers; ++l) {
    answer.layers.push_back(tower.position);
    if (!tower.mixers.empty() && !tower.mixers[std::size_t(l)].empty()) {
      answer.layers.back() = {};
      answer.layers.back().spec = words_alone(), answer.layers.back().causal = false;
      answer.layers.back().mixer = tower.mixers[std::size_t(l)];
    }
    answer.layers.back().number = l;
  }
  return answer;
}

}  // namespace gnomon
