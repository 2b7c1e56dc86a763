// One spec: what it is, and its numbers by definition, in double.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings.h"
#include "gnomon/core/check.h"
#include "gnomon/core/random.h"

namespace gnomon::python {
namespace {

nb::object param_list(const std::vector<ParamSpec>& params) {
  nb::list all;
  for (const ParamSpec& p : params) all.append(nb::make_tuple(p.name, p.shape));
  return all;
}
[[noreturn]] void refuse(const BoundScheme& s, std::string_view what) {
  throw Error(Fault::usage, text("'", s.spec().print(), "' has no ", what),
              {s.spec().print(), "", std::string(what), {}});
}
const InputPart& input_of(const BoundScheme& s) {
  if (!s.input()) refuse(s, "input encoding");
  if (s.input()->reads_content()) refuse(s, "vectors by position alone: they depend on the word vectors");
  return *part<InputPart>(*s.input());
}

// (queries), (keys) places and parameters to (H,queries,keys).
Numpy<double> bias(const BoundScheme& s, const Dense<double>& queries, const Dense<double>& keys,
                   const Dense<float>& w) {
  check_size("bias", "w", w.size(), s.attention().param_count());
  std::vector<double> all(queries.data(), queries.data() + queries.size());
  all.insert(all.end(), keys.data(), keys.data() + keys.size());
  const std::vector<double> wide(w.data(), w.data() + w.size());
  const auto H = std::size_t(s.shape().H), Q = queries.size(), K = keys.size();
  Numpy<double> out = numpy<double>({H, Q, K});
  bool any = false;
  std::size_t end = 0;
  for (const auto& [encoding, acts] : s.inside()) {
    const Encoding& e = *encoding;
    const std::size_t begin = std::exchange(end, end + std::size_t(e.param_count()));
    const auto* biased = part<BiasPart>(e);
    if (!biased) continue;
    if (e.reads_content()) refuse(s, "bias by position alone: its bias depends on the content of the tokens");
    any = true;
    const Scene scene{all, {}, {}, std::span(wide).subspan(begin, end - begin)};
    for (std::size_t h = 0; h < H; ++h)
      for (std::size_t i = 0; i < Q; ++i)
        for (std::size_t j = 0; j < K; ++j)
          out.data()[(h * Q + i) * K + j] +=
              biased->bias(scene, std::int64_t(h), std::int64_t(i), std::int64_t(Q + j));
  }
  if (!any) refuse(s, "bias by position");
  return out;
}

Numpy<double> frequencies(const BoundScheme& s) {
  for (const auto& [e, acts] : s.inside())
    if (const auto all = e->frequencies(); !all.empty()) return numpy<double>(all);
  if (s.input())
    if (const auto all = s.input()->frequencies(); !all.empty()) return numpy<double>(all);
  refuse(s, "frequencies");
}

// (rows·T,C) vectors beside the words.
Numpy<float> vectors(const BoundScheme& s, const Dense<double>& positions, const Dense<float>& w) {
  const InputPart& at = input_of(s);
  check_size("vectors", "w", w.size(), s.input()->param_count());
  const Placement places = placement_of(positions, s.input()->axes());
  const auto tokens = std::size_t(Positions(places).size()), C = std::size_t(s.input()->shape().C);
  Numpy<float> out = numpy<float>({tokens, C});
  const nb::gil_scoped_release unlocked;
  const Floats tables = at.tables(places);
  at.input({places, tables, w.data()}, out.data());
  return out;
}
// dvectors as vectors returned; dw is added to.
void vectors_backward(const BoundScheme& s, const Dense<double>& positions, const Dense<float>& w,
                      const Dense<float>& dvectors, const DenseOut<float>& dw) {
  const InputPart& at = input_of(s);
  const Placement places = placement_of(positions, s.input()->axes());
  check_size("vectors", "w", w.size(), s.input()->param_count());
  check_size("vectors", "dw", dw.size(), s.input()->param_count());
  check_size("vectors", "dvectors", dvectors.size(), Positions(places).size() * s.input()->shape().C);
  const nb::gil_scoped_release unlocked;
  const Floats tables = at.tables(places);
  at.input_backward({places, tables, w.data()}, dvectors.data(), {dw.data()});
}

// Positions as its samplers draw them, of one sequence.
Numpy<double> sampled(const BoundScheme& s, const Dense<double>& positions, std::uint64_t seed,
                      std::uint64_t draw, bool training) {
  if (s.samplers().empty()) refuse(s, "sampler of positions");
  Numpy<double> out = numpy<double>(span_of(positions));
  for (const auto& sampler : s.samplers())
    part<PlacePart>(*sampler)->place(Random(seed, "positions"), draw, training, {out.data(), out.size()});
  return out;
}

AttentionConfig config_of(const nb::dict& d) {
  AttentionConfig c{};
  const auto whole = [&](const char* key, std::int64_t& to) {
    if (d.contains(key)) to = nb::cast<std::int64_t>(d[key]);
  };
  whole("heads", c.heads), whole("kv_heads", c.kv_heads), whole("head_dim", c.head_dim);
  whole("value_dim", c.value_dim), whole("width", c.width), whole("length", c.length);
  if (d.contains("causal")) c.causal = nb::cast<bool>(d["causal"]);
  if (d.contains("scale")) c.scale = nb::cast<double>(d["scale"]);
  if (d.contains("soft_cap")) c.soft_cap = nb::cast<float>(d["soft_cap"]);
  return c;
}

}  // namespace

void bind_scheme(nb::module_& m) {
  nb::class_<BoundScheme>(m, "Scheme")
      .def("__init__", [](BoundScheme* self, const std::string& spec, const nb::dict& config,
                          std::int64_t layer) { new (self) BoundScheme(spec, config_of(config), layer); })
      .def_prop_ro("spec", [](const BoundScheme& s) { return s.spec().print(); })
      .def_prop_ro("attention_spec", [](const BoundScheme& s) { return s.attention().spec(); })
      .def_prop_ro("config",
                   [](const BoundScheme& s) {
                     const AttentionConfig& c = s.attention().config();
                     nb::dict d;
                     d["heads"] = c.heads, d["kv_heads"] = c.kv_heads, d["head_dim"] = c.head_dim;
                     d["value_dim"] = c.value_dim, d["width"] = c.width, d["length"] = c.length;
                     d["causal"] = c.causal, d["scale"] = c.scale, d["soft_cap"] = c.soft_cap;
                     return d;
                   })
      .def_prop_ro("params", [](const BoundScheme& s) { return param_list(s.attention().params()); })
      .def_prop_ro("input_params",
                   [](const BoundScheme& s) {
                     return param_list(s.input() ? s.input()->params() : std::vector<ParamSpec>{});
                   })
      .def("initial",
           [](const BoundScheme& s, std::uint64_t seed) { return numpy<float>(s.attention().initial(seed)); })
      .def("input_initial",
           [](const BoundScheme& s, std::uint64_t seed) {
             return numpy<float>(
                 initial_numbers(s.input() ? s.input()->params() : std::vector<ParamSpec>{}, seed));
           })
      .def_prop_ro("has_input", [](const BoundScheme& s) { return s.input() != nullptr; })
      .def_prop_ro("reads_words",
                   [](const BoundScheme& s) { return s.input() && s.input()->reads_content(); })
      .def_prop_ro("beside_attention", [](const BoundScheme& s) { return s.beside_attention(); })
      .def_prop_ro("input_width", [](const BoundScheme& s) { return s.input() ? s.input()->shape().C : 0; })
      .def_prop_ro("axes",
                   [](const BoundScheme& s) {
                     return std::max(s.axes(), s.input() ? s.input()->axes() : std::int64_t(1));
                   })
      .def_prop_ro("reads",
                   [](const BoundScheme& s) {
                     const unsigned reads = s.reads();
                     nb::list all;
                     if (reads & kReadsInput) all.append("x");
                     if (reads & kReadsRows) all.append("rows");
                     if (reads & kReadsProjections) all.append("projections");
                     return all;
                   })
      .def_prop_ro("acts",
                   [](const BoundScheme& s) {
                     unsigned acts = s.input() ? unsigned(kInput) : 0u;
                     for (const Named& named : Spec::parse(s.attention().spec()).attention)
                       acts |= find_encoding(named.name).acts;
                     return site_names(acts | (s.samplers().empty() ? 0u : unsigned(kPositions)));
                   })
      .def("output_turns",
           [](const BoundScheme& s) {
             for (const auto& [e, acts] : s.inside())
               if (part<ValueMapPart>(*e)) return true;
             return false;
           })
      .def("added",
           [](const BoundScheme& s) {
             std::int64_t more = 0;
             for (const auto& [e, acts] : s.inside()) more += widths(*e).joined + widths(*e).far;
             return more;
           })
      .def("bias", bias)
      .def("frequencies", frequencies)
      .def("vectors", vectors)
      .def("vectors_backward", vectors_backward, nb::arg("positions"), nb::arg("w"), nb::arg("dvectors"),
           nb::arg("dw").noconvert())
      .def("sampled", sampled);
}

}  // namespace gnomon::python
