#include "gnomon/models/explain/guesses.h"

#include <algorithm>

namespace gnomon {
namespace {

const Because* last_of(const std::vector<Because>& all, std::string_view what) {
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Because& b) { return b.what == what; });
  return found == all.rend() ? nullptr : &*found;
}
bool said(const Explanation& e, const LayerGroup& g, std::string_view what) {
  const Because* own = last_of(g.position.because, what);
  if (!own) own = last_of(e.model.because, what);
  return own && own->said();
}

// Frequencies are said where all that they are made from is: the type, its numbers and the channels that turn.
bool frequencies_said(const Explanation& e, const LayerGroup& g) {
  for (const std::string_view what : {"encoding", "theta", "rotary_dim"})
    if (!said(e, g, what)) return false;
  return std::all_of(g.position.because.begin(), g.position.because.end(), [](const Because& b) {
    return b.said() || b.what == "pairing" || b.what == "scale" || b.what == "kind";
  });
}

bool quantity_said(const Explanation& e, const LayerGroup& g, Quantity what) {
  switch (what) {
    case Quantity::heads:
      return said(e, g, "heads");
    case Quantity::kv_heads:
      return said(e, g, "kv_heads");
    case Quantity::head_dim:
      return said(e, g, "head_dim");
    case Quantity::softmax_scale:
      return said(e, g, "scale");
    case Quantity::window:  // none is said by the kind alone
      return said(e, g, "kind") && (!g.window || said(e, g, "window") || said(e, g, "chunk"));
    case Quantity::pairing:
      return said(e, g, "pairing");
    case Quantity::rotated_channels:
      return said(e, g, "rotary_dim");
    case Quantity::frequencies:
      return frequencies_said(e, g);
    case Quantity::rotary_factor:
      return said(e, g, "attention_factor");
    case Quantity::rotation:  // that a layer has no attention, and so turns nothing, may stand in a list
      return !g.position.mixer.empty() && said(e, g, "kind");
    default:
      return false;  // whether layers turn, where they begin, what they see: the class's own code
  }
}

}  // namespace

bool is_guess(const Explanation& e, const Because& because) { return !e.model.known && !because.said(); }
bool is_guess(const Explanation& e, const LayerGroup& group, Quantity what) {
  return !e.model.known && !quantity_said(e, group, what);
}
bool is_guess(const Explanation& e, Quantity what) {
  if (e.model.known) return false;
  const std::string_view row = what == Quantity::layers           ? "layers"
                               : what == Quantity::context_length ? "longest"
                               : what == Quantity::mask           ? "mask"
                                                                  : "";
  const Because* source = last_of(e.model.because, row);
  return !source || !source->said();
}
bool is_guess(const Explanation& e, const LayerGroup& group, std::string_view what) {
  return !e.model.known && !said(e, group, what);
}

}  // namespace gnomon
