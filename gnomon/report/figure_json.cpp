// Figures as JSON: the members of each kind are listed once, for both directions.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>

#include "gnomon/report/figure_json-inl.h"

namespace gnomon::report {
namespace {

constexpr std::array<const char*, std::variant_size_v<Figure>> kKinds = {
    "table", "lines", "intervals", "heat map", "clocks", "dial", "orbits", "maps"};  // in the order of Figure
constexpr std::int64_t kMost = 1'000'000'000;

// The members of each struct, by name, in either direction.
void members(auto& v, Table::Cell& c) { v("text", c.text), v("sort", c.sort), v("numeric", c.numeric); }
void members(auto& v, Table& t) { v("head", t.head), v("rows", t.rows); }
void members(auto& v, Series& s) {
  v("name", s.name), v("points", s.points), v("style", s.style);
  v("thin", s.thin), v("markers", s.markers), v("line", s.line);
}
void members(auto& v, ChartAxis& a) {
  v("label", a.label), v("logarithmic", a.logarithmic), v("ticks", a.ticks), v("of_most", a.of_most);
}
void members(auto& v, LineChart& c) {
  v("title", c.title), v("note", c.note), v("x", c.x), v("y", c.y), v("series", c.series);
}
void members(auto& v, IntervalChart::Row& r) {
  v("name", r.name), v("value", r.value), v("half_width", r.half_width), v("style", r.style);
  v("points", r.points);
}
void members(auto& v, IntervalChart& c) {
  v("title", c.title), v("note", c.note), v("label", c.label), v("rows", c.rows);
  v("of_most", c.of_most), v("digits", c.digits);
}
void members(auto& v, HeatMap& m) {
  v("title", m.title), v("note", m.note), v("x_label", m.x_label), v("y_label", m.y_label);
  v("rows", m.rows), v("columns", m.columns), v("values", m.values), v("encoding", m.encoding);
}
void members(auto& v, Clocks::Row& r) { v("name", r.name), v("angles", r.angles); }
void members(auto& v, Clocks& c) {
  v("title", c.title), v("note", c.note), v("x_label", c.x_label), v("y_label", c.y_label);
  v("columns", c.columns), v("rows", c.rows);
}
void members(auto& v, Dial& d) {
  v("title", d.title), v("note", d.note), v("frequencies", d.frequencies), v("positions", d.positions);
}
void members(auto& v, Orbits::Word& w) { v("name", w.name), v("x", w.x), v("y", w.y); }
void members(auto& v, Orbits& o) {
  v("title", o.title), v("note", o.note), v("words", o.words), v("marks", o.marks),
      v("frequency", o.frequency);
}
void members(auto& v, Maps::Map& m) { v("name", m.name), v("values", m.values); }
void members(auto& v, Maps& m) {
  v("title", m.title), v("note", m.note), v("x_label", m.x_label), v("y_label", m.y_label);
  v("size", m.size), v("maps", m.maps);
}

double to_six_digits(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::general, 6).ptr;
  std::from_chars(digits.begin(), end, value);
  return value;
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

class Writer {
 public:
  template <class T>
  void operator()(const char* key, T& value) {
    all[key] = json_of(value);
  }
  template <class T>
  static StrictJson json_of(T& value) {
    if constexpr (std::floating_point<T>) {
      return std::isfinite(value) ? StrictJson(to_six_digits(value)) : StrictJson();
    } else if constexpr (is_list<T>) {
      StrictJson list = StrictJson::array();
      for (auto& one : value) list.push_back(json_of(one));
      return list;
    } else if constexpr (std::same_as<T, std::pair<double, double>>) {
      return StrictJson::array({json_of(value.first), json_of(value.second)});
    } else if constexpr (std::integral<T> || std::same_as<T, std::string>) {
      return StrictJson(value);
    } else {
      Writer inner;
      members(inner, value);
      return std::move(inner.all);
    }
  }
  StrictJson all = StrictJson::object();
};

class Reader {
 public:
  explicit Reader(const JsonValue& from) : from_(from) {}
  template <class T>
  void operator()(const char* key, T& value) {
    read(from_.member(key), value);
  }
  template <class T>
  static void read(const JsonValue& j, T& value) {
    if constexpr (std::floating_point<T>) {
      value = j.number_or_nan();
    } else if constexpr (is_list<T>) {
      for (const JsonValue& one : j.list()) read(one, value.emplace_back());
    } else if constexpr (std::same_as<T, std::pair<double, double>>) {
      const auto two = j.list(2);
      value = {two[0].number_or_nan(), two[1].number_or_nan()};
    } else if constexpr (std::same_as<T, bool>) {
      value = j.flag();
    } else if constexpr (std::integral<T>) {
      value = T(j.whole(std::signed_integral<T> ? -1 : 0, kMost));
    } else if constexpr (std::same_as<T, std::string>) {
      value = j.text();
    } else {
      Reader inner(j);
      members(inner, value);
    }
  }

 private:
  const JsonValue& from_;
};

// Colours tell a hundredth of the largest number, and no more: so many digits are kept of what they stand for.
void round_colours(std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::isfinite(v) ? std::max(most, std::abs(v)) : most;
  if (most == 0) return;
  const double step = std::pow(10., 2 - std::floor(std::log10(most)));
  for (double& v : values) v = std::round(v * step) / step;
}
void round_colours(HeatMap& m) {
  if (!m.encoding.empty()) m.values.clear();
  round_colours(m.values);
}
void round_colours(Maps& m) {
  for (Maps::Map& map : m.maps) round_colours(map.values);
}
void round_colours(auto&) {}

// Sizes that drawing relies on.
bool fits(const Table& t) {
  return std::ranges::all_of(t.rows, [&](const auto& row) { return row.size() == t.head.size(); });
}
bool fits(const HeatMap& m) {
  const bool all = m.rows > 0 && m.values.size() % m.rows == 0 && m.values.size() / m.rows == m.columns;
  return m.columns > 0 && m.rows > 0 && (m.encoding.empty() ? all : m.values.empty());
}
bool fits(const Clocks& c) {
  return std::ranges::all_of(c.rows, [&](const auto& row) { return row.angles.size() == c.columns.size(); });
}
bool fits(const Maps& m) {
  return m.size > 0 && std::ranges::all_of(m.maps, [&](const auto& map) {
           return map.values.size() % m.size == 0 && map.values.size() / m.size == m.size;
         });
}
bool fits(const Dial& d) { return d.positions > 0; }
bool fits(const Orbits& o) { return o.marks >= 0 && o.marks <= 1000; }  // each is drawn
bool fits(const LineChart&) { return true; }
bool fits(const IntervalChart&) { return true; }

template <std::size_t Kind = 0>
Figure figure_of_kind(const JsonValue& json, std::string_view kind) {
  if constexpr (Kind < kKinds.size()) {
    if (kind != kKinds[Kind]) return figure_of_kind<Kind + 1>(json, kind);
    std::variant_alternative_t<Kind, Figure> one{};
    Reader::read(json, one);
    if (!fits(one)) json.wrong("a figure whose sizes agree");
    return one;
  } else {
    json.member("kind").wrong("the kind of a figure");
  }
}

}  // namespace

StrictJson figure_json(const Figure& figure) {
  StrictJson json{{"kind", kKinds[figure.index()]}};
  Figure copy = figure;  // members() takes what a reader may write to
  std::visit(
      [&](auto& one) {
        round_colours(one);
        json.update(Writer::json_of(one));
      },
      copy);
  return json;
}

Figure figure_of(const JsonValue& json) { return figure_of_kind(json, json.member("kind").text()); }

}  // namespace gnomon::report
