#include "gnomon/claims/sentence.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"

namespace gnomon::claims {
namespace {

FormPiece::Ref number_named(std::string_view name) {
  const auto bar = name.find('|');
  if (bar == name.npos) return {"", std::string(name)};
  return {std::string(name.substr(0, bar)), std::string(name.substr(bar + 1))};
}
std::string name_of(const FormPiece::Ref& r) { return r.from.empty() ? r.key : text(r.from, "|", r.key); }

std::vector<FormPiece> pieces(std::string_view form);

FormPiece choice(std::string_view asks, std::string_view alternatives) {
  FormPiece p;
  if (asks.ends_with('!')) {
    p.kind = FormPiece::Kind::there, p.number = number_named(asks.substr(0, asks.size() - 1));
  } else if (const auto at = asks.find_first_of(">~"); at != asks.npos) {
    p.kind = asks[at] == '>' ? FormPiece::Kind::above : FormPiece::Kind::within;
    p.number = number_named(asks.substr(0, at)), p.bound = asks.substr(at + 1);
  } else {
    const auto less = asks.find(" - ");
    p.kind = FormPiece::Kind::sign, p.number = number_named(asks.substr(0, less));
    if (less != asks.npos) p.less = number_named(asks.substr(less + 3));
  }
  for (std::size_t n = alternatives_of(asks); n > 0; --n)
    p.alternatives.push_back(pieces(cut_at(alternatives, '|')));
  return p;
}

FormPiece words(std::string_view said) {
  FormPiece p;
  p.words = said;
  return p;
}
FormPiece slot(std::string_view inner) {
  if (const auto ask = asking_end(inner); ask != inner.npos)
    return choice(inner.substr(0, ask), inner.substr(ask + 1));
  const auto colon = inner.find(':');
  FormPiece p = words(colon == inner.npos ? "" : inner.substr(colon + 1));
  p.kind = FormPiece::Kind::number, p.number = number_named(inner.substr(0, colon));
  return p;
}
// Of a form that is well formed.
std::vector<FormPiece> pieces(std::string_view form) {
  std::vector<FormPiece> out;
  for (auto open = form.find('{'); open != form.npos; open = form.find('{')) {
    if (open) out.push_back(words(form.substr(0, open)));
    const auto close = closing_brace(form, open);
    out.push_back(slot(form.substr(open + 1, close - open - 1)));
    form = form.substr(close + 1);
  }
  if (!form.empty()) out.push_back(words(form));
  return out;
}

constexpr const char* kWhen[] = {".at.0.25", ".at.0.5", ".at.1"};
bool is_way(const FormPiece& p) { return p.kind == FormPiece::Kind::number && p.words.starts_with("way"); }

void collect(const std::vector<FormPiece>& form, std::vector<std::string>& out) {
  const auto add = [&](std::string name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
  };
  for (const FormPiece& p : form) {
    if (p.kind == FormPiece::Kind::words) continue;
    if (is_way(p)) {
      for (const char* when : kWhen) add(name_of(p.number) + when);
    } else {
      add(name_of(p.number));
    }
    if (!p.less.key.empty()) add(name_of(p.less));
    for (const auto& a : p.alternatives) collect(a, out);
  }
}

// The 95 % interval of a difference: −1 below 0, 1 above, 0 neither or none. Of two numbers, the intervals of both added:
// it excludes 0 where the two do not overlap.
int side(const FoundNumber& a, const FoundNumber* less) {
  const double low = a.least() - (less ? less->most() : 0), high = a.most() - (less ? less->least() : 0);
  return high < 0 ? -1 : low > 0 ? 1 : 0;  // 0 of NaN
}

std::string against(const FoundNumber& n, std::string_view other, int digits) {
  const int s = side(n, nullptr);
  if (s == 0)
    return text("not told apart", other.empty() ? "" : text(" from ", other), ": ",
                shown(n, text(digits, "n")));
  return text(s < 0 ? "lower by " : "higher by ", fixed(std::abs(n.value), digits), " ± ",
              fixed(n.half_width, digits), " nats", other.empty() ? "" : text(" than ", other));
}

class Speaker {
 public:
  explicit Speaker(const Lookup& numbers) : numbers_(numbers) {}
  std::string speak(const std::vector<FormPiece>& form) {
    std::string out;
    for (const FormPiece& p : form) out += p.kind == FormPiece::Kind::words ? p.words : of_number(p);
    return out;
  }
  std::vector<std::string> missing;

 private:
  const FoundNumber* find(const FormPiece::Ref& r) {
    const FoundNumber* n = numbers_(r.from, r.key);
    if (!n && std::find(missing.begin(), missing.end(), name_of(r)) == missing.end())
      missing.push_back(name_of(r));
    return n;
  }
  double bound(const FormPiece& p) {
    double value = 0;
    const auto [end, error] = std::from_chars(p.bound.data(), p.bound.data() + p.bound.size(), value);
    if (error == std::errc() && end == p.bound.data() + p.bound.size()) return value;
    const FoundNumber* n = find(number_named(p.bound));
    return n ? n->value : std::nan("");
  }
  std::string of_way(const FormPiece& p) {
    std::array<const FoundNumber*, 3> found;
    for (std::size_t k = 0; k < 3; ++k) found[k] = find({p.number.from, p.number.key + kWhen[k]});
    if (std::find(found.begin(), found.end(), nullptr) != found.end()) return "";
    constexpr const char* kSide[] = {"lower", "not told apart", "higher"};
    constexpr const char* kThan[] = {" than ", " from ", " than "};
    constexpr const char* kTold[] = {" after a quarter of the training", " after half of it", " at its end"};
    const auto side_of = [&](std::size_t k) { return std::size_t(side(*found[k], nullptr) + 1); };
    const bool same = side_of(0) == side_of(1) && side_of(1) == side_of(2);
    const std::string_view other = std::string_view(p.words).substr(std::min<std::size_t>(4, p.words.size()));
    std::string out = kSide[side_of(0)] + (other.empty() ? "" : text(kThan[side_of(0)], other));
    for (std::size_t k = 0; k < 3; ++k)
      out += text(k == 0   ? ""
                  : k == 1 ? ","
                  : same   ? " and"
                           : ", and",
                  k == 0 || same ? "" : text(" ", kSide[side_of(k)]), kTold[k]);
    return text(out, ". At the end the difference in nats is ", shown(*found[2], "3n"));
  }
  std::string of_number(const FormPiece& p) {
    if (is_way(p)) return of_way(p);
    const FoundNumber* n = find(p.number);
    if (!n) return "";
    const FoundNumber* less = p.less.key.empty() ? nullptr : find(p.less);
    if (!p.less.key.empty() && !less) return "";
    switch (p.kind) {
      case FormPiece::Kind::sign:
        return speak(p.alternatives[std::size_t(side(*n, less) + 1)]);
      case FormPiece::Kind::above:
        return speak(p.alternatives[n->value > bound(p) ? 0 : 1]);
      case FormPiece::Kind::within:
        return speak(p.alternatives[n->least() > -bound(p) && n->most() < bound(p) ? 0 : 1]);
      case FormPiece::Kind::there:
        return speak(p.alternatives[std::isnan(n->value) ? 1 : 0]);
      default:
        break;
    }
    if (p.words.starts_with("vs")) {
      const std::string_view rest = std::string_view(p.words).substr(2);
      return against(*n, rest.empty() ? rest : rest.substr(1), n->digits);
    }
    return shown(*n, p.words);
  }

  const Lookup& numbers_;
};

std::string tiny(double x) {
  std::array<char, 32> digits;
  if (x == 0) return "0";
  return {
      digits.data(),
      std::to_chars(digits.data(), digits.data() + digits.size(), x, std::chars_format::scientific, 0).ptr};
}

}  // namespace

void refuse_form(const char* why, std::string_view where) {
  throw Error(Fault::bug, text("a form of a sentence ", why, ": ", where));
}

std::vector<FormPiece> parsed(std::string_view form) { return pieces(checked_form(form)); }

std::vector<std::string> taken_by(std::string_view form) {
  std::vector<std::string> out;
  collect(parsed(form), out);
  return out;
}

Said said(std::string_view form, const Lookup& numbers) {
  Speaker speaker(numbers);
  std::string told = speaker.speak(parsed(form));
  return {std::move(told), std::move(speaker.missing)};
}

std::string shown(const FoundNumber& n, std::string_view format) {
  const auto has = [&](char c) { return format.find(c) != format.npos; };
  const double times = has('%') ? 100 : has('k') ? 1e-3 : 1;
  int digits = has('%') ? 0 : n.digits;
  if (const auto at = format.find_first_of("0123456789"); at != format.npos) digits = format[at] - '0';
  const auto told = [&](double x) { return grouped(times * (has('a') ? std::abs(x) : x), digits); };
  if (has('e')) return tiny(n.value);
  if (n.of_share() && has('n'))
    return text(told(n.value), " (", told(n.from), " to ", told(n.to), ", n = ", n.n, ")");
  const bool interval = !std::isnan(n.half_width);
  const std::string most = text(told(n.value), interval && !has('m') ? text(" ± ", told(n.half_width)) : "");
  return !has('n') ? most : text(most, " (n = ", n.n, interval ? ")" : ", no interval)");
}

}  // namespace gnomon::claims
