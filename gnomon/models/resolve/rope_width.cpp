#include "gnomon/models/resolve/rope_width.h"

#include <cmath>
#include <numeric>

#include "gnomon/core/text.h"

namespace gnomon {

void RopeWidth::channels() {
  if (const auto given = dict_.number("rotary_dim")) return named_channels(*given);
  if (const auto pairs = pairs_of_sections()) {
    follows("rotary_dim", text(2 * *pairs), dict_.find("mrope_section")->key,
            "twice the sum of its sections; no key sets the share of the head");
    return rotate(2 * *pairs);
  }
  const double part = dict_.number("partial_rotary_factor").value_or(1);
  const bool null = dict_.holds("partial_rotary_factor") && !dict_.find("partial_rotary_factor");
  const bool forgotten = type_ == "default" && rules_.plain_forgets_part && !facts_.plain_partial;
  if (null && !forgotten) dict_.wrong("partial_rotary_factor", "a number, or no such key");
  if (head_.whole && type_ == "default" && !facts_.plain_partial)
    dict_.wrong("rope_type",
                "a type that counts partial_rotary_factor: for this one the class computes cos and sin for "
                "the whole head, and raises RuntimeError when it rotates a slice");
  if (head_.whole) slice_of_share(part);
  if (type_ == "proportional" || head_.whole) return rotate(head_.rotated);
  if (forgotten && part != 1) {
    remarks_.push_back({dict_.find("partial_rotary_factor")->key,
                        "ignored: in this family the default type rotates the whole head",
                        head_.trailing         ? "rotary-slice-turns-whole"
                        : part > 0 && part < 1 ? "partial-rotation-dropped"
                                               : "partial-rotation-impossible"});
  }
  if (part > 0 && part < 1 && (facts_.part_fails || (type_ != "default" && whole_head())))
    refuse(dict_.find("partial_rotary_factor")->key,
           "this type computes cos and sin for a part of the head, but the attention of the class rotates "
           "all of it: transformers 5.23 raises RuntimeError when the model runs",
           "partial-rotation-with-scaling");
  std::int64_t n = std::int64_t((forgotten ? 1 : part) * double(head_.rotated));
  if (n % 2 && n > 0 && n < head_.rotated && facts_.odd_part && type_ == "default") even_out(n++);
  if (n == head_.rotated && n % 2) dict_.wrong_at("head_dim", text("an even number of channels, not ", n));
  if (n < 2 || n > head_.rotated || n % 2) {
    dict_.wrong("partial_rotary_factor",
                text("a share of the ", head_.rotated, " channels that gives an even number of channels"));
  }
  if (n != head_.rotated)
    note("rotary_dim", text(n), "partial_rotary_factor"), because_.back().follows = true;
  rotate(n);
}
// The share is one of the head, and its channels must be those of the slice. Dots' class writes that share itself.
void RopeWidth::slice_of_share(double part) {
  const bool proportional = type_ == "proportional";
  const bool said = facts_.dicts != RopeDicts::copied && dict_.holds("partial_rotary_factor");
  const auto n = proportional ? head_.attended : std::int64_t(part * double(head_.attended));
  if ((!said && !proportional) || n == head_.rotated) return;
  const RopeValue& from = *dict_.find(said ? "partial_rotary_factor" : "rope_type");
  refuse(from.key,
         text("this type computes cos and sin for ", n, " channels, and the slice has ", head_.rotated,
              ": transformers 5.23 raises RuntimeError when the model runs"),
         "partial-rotation-with-scaling");
}
// theta^(−2i/n) of an odd n, by n + 1 channels: another base has these frequencies.
void RopeWidth::even_out(std::int64_t n) {
  const double theta = *dict_.number("rope_theta");
  const double own = std::pow(theta, double(n + 1) / double(n));
  for (auto& [name, value] : encoding_.options)
    if (name == "theta") value = own;
  because(
      "theta", shortest(own), "",
      text("the frequencies of ", shortest(theta), " are made for ", n, " channels, and ", n + 1, " turn"));
}
std::optional<std::int64_t> RopeWidth::pairs_of_sections() const {
  if (!facts_.width_by_sections || dict_.holds("partial_rotary_factor")) return std::nullopt;
  const auto parts = dict_.list("mrope_section");
  if (!parts) return std::nullopt;
  const double pairs = std::accumulate(parts->begin(), parts->end(), 0.0);
  const bool fits = pairs >= 1 && 2 * pairs < double(head_.rotated) && pairs == std::floor(pairs);
  return fits ? std::optional(std::int64_t(pairs)) : std::nullopt;
}
// The class knows no part of the head, but for the one that is its own.
bool RopeWidth::whole_head() const {
  return rules_.plain_forgets_part && !facts_.plain_partial && facts_.partial == 0 && !head_.trailing;
}
void RopeWidth::named_channels(double given) {
  const std::int64_t n = given == 0 ? head_.rotated : std::int64_t(given);
  if (n < 2 || n > head_.rotated || n % 2 || double(n) != given + (given == 0 ? double(n) : 0))
    dict_.wrong("rotary_dim", text("an even number of channels up to ", head_.rotated));
  note("rotary_dim", text(n), "rotary_dim");
  rotate(n);
}
void RopeWidth::rotate(std::int64_t n) {
  if (n != head_.attended) write("channels", n);
  if (n != head_.attended && head_.trailing) write("side", "trailing");
  rotated_ = n;
}

}  // namespace gnomon
