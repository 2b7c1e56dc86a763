#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "gnomon/lens/inspection.h"
#include "gnomon/models/inspect/text.h"
#include "gnomon/models/run/open.h"

namespace gnomon {

// A trained model looked at whole: which windows of a text its parts are shown (lens/inspection.h), in which order, and what is
// left out and why.

struct InspectOptions {
  std::int64_t window = 256, windows = 8;  // tokens of a window, and how many, of what is not about long ones
  std::int64_t longest = 2048;             // tokens of the windows whose loss is told by place
  double beyond = 0;                       // also windows so many times the trained length; up to 1: none
  bool each_head = false;                  // also without position in one head at a time

  // What is allowed, from and to.
  using Bounds = std::pair<std::int64_t, std::int64_t>;
  static constexpr Bounds kWindow{16, 4096}, kWindows{1, 1000}, kLongest{64, 1 << 20};
  static constexpr double kMostBeyond = 1e9;
};

struct InspectHooks {
  // Told before every part: what it is and, but for the first, about how long it takes until all are done.
  std::function<void(const std::string& sentence)> tell = {};
  // Asked before every part and before every layer of a pass; true: inspect() throws Stopped.
  std::function<bool()> stop = {};
};

// A model that was inspected, and on what.
struct Inspected {
  std::string model, family, text;  // file names, as typed; empty where none was
  std::string component;            // of a model with both: "encoder" or "decoder"
  std::int64_t parameters = 0, layers = 0, heads = 0, width = 0, trained_length = 0;
  std::string spec;
  bool causal = true;
  Inspection found;
};

// The parts, one after the other. A part that a lens or the model refuses is left out with the reason; windows are no longer than
// the model has positions for. A decoder beside an encoder is shown windows whose encoder has read as many tokens before them
// (text.h); what is changed is changed in the decoder alone. Throws Error(usage), before anything is computed, for options that are not allowed, a text of fewer
// tokens than one window takes, and longer windows of a model that does not turn by rope; Stopped.
Inspected inspect(const OpenedModel& model, const ModelText& text, const InspectOptions& options,
                  const InspectHooks& hooks = {});

// The same, from files. Throws as open_model(), read_text() and read_ids() do, too.
struct InspectFiles {
  std::string model;                    // a folder with config.json and safetensors, or a GGUF file
  std::string text;                     // UTF-8
  bool ids = false;                     // it holds token ids
  Component part = Component::decoder;  // of a model with an encoder and a decoder
};
Inspected inspect(const InspectFiles& files, const InspectOptions& options, const InspectHooks& hooks = {});

}  // namespace gnomon
