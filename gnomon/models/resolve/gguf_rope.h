#pragma once
#include <string>

#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// What llama.cpp 0.5.0 makes of the keys of scaling (src/llama-context.cpp, llama_context): it divides positions by `factor`,
// blends in `extrapolation` of the plain frequencies by YaRN's ramp (0: no ramp), and multiplies cos and sin by attention().
struct GgufScaling {
  double factor = 1, extrapolation = 0;
  double multiplier = 1;      // before YaRN's own factor
  double log_multiplier = 0;  // mscale_all_dim
  std::string type = "linear", type_key, factor_key, multiplier_key;

  // Of layers whose positions are divided by `rate`.
  double attention(double rate) const;
  // What q·k is multiplied by where the architecture scales it for YaRN (DeepSeek), before the square.
  double softmax() const;
};
GgufScaling read_gguf_scaling(FileReading& file, const std::string& arch, const GgufArchitecture& fixed);

// Whether layer 0 has a window, whose width of rotation all layers of most architectures take.
bool first_layer_slides(FileReading& file, const std::string& arch, const GgufArchitecture& fixed);
// Whether the file has windows by the rules of its architecture.
bool has_gguf_windows(FileReading& file, const std::string& arch, const GgufArchitecture& fixed);
// What llama.cpp makes of a window that the file sets and no layer gets, in a sentence; empty: there is none. EXAONE 4 has windows in a
// model of 64 layers alone (src/models/exaone4.cpp), Phi-3 none (src/models/phi3.cpp); other architectures read no such key. Of all
// these the log names Phi-3's alone.
std::string gguf_window_unread(FileReading& file, const std::string& arch);

}  // namespace gnomon
