// The door to oneDNN: no other file knows it. Builds with its version 2 (Debian 12) and version 3 interfaces.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/error.h"
#include "gnomon/core/fixed_team.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/multiply.h"

namespace gnomon::onednn {
namespace {

using dnnl::memory;

// Everything that a compiled product depends on. A model has a few dozen shapes: the map stays that small.
using Key = std::array<std::int64_t, 11>;

// The scratchpad is ours, one for each thread: oneDNN's own is shared by the primitives that a thread made, so two threads
// that execute at once would write over each other (kernels_test: ProductsOfTwoThreads).
// A factor as it lies in memory and as it is multiplied, and what rounds it on the way.
struct Factor {
  memory::desc given, multiplied;
  dnnl::reorder round;
};
struct Product {
  Precision precision;
  Factor a, b;
  memory::desc c, bias, scratchpad;
  dnnl::matmul primitive;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step, std::int64_t column_step,
                    memory::data_type type = memory::data_type::f32) {
  return {{rows, columns}, type, memory::dims{row_step, column_step}};
}
// (rows, columns), `step` apart; as stored, its transpose may be.
Factor factor(Precision precision, std::int64_t rows, std::int64_t columns, bool transposed,
              std::int64_t step) {
  const memory::desc given = transposed ? matrix(rows, columns, 1, step) : matrix(rows, columns, step, 1);
  if (precision == Precision::float32) return {given, given, {}};
  constexpr auto type = memory::data_type::bf16;
  const memory::desc dense =
      transposed ? matrix(rows, columns, 1, rows, type) : matrix(rows, columns, columns, 1, type);
  return {given, dense, dnnl::reorder({engine(), given, engine(), dense})};
}

dnnl::matmul::primitive_desc describe(const Product& p, bool has_bias, const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return has_bias ? dnnl::matmul::primitive_desc(engine(), p.a.multiplied, p.b.multiplied, p.bias, p.c, attr)
                  : dnnl::matmul::primitive_desc(engine(), p.a.multiplied, p.b.multiplied, p.c, attr);
#else
  const auto d = has_bias ? dnnl::matmul::desc(p.a.multiplied, p.b.multiplied, p.bias, p.c)
                          : dnnl::matmul::desc(p.a.multiplied, p.b.multiplied, p.c);
  return {d, attr, engine()};
#endif
}

Product make_product(const Key& key) {
  const auto [M, N, K, a_transposed, b_transposed, accumulate, lda, ldb, ldc, precision, mode] = key;
  Product p;
  p.precision = Precision(precision);
  p.a = factor(p.precision, M, K, a_transposed, lda);
  p.b = factor(p.precision, K, N, b_transposed, ldb);
  p.c = matrix(M, N, ldc, 1);
  p.bias = matrix(1, N, N, 1);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attr.set_post_ops(sum);
  }
  const auto description = describe(p, mode & 1, attr);
  p.scratchpad = description.scratchpad_desc();
  p.primitive = dnnl::matmul(description);
  return p;
}

const Product& product(const Key& key) {
  static std::mutex mutex;
  static std::map<Key, Product> products;
  const std::lock_guard lock(mutex);
  auto found = products.find(key);
  if (found == products.end()) found = products.emplace(key, make_product(key)).first;
  return found->second;
}

memory view(const memory::desc& desc, const float* data) {
  return memory(desc, engine(), const_cast<float*>(data));
}
// The factor as it is multiplied: as it was given, or rounded into `scratch`, where it may be already.
memory multiplied(const Factor& f, const float* data, Scratch& scratch, bool already, dnnl::stream& stream) {
  if (!f.round) return view(f.given, data);
  if (const std::size_t wanted = f.multiplied.get_size() / sizeof(float) + 1; scratch.size() < wanted)
    scratch.resize(wanted);
  const memory rounded = view(f.multiplied, scratch.data());
  if (already) return rounded;
  f.round.execute(stream, {{DNNL_ARG_FROM, view(f.given, data)}, {DNNL_ARG_TO, rounded}});
  return rounded;
}

void execute(const Matmul& s, const float* a, const float* b, float* c, const float* bias) {
  const std::int64_t threads = thread_count();  // baked into the compiled code
  const Key key{s.M,   s.N,   s.K,   s.a_op == Op::transposed,  s.b_op == Op::transposed,        s.accumulate,
                s.lda, s.ldb, s.ldc, std::int64_t(s.precision), threads << 1 | (bias != nullptr)};
  const Product& p = product(key);
  thread_local Scratch scratchpad, left, right;  // as large as this thread's largest product wants
  dnnl::stream stream(engine());
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, multiplied(p.a, a, left, s.same_a, stream)},
                                            {DNNL_ARG_WEIGHTS, multiplied(p.b, b, right, false, stream)},
                                            {DNNL_ARG_DST, view(p.c, c)}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, view(p.bias, bias));
  if (const std::size_t wanted = p.scratchpad.get_size() / sizeof(float) + 1; scratchpad.size() < wanted)
    scratchpad.resize(wanted);
  if (p.scratchpad.get_size() > 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(p.scratchpad, engine(), scratchpad.data()));
  p.primitive.execute(stream, arguments);
  stream.wait();
}

// A team smaller than the one a product was compiled for leaves a part of it uncomputed, and says nothing. So one
// product of small whole numbers, whose sums are exact, is compared with plain loops.
void compare_once(int threads, Precision precision) {
  static std::mutex mutex;
  static std::set<std::pair<int, Precision>> compared;
  const std::lock_guard lock(mutex);
  if (compared.count({threads, precision})) return;
  constexpr std::int64_t M = 256, N = 192, K = 24;
  std::vector<float> a(M * K), b(K * N), c(M * N, -1.0f);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(std::int64_t(i * 7 % 13) - 6);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(std::int64_t(i * 5 % 11) - 5);
  execute({.M = M, .N = N, .K = K, .lda = K, .ldb = N, .ldc = N, .precision = precision}, a.data(), b.data(),
          c.data(), nullptr);
  for (std::int64_t m = 0; m < M; ++m) {
    for (std::int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < K; ++k) sum += a[std::size_t(m * K + k)] * b[std::size_t(k * N + n)];
      if (c[std::size_t(m * N + n)] != sum)
        throw Error(Fault::resource, text(name(), " on ", threads, " threads: a product is wrong: found ",
                                          c[std::size_t(m * N + n)], " instead of ", sum, " in row ", m,
                                          ", column ", n, "; try OMP_NUM_THREADS=1"));
    }
  }
  compared.insert({threads, precision});
}

}  // namespace

std::string name() {
  static const std::pair<dnnl::cpu_isa, const char*> names[] = {
      {dnnl::cpu_isa::sse41, "sse41"},
      {dnnl::cpu_isa::avx, "avx"},
      {dnnl::cpu_isa::avx2, "avx2"},
      {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
      {dnnl::cpu_isa::avx512_core, "avx512_core"},
      {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
      {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
      {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"}};
  const dnnl_version_t* version = dnnl_version();
  const auto isa = dnnl::get_effective_cpu_isa();
  std::string instructions = text("instructions ", int(isa));
  for (const auto& [value, name] : names) {
    if (value == isa) instructions = name;
  }
  return text("oneDNN ", version->major, ".", version->minor, ".", version->patch, " ", instructions);
}

bool multiplies_bfloat16() {
  constexpr int kBf16 = int(dnnl::cpu_isa::avx512_core_bf16);
  return (int(dnnl::get_effective_cpu_isa()) & kBf16) == kBf16;
}

void multiply(const Matmul& s, const float* a, const float* b, float* c, const float* bias) {
  const FixedTeam team;
  try {
    compare_once(thread_count(), s.precision);
    execute(s, a, b, c, bias);
  } catch (const dnnl::error& e) {
    const bool memory_is_out = e.status == dnnl_out_of_memory;
    throw Error(memory_is_out ? Fault::resource : Fault::bug,
                text("oneDNN: product (", s.M, ",", s.K, ")·(", s.K, ",", s.N, "): ", e.what(),
                     memory_is_out ? ": out of memory" : ""));
  }
}

}  // namespace gnomon::onednn
