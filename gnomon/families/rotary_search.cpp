#include "gnomon/families/rotary_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr double kFarthest = 131072;  // where a context may begin, if no positions are given

// An option of a spec of one encoding, as it is written there.
struct Place {
  std::size_t at = std::string::npos, end = 0;  // of "name=value"
  bool there() const { return at != std::string::npos; }
};
Place find(const std::string& spec, const std::string& name) {
  for (std::size_t at = spec.find(name + "="); at != spec.npos; at = spec.find(name + "=", at + 1))
    if (at > 0 && (spec[at - 1] == '(' || spec[at - 1] == ' ')) return {at, spec.find_first_of(",)", at)};
  return {};
}
std::optional<double> option_in(const std::string& spec, const std::string& name) {
  const Place p = find(spec, name);
  if (!p.there()) return std::nullopt;
  const std::size_t value = p.at + name.size() + 1;
  return number(std::string_view(spec).substr(value, p.end - value), name);
}
// With another value; an empty one takes the option out. None of that name: as it was.
std::string with(std::string spec, const std::string& name, const std::string& value) {
  const Place p = find(spec, name);
  if (!p.there()) return spec;
  if (!value.empty()) return spec.replace(p.at, p.end - p.at, name + "=" + value);
  const bool first = spec[p.at - 1] == '(';
  return first ? spec.erase(p.at, p.end - p.at) : spec.erase(p.at - 2, p.end - p.at + 2);
}
bool begins(const std::string& spec, std::string_view name) {
  return spec.compare(0, name.size(), name) == 0;
}

}  // namespace

bool is_rotary(const Encoding& e) { return dynamic_cast<const Rotary*>(&e) != nullptr; }

std::unique_ptr<Encoding> rotary_of(const std::string& spec, std::int64_t D) {
  try {
    auto made = make_encoding(spec, {D, 1, D, 2048, true});
    if (is_rotary(*made)) return made;
  } catch (const Error&) {  // a window beyond the head: no hypothesis
  }
  return nullptr;
}
const Rotary& as_rotary(const Encoding& e) { return dynamic_cast<const Rotary&>(e); }

std::vector<Hypothesis> rotary_hypotheses(const Window& window, const Turned& turned, const Asked& asked) {
  const Measured m = measure(turned, asked.positions_given ? 64 : kFarthest);
  const double noise = 4 * turned.noise + 1e-6;
  const bool scaled = std::abs(m.factor - 1) > 4 * noise;
  auto all = rotary_rules(window, {m.frequencies, m.resolution, m.factor, noise, asked.theta});
  for (Hypothesis& h : all) {
    h.shift = m.shift, h.shift_is_fault = asked.positions_given, h.backwards = m.backwards;
    if (scaled && !begins(h.spec, "yarn")) h.scale = m.factor;
  }
  if (m.shift == 0) return all;
  const std::size_t found = all.size();
  for (std::size_t n = 0; n < found; ++n) {
    all.push_back(all[n]);
    all.back().shift = 0;
  }
  return all;
}

std::vector<Hypothesis> confused(const Hypothesis& best, std::int64_t D) {
  std::vector<Hypothesis> all;
  const auto add = [&](const std::string& spec) {
    if (spec == best.spec) return;
    all.push_back(best);
    all.back().spec = spec;
  };
  for (const char* pairing : {"halves", "adjacent"}) add(with(best.spec, "pairing", pairing));
  for (const double theta : {1e4, 5e5, 1e6}) add(with(best.spec, "theta", shortest(theta)));
  add(with(best.spec, "side", ""));
  add(with(with(best.spec, "channels", ""), "side", ""));
  const auto theta = option_in(best.spec, "theta"), channels = option_in(best.spec, "channels"),
             share = option_in(best.spec, "share");
  if (!theta) return all;
  // Partial and proportional; what an extension of the context is without it.
  const std::string pairing =
      find(best.spec, "pairing").there() && best.spec.find("adjacent") != best.spec.npos
          ? ", pairing=adjacent"
          : ", pairing=halves";
  if (channels)
    add(text("proportional(theta=", shortest(*theta), pairing, ", share=", shortest(*channels / double(D)),
             ")"));
  if (share) add(text("rope(theta=", shortest(*theta), pairing, ", fraction=", shortest(*share), ")"));
  if (!begins(best.spec, "rope")) add(text("rope(theta=", shortest(*theta), pairing, ")"));
  if (begins(best.spec, "yarn")) {
    add(with(best.spec, "attention_factor", ""));
    if (!find(best.spec, "attention_factor").there())
      add(best.spec.substr(0, best.spec.size() - 1) + ", attention_factor=1)");
    add(with(best.spec, "truncate", ""));
  }
  if (const auto factor = option_in(best.spec, "factor"))
    add(text("linear(theta=", shortest(*theta), pairing, ", factor=", shortest(*factor), ")"));
  return all;
}

namespace {

void remark_on_factor(Checked& c) {
  const auto found = option_in(c.best.spec, "attention_factor"), factor = option_in(c.best.spec, "factor");
  if (!found || !factor || !begins(c.best.spec, "yarn")) return;
  const double rule = 0.1 * std::log(*factor) + 1;
  if (*found == 1)
    c.remarks.push_back(
        text("YaRN's rule has a factor of ", fixed(rule, 4), " here: it was dropped, or the file says 1"));
  else if (std::abs(*found - rule * rule) < 1e-3)
    c.remarks.push_back(
        text("the factor is the square of YaRN's ", fixed(rule, 4), ": it was applied twice"));
}

// A base that no model has, but whose power is one that many have: the exponents were formed otherwise.
void remark_on_theta(std::int64_t D, Checked& c) {
  const auto theta = option_in(c.best.spec, "theta"), channels = option_in(c.best.spec, "channels");
  const auto usual = [](double x) {
    const auto known = known_thetas();
    return std::any_of(known.begin(), known.end(), [x](double k) { return std::abs(x / k - 1) < 1e-3; });
  };
  if (!theta || usual(*theta)) return;
  if (usual(*theta * *theta))
    c.remarks.push_back(text(shortest(*theta), " is the root of ", shortest(std::round(*theta * *theta)),
                             ": the exponents may be −i/r instead of −2i/r"));
  if (!channels) return;
  const double whole = std::pow(*theta, double(D) / *channels);
  if (usual(whole))
    c.remarks.push_back(text("the frequencies are those of a base of ", shortest(std::round(whole)),
                             " over all ", D, " channels of the head, of which ", shortest(*channels),
                             " turn"));
}

}  // namespace

void remark_on_numbers(std::int64_t D, Checked& c) {
  if (!c.named) return;
  remark_on_factor(c), remark_on_theta(D, c);
}

}  // namespace gnomon
