// What llama.cpp computes from positions, layer by layer, for a GGUF file of metadata: it builds the model with weights
// drawn here, runs so many tokens and looks at each node of the graph. Writes JSON. Usage: peer FILE CONTEXT TOKENS
//
// Of each attention: the rotation of its queries (through the operations between them and q·k), the factor on q·k, the slope
// of ALiBi, the keys that each query sees (a number whose bits are the keys), and the factor on each query. A rotation is run
// once more, by itself, on vectors with a single 1: so its pairs, angles and factor are those of llama.cpp's own kernel.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "gguf.h"
#include "llama.h"

namespace {

struct Rotation {
  std::vector<std::int32_t> params;  // of the operation
  std::vector<float> divisors;       // empty: none
  std::int64_t first = 0;            // of the head's channels
  bool back = false;                 // turns the other way
  bool operator<(const Rotation& o) const {
    return std::tie(params, divisors, first, back) < std::tie(o.params, o.divisors, o.first, o.back);
  }
};

struct Seen {
  std::map<Rotation, int> rotations;
  std::vector<std::string> layers;
  std::map<const ggml_tensor*, int> turned;  // nodes since the last attention
  std::int64_t tokens = 0;
};

float number(std::int32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
std::string text(double x) {
  char out[40];
  std::snprintf(out, sizeof out, "%.9g", x);
  return out;
}
template <class List>
std::string listed(const List& list) {
  std::string out;
  for (const auto& x : list) out += (out.empty() ? "" : ",") + text(double(x));
  return "[" + out + "]";
}

std::vector<float> values(const ggml_tensor* t) {
  std::vector<float> out(std::size_t(ggml_nelements(t)));
  if (t->type == GGML_TYPE_F32) {
    ggml_backend_tensor_get(t, out.data(), 0, out.size() * sizeof(float));
  } else {
    std::vector<ggml_fp16_t> half(out.size());
    ggml_backend_tensor_get(t, half.data(), 0, half.size() * sizeof(ggml_fp16_t));
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = ggml_fp16_to_fp32(half[n]);
  }
  return out;
}

Rotation rotation_of(const ggml_tensor* node) {
  Rotation r;
  r.params.assign(node->op_params, node->op_params + 15);
  r.params[0] = r.params[3] = 0;  // unused
  if (node->src[2]) r.divisors = values(node->src[2]);
  const ggml_tensor* from = node->src[0];
  r.first = node->op_params[15];
  if (from->view_src && from->nb[1]) r.first += std::int64_t(from->view_offs % from->nb[1] / sizeof(float));
  r.back = node->op == GGML_OP_ROPE_BACK;
  return r;
}

// Upwards from q, as far as its projection: the rotations, and the factors beside them.
struct Query {
  std::set<int> rotations;
  double factor = 1;
  std::vector<float> by_token;
};
void climb(const ggml_tensor* t, const Seen& seen, Query& q) {
  if (!t) return;
  if (const auto turned = seen.turned.find(t); turned != seen.turned.end())
    q.rotations.insert(turned->second);
  switch (t->op) {
    case GGML_OP_SCALE:
      q.factor *= number(t->op_params[0]);
      return climb(t->src[0], seen, q);
    case GGML_OP_MUL:
      if (std::strstr(t->src[1]->name, "attn_scale")) q.by_token = values(t->src[1]);
      return climb(t->src[0], seen, q);
    case GGML_OP_CONCAT:
      climb(t->src[1], seen, q);
      return climb(t->src[0], seen, q);
    case GGML_OP_SET:
    case GGML_OP_CPY:
      climb(t->src[1], seen, q);
      return climb(t->src[0], seen, q);
    case GGML_OP_MUL_MAT:  // the keys' matrix of latent attention, or the projection
    case GGML_OP_NONE:
    case GGML_OP_GET_ROWS:
      return;
    default:
      return climb(t->src[0], seen, q);
  }
}

void attention(const ggml_tensor* node, Seen& seen) {
  const ggml_tensor *kq = node->src[0], *mask = node->src[1];
  double factor = number(node->op_params[0]);
  std::string cap;
  const ggml_tensor* buckets = nullptr;
  while (kq->op != GGML_OP_MUL_MAT) {  // a soft-cap, a bias by distance
    if (kq->op == GGML_OP_ADD) {
      const ggml_tensor* bias = kq->src[1];
      while (bias && bias->op != GGML_OP_GET_ROWS) bias = bias->src[0];
      if (bias) buckets = bias->src[1];
    }
    if (kq->op == GGML_OP_SCALE) factor *= number(kq->op_params[0]);
    kq = kq->src[0];
  }
  Query q;
  climb(kq->src[1], seen, q);
  std::ostringstream out;
  out << "{\"node\":\"" << node->name << "\",\"head\":" << kq->src[1]->ne[0] << ",\"heads\":" << kq->ne[2]
      << ",\"kv_heads\":" << kq->src[0]->ne[2] << ",\"rope\":" << listed(q.rotations)
      << ",\"scale\":" << text(factor * q.factor) << ",\"alibi\":" << text(number(node->op_params[1]));
  std::set<int> others;
  for (const auto& [unused, index] : seen.turned) others.insert(index);
  out << ",\"turned\":" << listed(others);
  if (!q.by_token.empty()) out << ",\"temperature\":" << listed(q.by_token);
  if (buckets) {  // of the first query and of the last
    std::vector<std::int32_t> all(std::size_t(ggml_nelements(buckets)));
    ggml_backend_tensor_get(buckets, all.data(), 0, all.size() * sizeof(std::int32_t));
    const std::size_t keys = all.size() / std::size_t(seen.tokens);
    all.resize(keys * std::size_t(seen.tokens));
    out << ",\"buckets\":["
        << listed(std::vector<std::int32_t>(all.begin(), all.begin() + std::ptrdiff_t(seen.tokens))) << ","
        << listed(std::vector<std::int32_t>(all.end() - std::ptrdiff_t(keys),
                                            all.end() - std::ptrdiff_t(keys) + std::ptrdiff_t(seen.tokens)))
        << "]";
  }
  if (mask) {
    const std::vector<float> m = values(mask);
    const std::int64_t keys = mask->ne[0];
    out << ",\"sees\":[";
    for (std::int64_t i = 0; i < seen.tokens; ++i) {
      std::uint64_t row = 0;
      for (std::int64_t j = 0; j < std::min<std::int64_t>(keys, seen.tokens); ++j)
        if (m[std::size_t(i * keys + j)] > -1e9f) row |= std::uint64_t(1) << j;
      out << (i ? "," : "") << row;
    }
    out << "]";
  }
  out << "}";
  seen.layers.push_back(out.str());
  seen.turned.clear();
}

bool look(ggml_tensor* t, bool ask, void* data) {
  Seen& seen = *static_cast<Seen*>(data);
  const bool turns = t->op == GGML_OP_ROPE || t->op == GGML_OP_ROPE_BACK;
  const bool attends = t->op == GGML_OP_SOFT_MAX && std::strstr(t->name, "kq_soft_max");
  if (ask) return turns || attends;
  if (turns) {
    const auto [at, fresh] = seen.rotations.try_emplace(rotation_of(t), int(seen.rotations.size()));
    seen.turned[t] = at->second;
  }
  if (attends) attention(t, seen);
  return true;
}

// One vector with a single 1 turned at the positions of four streams.
std::vector<float> turn(const Rotation& r, std::int64_t width, std::int64_t channel,
                        const std::int32_t place[4]) {
  ggml_context* c = ggml_init({std::size_t(1) << 22, nullptr, false});
  ggml_tensor* x = ggml_new_tensor_3d(c, GGML_TYPE_F32, width, 1, 1);
  for (std::int64_t n = 0; n < width; ++n) ggml_get_data_f32(x)[n] = n == channel;
  const bool streams = r.params[2] & GGML_ROPE_TYPE_MROPE;
  ggml_tensor* p = ggml_new_tensor_1d(c, GGML_TYPE_I32, streams ? 4 : 1);
  for (int s = 0; s < (streams ? 4 : 1); ++s) static_cast<std::int32_t*>(p->data)[s] = place[s];
  ggml_tensor* f = nullptr;
  if (!r.divisors.empty()) {
    f = ggml_new_tensor_1d(c, GGML_TYPE_F32, std::int64_t(r.divisors.size()));
    std::copy(r.divisors.begin(), r.divisors.end(), ggml_get_data_f32(f));
  }
  const auto& o = r.params;
  int sections[4] = {o[11], o[12], o[13], o[14]};
  ggml_tensor* y = streams
                       ? ggml_rope_multi(c, x, p, f, o[1], sections, o[2], o[4], number(o[5]), number(o[6]),
                                         number(o[7]), number(o[8]), number(o[9]), number(o[10]))
                       : ggml_rope_ext(c, x, p, f, o[1], o[2], o[4], number(o[5]), number(o[6]), number(o[7]),
                                       number(o[8]), number(o[9]), number(o[10]));
  ggml_cgraph* graph = ggml_new_graph(c);
  ggml_build_forward_expand(graph, y);
  ggml_graph_compute_with_ctx(c, graph, 1);
  std::vector<float> out(ggml_get_data_f32(y), ggml_get_data_f32(y) + width);
  ggml_free(c);
  return out;
}

// Frequencies in turns of a pair: the angle at the largest power of two where it is below a radian.
std::string rotation_text(const Rotation& r) {
  const std::int64_t dims = r.params[1];
  std::vector<double> frequencies;
  std::vector<std::int64_t> partners, streams;
  double factor = 0;
  std::vector<bool> met(std::size_t(dims), false);
  const auto angle = [&](std::int64_t channel, std::int64_t partner, const std::int32_t place[4]) {
    const auto y = turn(r, dims, channel, place);
    factor = std::hypot(y[std::size_t(channel)], y[std::size_t(partner)]);
    return std::atan2(y[std::size_t(partner)], y[std::size_t(channel)]);
  };
  for (std::int64_t channel = 0; channel < dims; ++channel) {
    if (met[std::size_t(channel)]) continue;
    const std::int32_t one[4] = {1, 1, 1, 1}, far[4] = {1 << 16, 1 << 16, 1 << 16, 1 << 16};
    std::int64_t partner = -1;
    for (const auto* place : {one, far}) {
      const auto y = turn(r, dims, channel, place);
      for (std::int64_t n = 0; n < dims; ++n)
        if (n != channel && y[std::size_t(n)] != 0) partner = n;
    }
    if (partner < 0) {  // does not turn
      partner = r.params[2] & GGML_ROPE_TYPE_NEOX || r.params[2] & GGML_ROPE_TYPE_MROPE ? channel + dims / 2
                                                                                        : channel + 1;
    }
    met[std::size_t(channel)] = met[std::size_t(partner)] = true;
    double frequency = angle(channel, partner, one);
    for (std::int32_t p = 2; p <= 1 << 20 && std::abs(frequency) * p < 1; p *= 2) {
      const std::int32_t place[4] = {p, p, p, p};
      frequency = angle(channel, partner, place) / p;
    }
    frequencies.push_back(frequency), partners.push_back(partner - channel);
    std::int64_t stream = 0;
    for (int s = 0; s < 4; ++s) {
      std::int32_t place[4] = {0, 0, 0, 0};
      place[s] = 64;
      if (angle(channel, partner, place) != 0) stream = s;
    }
    streams.push_back(stream);
    angle(channel, partner, one);
  }
  const std::set<std::int64_t> apart(partners.begin(), partners.end());
  std::ostringstream out;
  out << "{\"channels\":" << dims << ",\"first\":" << r.first << ",\"apart\":" << listed(apart)
      << ",\"factor\":" << text(factor) << ",\"frequencies\":" << listed(frequencies);
  if (r.params[2] & GGML_ROPE_TYPE_MROPE) out << ",\"streams\":" << listed(streams);
  if (r.back) out << ",\"back\":true";
  out << ",\"mode\":" << r.params[2] << ",\"original\":" << r.params[4]
      << ",\"base\":" << text(number(r.params[5])) << ",\"rate\":" << text(number(r.params[6]))
      << ",\"ext\":" << text(number(r.params[7])) << ",\"attn\":" << text(number(r.params[8]))
      << ",\"betas\":[" << text(number(r.params[9])) << "," << text(number(r.params[10]))
      << "],\"divided\":" << (r.divisors.empty() ? "false" : "true") << "}";
  return out.str();
}

struct Weights {
  gguf_context* metadata;
  ggml_context* tensors;
};
// As in the file, where it has the tensor; divisors of pairs that it does not have are 1.
void fill(ggml_tensor* t, void* data) {
  const Weights& w = *static_cast<const Weights*>(data);
  std::vector<float> x(std::size_t(ggml_nelements(t)));
  if (const ggml_tensor* own = ggml_get_tensor(w.tensors, t->name)) {
    std::memcpy(x.data(), own->data, std::min(ggml_nbytes(own), x.size() * sizeof(float)));
  } else if (std::strstr(t->name, "rope_f")) {
    std::fill(x.begin(), x.end(), 1.f);
  } else {
    std::mt19937 random(7);
    for (float& v : x) v = 0.05f * (float(random() % 2001) / 1000 - 1);
  }
  if (t->type == GGML_TYPE_F32) return ggml_backend_tensor_set(t, x.data(), 0, x.size() * sizeof(float));
  std::vector<ggml_fp16_t> half(x.size());
  for (std::size_t n = 0; n < x.size(); ++n) half[n] = ggml_fp32_to_fp16(x[n]);
  ggml_backend_tensor_set(t, half.data(), 0, half.size() * sizeof(ggml_fp16_t));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: peer FILE CONTEXT TOKENS\n"), 2;
  llama_log_set(
      [](ggml_log_level level, const char* says, void*) {
        if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(says, stderr);
      },
      nullptr);
  Weights weights{nullptr, nullptr};
  weights.metadata = gguf_init_from_file(argv[1], {false, &weights.tensors});
  if (!weights.metadata) return 1;
  llama_model* model =
      llama_model_init_from_user(weights.metadata, fill, &weights, llama_model_default_params());
  if (!model) return 1;
  Seen seen;
  seen.tokens = std::stoi(argv[3]);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = std::uint32_t(std::stoi(argv[2]));
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.cb_eval = look, params.cb_eval_user_data = &seen;
  llama_context* context = llama_init_from_model(model, params);
  if (!context) return 1;
  seen.rotations.clear(), seen.layers.clear(), seen.turned.clear();
  std::vector<llama_token> tokens(std::size_t(seen.tokens), 3);
  llama_batch batch = llama_batch_get_one(tokens.data(), int(tokens.size()));
  const bool encodes = llama_model_has_encoder(model);
  if (encodes ? llama_encode(context, batch) : llama_decode(context, batch)) return 1;
  std::vector<std::string> rotations(seen.rotations.size());
  for (const auto& [rotation, index] : seen.rotations)
    rotations[std::size_t(index)] = rotation_text(rotation);
  std::string out = "{\"version\":\"" + std::string(llama_version()) + "\",\"ropes\":[";
  for (std::size_t n = 0; n < rotations.size(); ++n) out += (n ? "," : "") + rotations[n];
  out += "],\"layers\":[";
  for (std::size_t n = 0; n < seen.layers.size(); ++n) out += (n ? "," : "") + seen.layers[n];
  std::puts((out + "]}").c_str());
  std::fflush(stdout);
  std::_Exit(0);
}
