// The door to oneDNN: no other file knows it. Builds with its version 2 (Debian 12) and version 3 interfaces.
#include "gnomon/kernels/matmul.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
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

// What a caller leaves to us is filled in.
Matmul with_steps(Matmul s) {
  if (!s.lda) s.lda = s.a_op == Op::transposed ? s.M : s.K;
  if (!s.ldb) s.ldb = s.b_op == Op::transposed ? s.K : s.N;
  if (!s.ldc) s.ldc = s.N;
  return s;
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

// K = 0, where oneDNN may divide by K: an empty sum is 0.
void no_products(const Matmul& s, float* c, const float* bias) {
  for (std::int64_t m = 0; m < s.M; ++m) {
    float* row = c + m * s.ldc;
    if (!s.accumulate) std::fill_n(row, s.N, 0.0f);
    for (std::int64_t n = 0; bias && n < s.N; ++n) row[n] += bias[n];
  }
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
  execute(with_steps({.M = M, .N = N, .K = K}), a.data(), b.data(), c.data(), nullptr);
  for (std::int64_t m = 0; m < M; ++m) {
    for (std::int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < K; ++k) sum += a[std::size_t(m * K + k)] * b[std::size_t(k * N + n)];
      if (c[std::size_t(m * N + n)] != sum)
        throw Error(Fault::resource,
                    text(product_library(), " on ", threads, " threads: a product is wrong: found ",
                         c[std::size_t(m * N + n)], " instead of ", sum, " in row ", m, ", column ", n,
                         "; try OMP_NUM_THREADS=1"));
    }
  }
  compared.insert(threads);
}

}  // namespace

std::string product_library() {
  static const std::pair<dnnl::cpu_isa, const char*> names[] = {
      {dnnl::cpu_isa::sse41, "sse41"},
      {dnnl::cpu_isa::avx, "avx"},
      {dnnl::cpu_isa::avx2, "avx2"},
      {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
      {dnnl::cpu_isa::avx512_core, "avx512_core"},
      {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
      {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"}};
  const dnnl_version_t* version = dnnl_version();
  const auto isa = dnnl::get_effective_cpu_isa();
  std::string instructions = text("instructions ", int(isa));
  for (const auto& [value, name] : names) {
    if (value == isa) instructions = name;
  }
  return text("oneDNN ", version->major, ".", version->minor, ".", version->patch, " ", instructions);
}

void matmul(const Matmul& shape, const float* a, const float* b, float* c, const float* bias) {
  const Matmul s = with_steps(shape);
  const bool ta = s.a_op == Op::transposed, tb = s.b_op == Op::transposed;
  check_extents("matmul",
                {{"M", s.M, 0, kMostNumbers}, {"N", s.N, 0, kMostNumbers}, {"K", s.K, 0, kMostNumbers}});
  check_rows("matmul", {"a", a, ta ? s.M : s.K, {{{ta ? s.K : s.M, s.lda}}}}, true);
  check_rows("matmul", {"b", b, tb ? s.K : s.N, {{{tb ? s.N : s.K, s.ldb}}}}, true);
  check_rows("matmul", {"c", c, s.N, {{{s.M, s.ldc}}}}, true);
  if (s.M == 0 || s.N == 0) return;
  if (s.K == 0) return no_products(s, c, bias);
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

void linear(const Linear& s, const float* x, const float* weight, const float* bias, float* y) {
  matmul({.M = s.N, .N = s.out, .K = s.in, .b_op = Op::transposed, .lda = s.x_step, .ldc = s.y_step}, x,
         weight, y, bias);
}

void linear_backward(const Linear& s, const float* x, const float* weight, const float* dy,
                     const LinearGrad& grad) {
  if (grad.dx)
    matmul({.M = s.N, .N = s.in, .K = s.out, .lda = s.y_step, .ldc = s.x_step}, dy, weight, grad.dx);
  if (grad.dweight) {
    matmul({.M = s.out,
            .N = s.in,
            .K = s.N,
            .a_op = Op::transposed,
            .accumulate = true,
            .lda = s.y_step,
            .ldb = s.x_step},
           dy, x, grad.dweight);
  }
  if (grad.dbias) add_column_sums({s.N, s.out, s.y_step}, dy, grad.dbias);
}

}  // namespace gnomon
