#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// How a tower turns q and k by the row and the column of a patch.
enum class TowerTurn {
  none,
  halves,   // half of the frequencies for each axis, which begin again; channel c with c + D/2 (Qwen2-VL)
  columns,  // as halves, but the column first (Step 3.7)
  taking_turns,  // the same, pair by pair: column, row, column, … (Kimi K2.5)
  thirds,        // as halves, of time, row and column; channels that do not divide by 6 stay (MiniMax M3)
  alternating,   // dealt out in turn, even ones to the row; channel c with c + D/2 (Pixtral)
  adjacent,      // half of them for each axis, the column first; channel 2c with 2c + 1 (Llama 4)
  blocks,        // each axis has half of the head, the column first, and its own halves there (Gemma 4)
  // by the frame of the sound, the first partial_rotary_factor of a head; channel c with c + half of it (GLM-ASR)
  frames,
  turns  // as halves, and a coordinate of 1 is a full turn of the fastest pair (DINOv3)
};

// What stands beside the patches, or the frames of sound.
enum class TowerTable {
  none,
  patches,      // a learned row for each patch of the image that the file says
  counted,      // a learned row for each patch of a square grid, of as many as rows_key says
  grid,         // a learned row for each patch of a square grid, of rows_key patches a side
  coordinates,  // a learned row for the column plus one for the row, as many for each as rows_key says
  frames,       // a row for each of as many frames as rows_key says, kept in the weights and never trained
  sines         // the sines of tensor2tensor in halves, for as many frames as rows_key says
};

// A tower of transformers 5.23 for images or sound: what its class does with position, as a row of data.
struct TowerRow {
  std::vector<std::string_view> types = {};  // model_type; the first is its name
  // Larger models whose object is of this class if it names no other; whose object always is, whatever it names.
  std::vector<std::string_view> within = {}, fixed = {};
  std::string_view part = "vision_config";  // that object; empty: the file of the larger model itself
  std::string_view component = {};  // of that file, what the tower is: its decoder is a row of families
  // The class's own; 0: it has none.
  std::int64_t width = 0, layers = 0, heads = 0, head_dim = 0, image = 0, patch = 0;
  std::int64_t kv_heads = 0;  // the default of num_key_value_heads; 0: as many as heads
  std::string_view width_key = "hidden_size";
  // Of width, layers and heads in published files: the class takes them before its own.
  std::array<std::string_view, 3> published = {};
  TowerTable table = TowerTable::none;
  std::string_view rows_key = {};
  std::string_view switch_key = {};  // no table where this key is false
  std::int64_t rows = 0;
  std::int64_t before = 0, after = 0;  // rows of tokens that are no patches, as the class token
  std::string_view bare_key = {};      // tokens beside them that have no row: registers
  std::int64_t bare = 0;
  // How rows are resampled for an image of another size; empty: the class refuses it.
  std::string_view resized = {};
  bool asked = false;  // only where interpolate_pos_encoding is true, else it refuses
  TowerTurn turn = TowerTurn::none;
  double theta = 10000;
  double partial = 1;                 // of a head that turns, for TowerTurn::frames
  bool theta_alone = false;           // the class has rope_theta and no dictionary
  std::string_view coordinates = {};  // where they begin, or what they count, if not patches from 0
  std::string_view window = {};       // layers that see a part of the image
  bool convolutions = false;          // layer_types names them; without it, all but 2, 4, 6, … are
};
std::span<const TowerRow> tower_rows();
// The row of this model_type; null: unknown.
const TowerRow* find_tower(std::string_view model_type);

// The towers of a file, in the order of their objects: those that it has an object for, and that of a tower alone. One that gnomon
// has no row for is there, not known. Throws Error(input) for impossible sizes.
std::vector<Tower> resolve_towers(const Config& config);
// The answer for the file of a tower alone. Throws as resolve_towers().
Resolved tower_alone(const Config& config);

}  // namespace gnomon
