#include "gnomon/claims/claim.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::claims {

#define CLAIM(id) extern const Claim claim_##id;
#include "gnomon/claims/list.def"
#undef CLAIM

std::span<const Claim* const> all_claims() {
  static const Claim* const all[] = {
#define CLAIM(id) &claim_##id,
#include "gnomon/claims/list.def"
#undef CLAIM
  };
  return all;
}

std::vector<const Claim*> select_claims(std::span<const std::string> names) {
  std::vector<const Claim*> out;
  std::vector<std::string_view> known{"all"};
  for (const Claim* c : all_claims()) known.push_back(c->id);
  for (const std::string& wanted : names) {
    bool found = false;
    for (const Claim* c : all_claims()) {
      const bool meant =
          wanted == "all" || c->id == wanted || (wanted.size() == 3 && c->id.substr(0, 3) == wanted);
      found |= meant;
      if (meant && std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
    }
    if (!found) throw Error(Fault::usage, text(unknown("claim", wanted, known), "; or a text: 000 to 004"));
  }
  return out;
}

std::string_view name(Verdict v) {
  switch (v) {
    case Verdict::holds:
      return "holds";
    case Verdict::conditional:
      return "holds with a condition";
    case Verdict::wrong:
      return "wrong";
    case Verdict::undecided:
      return "not decidable at this scale";
    case Verdict::no_inference:
      return "no inference from a quick run";
    case Verdict::unmeasurable:
      return "not measurable on this text";
    case Verdict::differs:
      break;
  }
  return "a number did not come out";
}

void Finding::near(std::string what, double value, double expected, double tolerance, int digits) {
  between(std::move(what), value, expected - tolerance, expected + tolerance, digits);
}
void Finding::between(std::string what, double value, double low, double high, int digits) {
  number(std::move(what), value, digits);
  numbers.back().low = low, numbers.back().high = high;
}
void Finding::estimate(std::string what, const Estimate& e, int digits) {
  numbers.push_back({std::move(what), e.mean, e.half_width, e.n, digits});
}
bool Finding::fits() const {
  return std::all_of(numbers.begin(), numbers.end(), [](const Number& n) { return n.fits(); });
}
void Finding::conclude(Verdict v, std::string sentences) {
  verdict = fits() ? v : Verdict::differs;
  answer = std::move(sentences);
}

Sign sign(const Estimate& e) {
  if (std::isnan(e.half_width)) return Sign::open;
  return e.mean + e.half_width < 0 ? Sign::below : e.mean - e.half_width > 0 ? Sign::above : Sign::open;
}
bool within(const Estimate& e, double margin) {
  return !std::isnan(e.half_width) && std::abs(e.mean) + e.half_width < margin;
}

}  // namespace gnomon::claims
