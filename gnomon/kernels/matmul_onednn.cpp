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
using Key = std::array<std::int64_t, 10>;

// The scratchpad is ours, one for each thread: oneDNN's own is shared by the primitives that a thread made, so two threads
// that execute at once would write over each other (kernels_test: ProductsOfTwoThreads).
struct Product {
  memory::desc a, b, c, bias, scratchpad;
  dnnl::matmul primitive;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                    std::int64_t column_step) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{row_step, column_step}};
}

dnnl::matmul::primitive_desc describe(const Product& p, bool has_bias, const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return has_bias ? dnnl::matmul::primitive_desc(engine(), p.a, p.b, p.bias, p.c, attr)
                  : dnnl::matmul::primitive_desc(engine(), p.a, p.b, p.c, attr);
#else
  const auto d = has_bias ? dnnl::matmul::desc(p.a, p.b, p.bias, p.c) : dnnl::matmul::desc(p.a, p.b, p.c);
  return {d, attr, engine()};
#endif
}

Product make_product(const Key& key) {
  const auto [M, N, K, a_transposed, b_transposed, accumulate, lda, ldb, ldc, mode] = key;
  Product p;
  p.a = a_transposed ? matrix(M, K, 1, lda) : matrix(M, K, lda, 1);
  p.b = b_transposed ? matrix(K, N, 1, ldb) : matrix(K, N, ldb, 1);
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

void execute(const Matmul& s, const float* a, const float* b, float* c, const float* bias) {
  const std::int64_t threads = thread_count();  // baked into the compiled code
  const Key key{s.M,   s.N,   s.K,   s.a_op == Op::transposed,        s.b_op == Op::transposed, s.accumulate,
                s.lda, s.ldb, s.ldc, threads << 1 | (bias != nullptr)};
  const Product& p = product(key);
  const auto view = [](const memory::desc& desc, const float* data) {
    return memory(desc, engine(), const_cast<float*>(data));
  };
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, view(p.a, a)}, {DNNL_ARG_WEIGHTS, view(p.b, b)}, {DNNL_ARG_DST, view(p.c, c)}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, view(p.bias, bias));
  thread_local Scratch scratchpad;  // as large as this thread's largest product wants
  if (const std::size_t wanted = p.scratchpad.get_size() / sizeof(float) + 1; scratchpad.size() < wanted)
    scratchpad.resize(wanted);
  if (p.scratchpad.get_size() > 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(p.scratchpad, engine(), scratchpad.data()));
  dnnl::stream stream(engine());
  p.primitive.execute(stream, arguments);
  stream.wait();
}

// A team smaller than the one a product was compiled for leaves a part of it uncomputed, and says nothing. So one
// product of small whole numbers, whose sums are exact, is compared with plain loops.
void compare_once(int threads) {
  static std::mutex mutex;
  static std::set<int> compared;
  const std::lock_guard lock(mutex);
  if (compared.count(threads)) return;
  constexpr std::int64_t M = 256, N = 192, K = 24;
  std::vector<float> a(M * K), b(K * N), c(M * N, -1.0f);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(std::int64_t(i * 7 % 13) - 6);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(std::int64_t(i * 5 % 11) - 5);
  execute({.M = M, .N = N, .K = K, .lda = K, .ldb = N, .ldc = N}, a.data(), b.data(), c.data(), nullptr);
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
  compared.insert(threads);
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

void multiply(const Matmul& s, const float* a, const float* b, float* c, const float* bias) {
  const FixedTeam team;
  try {
    compare_once(thread_count());
    execute(s, a, b, c, bias);
  } catch (const dnnl::error& e) {
    const bool memory_is_out = e.status == dnnl_out_of_memory;
    throw Error(memory_is_out ? Fault::resource : Fault::bug,
                text("oneDNN: product (", s.M, ",", s.K, ")·(", s.K, ",", s.N, "): ", e.what(),
                     memory_is_out ? ": out of memory" : ""));
  }
}

}  // namespace gnomon::onednn
