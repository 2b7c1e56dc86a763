// Attention on arrays of the caller: forward, backward, and with a cache of keys.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings.h"
#include "gnomon/core/check.h"
#include "gnomon/spec/plan.h"

namespace gnomon::python {
namespace {

// What a call may be given beside q, k and v.
struct Call {
  std::optional<Dense<double>> positions;
  std::optional<Dense<float>> w;
  std::optional<Dense<std::uint8_t>> padding;                             // (B,keys)
  std::optional<nb::ndarray<const float, nb::ro, nb::device::cpu>> bias;  // (B,heads,queries,keys)
  std::optional<nb::ndarray<const std::uint8_t, nb::ro, nb::device::cpu>> mask;
  std::optional<Dense<float>> sinks;  // (heads)
  std::optional<Read> x;              // (B,1,keys,width)
  // (heads·head_dim, width) twice, (heads·head_dim) twice, dense and one after the other.
  std::optional<Dense<float>> projections;
};
struct Gradients {
  std::optional<Write> dq, dk, dv, dx;
  std::optional<DenseOut<float>> dw, dsinks, dprojections;
  std::optional<DenseOut<float>> dbias;  // (B,heads,queries,keys)
};

template <class T, class Array>
PairRows<T> pairs_of(std::string_view name, const Array& a, const std::array<std::int64_t, 4>& extents) {
  bool fits = a.ndim() == 4;
  for (std::size_t n = 0; fits && n < 4; ++n) fits = std::int64_t(a.shape(n)) == extents[n];
  if (!fits || (extents[3] > 1 && a.stride(3) != 1))
    throw Error(Fault::usage, text(name, ": allowed is an array (", extents[0], ", ", extents[1], ", ",
                                   extents[2], ", ", extents[3], ") of numbers, with keys side by side"));
  return {a.data(), a.stride(0), a.stride(1), a.stride(2)};
}

template <class T>
Projections<T> split(T* all, const AttentionConfig& c) {
  const std::int64_t rows = c.heads * c.head_dim, weight = rows * c.width;
  return {all, all + weight, all + 2 * weight, all + 2 * weight + rows};
}
void check_projections(const AttentionConfig& c, std::size_t found) {
  const std::int64_t wanted = 2 * c.heads * c.head_dim * (c.width + 1);
  if (std::int64_t(found) != wanted)
    throw Error(Fault::usage, text("projections: found ", found, " numbers; allowed are ", wanted));
}

const std::uint8_t* padding_of(const Dense<std::uint8_t>& padding, std::int64_t B, std::int64_t tokens) {
  if (padding.ndim() == 2 && std::int64_t(padding.shape(0)) == B && std::int64_t(padding.shape(1)) == tokens)
    return padding.data();
  std::string found = "(";
  for (std::size_t n = 0; n < padding.ndim(); ++n) found += text(n ? ", " : "", padding.shape(n));
  found += ")";
  const std::string allowed = text("(", B, ", ", tokens, "), a row of keys for each sequence");
  throw Error(Fault::usage, text("padding: found ", found, "; allowed is ", allowed),
              {"padding", found, allowed, {}});
}

// Content that no encoding would read is not left unread without a word.
void check_read(const BoundScheme& scheme, unsigned what, std::string_view name) {
  if (scheme.reads() & what) return;
  const std::string spec = scheme.spec().print();
  throw Error(Fault::usage, text(name, ": '", spec, "' does not read it; allowed is none"),
              {std::string(name), spec, "none", {}});
}

// A call with everything that the core reads; it refers to the arrays of the call. Pairs are of the keys of the call, or of
// those that a cache has with them.
class Bound {
 public:
  Bound(const BoundScheme& scheme, const Call& call, const std::array<ConstView, 3>& qkv,
        const KeyCache* cache = nullptr) {
    const AttentionConfig& c = scheme.attention().config();
    in.q = qkv[0], in.k = qkv[1], in.v = qkv[2];
    if (!cache) check_extents("attend", {{"queries", in.q.tokens(), 0, in.k.tokens()}});
    if (call.positions) places = placement_of(*call.positions, scheme.axes()), in.places = &*places;
    if (call.w) in.w = span_of(*call.w);
    if (call.padding)
      in.padding = padding_of(*call.padding, cache ? cache->shape().B : in.k.sequences(), in.k.tokens());
    const std::array<std::int64_t, 4> pairs{
        in.q.sequences(), c.heads, in.q.tokens(),
        cache ? cache->keys_with(in.k.tokens(), in.padding) : in.k.tokens()};
    if (call.bias) in.bias = pairs_of<const float>("bias", *call.bias, pairs);
    if (call.mask) in.mask = pairs_of<const std::uint8_t>("mask", *call.mask, pairs);
    if (call.sinks) {
      if (std::int64_t(call.sinks->size()) != c.heads)
        throw Error(Fault::usage,
                    text("sinks: found ", call.sinks->size(), " numbers; allowed are ", c.heads));
      in.sinks = call.sinks->data();
    }
    if (call.x) check_read(scheme, kReadsInput, "x"), in.x = read("x", *call.x);
    if (call.projections) {
      check_read(scheme, kReadsProjections, "projections");
      check_projections(c, call.projections->size());
      projections = split(call.projections->data(), c), in.projections = &projections;
    }
  }
  Bound(const Bound&) = delete;

  AttentionInput in;

 private:
  std::optional<Placement> places;
  Projections<const float> projections{};
};

std::array<ConstView, 3> views(const Read& q, const Read& k, const Read& v) {
  return {read("q", q), read("k", k), read("v", v)};
}

// out (B,heads,queries,value_dim), lse (B,heads,queries) and, where output_turns, attended (as out, float32): overwritten.
void forward(const BoundScheme& s, const Read& q, const Read& k, const Read& v, const Call& call,
             const Write& out, const std::optional<DenseOut<float>>& lse,
             const std::optional<DenseOut<float>>& attended) {
  const Bound bound(s, call, views(q, k, v));
  const View to = write("out", out);
  const nb::gil_scoped_release unlocked;
  const auto saved = s.attention().forward(bound.in, to);
  const Attention::Numbers numbers = Attention::numbers(*saved);
  const auto give = [](std::string_view name, std::span<const float> from, const auto& array) {
    if (!array) return;
    if (array->size() != from.size())
      throw Error(Fault::usage, text(name, ": found ", array->size(), " numbers; allowed are ", from.size()));
    std::copy(from.begin(), from.end(), array->data());
  };
  give("lse", numbers.lse, lse);
  give("attended", numbers.attended, attended);
}

struct Done {  // a forward pass
  Read q, k, v;
  Write out;
  Dense<float> lse;
  std::optional<Dense<float>> attended;
};
void backward(const BoundScheme& s, const Done& done, const Call& call, const Read& dout,
              const Gradients& g) {
  const Bound bound(s, call, views(done.q, done.k, done.v));
  const ConstView from = read("dout", dout);
  const AttentionConfig& c = s.attention().config();
  AttentionGradients to{write("dq", g.dq.value()), write("dk", g.dk.value()), write("dv", g.dv.value())};
  if (g.dw) to.dw = span_of(*g.dw);
  if (g.dx) to.dx = write("dx", *g.dx);
  Projections<float> projections{};
  if (g.dprojections) {
    check_projections(c, g.dprojections->size());
    projections = split(g.dprojections->data(), c), to.projections = &projections;
  }
  const std::array<std::int64_t, 4> pairs{bound.in.q.sequences(), c.heads, bound.in.q.tokens(),
                                          bound.in.k.tokens()};
  if (g.dbias) to.extras.bias = pairs_of<float>("dbias", *g.dbias, pairs);
  if (g.dsinks) to.extras.sinks = g.dsinks->data();
  Attention::Numbers numbers{span_of(done.lse), {}};
  if (done.attended) numbers.attended = span_of(*done.attended);
  const View out = write("out", done.out);
  const nb::gil_scoped_release unlocked;
  s.attention().backward(*s.attention().resume(bound.in, out, numbers), from, to);
}

void decode(const BoundScheme& s, const Read& q, const Read& k, const Read& v, const Call& call,
            KeyCache& cache, const Write& out) {
  const Bound bound(s, call, views(q, k, v), &cache);
  const View to = write("out", out);
  const nb::gil_scoped_release unlocked;
  s.attention().decode(bound.in, cache, to);
}

// The keys and values of a sequence as they are stored: (kv_heads,length,K), (kv_heads,length,D).
nb::tuple cached_rows(const KeyCache& cache, std::int64_t b) {
  Floats k, v;
  cache.copy_rows(b, k, v);
  const auto H = std::size_t(cache.shape().heads), T = std::size_t(cache.length(b));
  return nb::make_tuple(numpy<float>(k, {H, T, std::size_t(cache.shape().K)}),
                        numpy<float>(v, {H, T, std::size_t(cache.shape().D)}));
}

}  // namespace

void bind_attention(nb::module_& m) {
  nb::class_<Call>(m, "Call")
      .def(nb::init<>())
      .def_rw("positions", &Call::positions, nb::arg().none())
      .def_rw("w", &Call::w, nb::arg().none())
      .def_rw("padding", &Call::padding, nb::arg().none())
      .def_rw("bias", &Call::bias, nb::arg().none())
      .def_rw("mask", &Call::mask, nb::arg().none())
      .def_rw("sinks", &Call::sinks, nb::arg().none())
      .def_rw("x", &Call::x, nb::arg().none())
      .def_rw("projections", &Call::projections, nb::arg().none());
  nb::class_<Gradients>(m, "Gradients")
      .def(nb::init<>())
      .def_rw("dq", &Gradients::dq, nb::arg().noconvert().none())
      .def_rw("dk", &Gradients::dk, nb::arg().noconvert().none())
      .def_rw("dv", &Gradients::dv, nb::arg().noconvert().none())
      .def_rw("dx", &Gradients::dx, nb::arg().noconvert().none())
      .def_rw("dw", &Gradients::dw, nb::arg().noconvert().none())
      .def_rw("dsinks", &Gradients::dsinks, nb::arg().noconvert().none())
      .def_rw("dprojections", &Gradients::dprojections, nb::arg().noconvert().none())
      .def_rw("dbias", &Gradients::dbias, nb::arg().noconvert().none());
  nb::class_<Done>(m, "Done").def(
      "__init__",
      [](Done* self, Read q, Read k, Read v, Write out, Dense<float> lse,
         std::optional<Dense<float>> attended) { new (self) Done{q, k, v, out, lse, attended}; },
      nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("out"), nb::arg("lse"), nb::arg("attended").none());
  m.def("forward", forward, nb::arg("scheme"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("call"),
        nb::arg("out").noconvert(), nb::arg("lse").noconvert().none(),
        nb::arg("attended").noconvert().none());
  m.def("backward", backward, nb::arg("scheme"), nb::arg("done"), nb::arg("call"), nb::arg("dout"),
        nb::arg("gradients"));
  m.def("decode", decode, nb::arg("scheme"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("call"),
        nb::arg("cache"), nb::arg("out").noconvert());
  nb::class_<KeyCache>(m, "KeyCache")
      .def(
          "__init__",
          [](KeyCache* self, const BoundScheme& s, std::int64_t sequences, std::int64_t capacity,
             std::int64_t window) { new (self) KeyCache(s.attention().cache(sequences, capacity, window)); },
          nb::arg("scheme"), nb::arg("sequences"), nb::arg("capacity"), nb::arg("window") = 0)
      .def(
          "keys_with",
          [](const KeyCache& c, std::int64_t tokens, const std::optional<Dense<std::uint8_t>>& padding) {
            return c.keys_with(tokens, padding ? padding_of(*padding, c.shape().B, tokens) : nullptr);
          },
          nb::arg("tokens"), nb::arg("padding").none())
      .def("length", &KeyCache::length, nb::arg("sequence"))
      .def("position", &KeyCache::position, nb::arg("sequence"), nb::arg("key"))
      .def("rows", cached_rows, nb::arg("sequence"))
      .def_prop_ro("sequences", [](const KeyCache& c) { return c.shape().B; })
      .def_prop_ro("capacity", [](const KeyCache& c) { return c.shape().capacity; })
      .def_prop_ro("window", [](const KeyCache& c) { return c.shape().window; });
}

}  // namespace gnomon::python
