// The one call: attention that owns the encodings of a spec.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/attention_inside.h"
#include "tests/nn/attention_rows.h"

namespace gnomon {
namespace {

// Gradients of Σ out·g by central differences of the forward pass in float: three encodings, a soft-cap, a bias, a mask.
TEST(Attention, GradientsAreDifferences) {
  const std::int64_t T = 9;
  Rows rows(T);
  const Attention a("rope_learned+t5+stick_breaking",
                    {.heads = kHeads, .head_dim = kSize, .length = 64, .soft_cap = 3});
  Rows all(T, kHeads);
  Floats w = moved_start(a), bias = normals(kHeads * T * T, 6);
  std::vector<std::uint8_t> mask(std::size_t(T * T));
  for (std::size_t n = 0; n < mask.size(); ++n) mask[n] = n % 4 > 0;
  const Floats g = normals(kB * kHeads * T * kSize, 5);
  const auto input = [&] {
    AttentionInput in = all.input(w);
    in.bias = {bias.data(), 0, T * T, T}, in.mask = {mask.data(), 0, 0, T};
    return in;
  };
  const auto loss = [&] {
    Floats out;
    a.forward(input(), out_view(out, T));
    double sum = 0;
    for (std::size_t n = 0; n < out.size(); ++n) sum += double(out[n]) * g[n];
    return sum;
  };
  Floats out, dq(all.q.size()), dk(all.k.size()), dv(all.v.size()), dw(w.size()), dbias(bias.size());
  const auto saved = a.forward(input(), out_view(out, T));
  const auto view = [&](Floats& x) {
    return heads_first<void>(x.data(), Number::float32, {kB, kHeads, T, kSize});
  };
  a.backward(*saved, heads_first<const void>(g.data(), Number::float32, {kB, kHeads, T, kSize}),
             {.dq = view(dq),
              .dk = view(dk),
              .dv = view(dv),
              .dw = dw,
              .extras = {.bias = {dbias.data(), 0, T * T, T}}});
  const auto expect = [&](Floats& x, const Floats& dx, std::size_t step) {
    for (std::size_t n = 0; n < x.size(); n += step) {
      const float was = x[n];
      x[n] = was + 0.01f;
      const double up = loss();
      x[n] = was - 0.01f;
      const double down = loss();
      x[n] = was;
      ASSERT_NEAR(dx[n], (up - down) / 0.02, 3e-3 * std::max(1.0, std::abs(double(dx[n])))) << n;
    }
  };
  expect(all.q, dq, 97), expect(all.k, dk, 89), expect(all.v, dv, 83), expect(w, dw, 7);
  expect(bias, dbias, 5);
}

// What was kept as numbers alone leads to the same gradients, to the bit; with numbers of another pass it does not.
// A query whose keys the caller hides gives back what one gives whose output nobody asks for: nothing.
TEST(Attention, AQueryThatSeesNothingGivesNothingBack) {
  constexpr std::int64_t T = 23, hidden = 7;
  for (const std::string& name : inside_attention()) {
    SCOPED_TRACE(name);
    AttentionConfig config = grouped();
    config.kv_heads = kHeads;
    const Attention a(name, config);
    const Floats w = moved_start(a), x = normals(kB * T * a.config().width, 3);
    const std::int64_t weights = kHeads * kSize * a.config().width, biases = kHeads * kSize;
    Floats joined = normals(2 * (weights + biases), 4);
    const Projections<const float> projections{joined.data(), joined.data() + weights,
                                               joined.data() + 2 * weights,
                                               joined.data() + 2 * weights + biases};
    const Rows rows(T, kHeads);
    const auto gradients = [&](bool hides) {
      std::vector<std::uint8_t> mask(T * T, 1);
      Floats dout = normals(kB * kHeads * T * kSize, 5), out;
      if (hides) std::fill_n(&mask[hidden * T], T, std::uint8_t{0});
      for (std::int64_t n = 0; n < kB * kHeads; ++n) {
        float* row = &dout[(n * T + hidden) * kSize];
        hides ? std::fill_n(row, kSize, 3.0f) : std::fill_n(row, kSize, 0.0f);
      }
      AttentionInput in = rows.input(w);
      in.mask = {mask.data(), 0, 0, T};
      in.x = heads_first<const void>(x.data(), Number::float32, {kB, 1, T, a.config().width});
      in.projections = &projections;
      Floats dq(rows.q.size()), dk(rows.k.size()), dv(rows.v.size()), dx(x.size()), dw(w.size());
      const auto view = [&](Floats& to) {
        return heads_first<void>(to.data(), Number::float32, {kB, kHeads, T, kSize});
      };
      const auto saved = a.forward(in, out_view(out, T));
      a.backward(*saved, heads_first<const void>(dout.data(), Number::float32, {kB, kHeads, T, kSize}),
                 {view(dq), view(dk), view(dv), dw,
                  heads_first<void>(dx.data(), Number::float32, {kB, 1, T, a.config().width})});
      std::vector<Floats> all{dq, dk, dv, dw};
      if (a.inside().scheme.attention[0].encoding->reads() & kReadsInput) all.push_back(dx);
      return all;
    };
    const std::vector<Floats> found = gradients(true), wanted = gradients(false);
    for (std::size_t n = 0; n < found.size(); ++n)
      for (std::size_t i = 0; i < found[n].size(); ++i)
        ASSERT_NEAR(found[n][i], wanted[n][i], 1e-5 * (1 + std::abs(wanted[n][i]))) << n << " " << i;
  }
}

TEST(Attention, APassGoesOnFromItsNumbers) {
  int resumed = 0;
  for (const std::string& name : inside_attention()) {
    const Attention a(name, {.heads = kHeads, .head_dim = kSize, .length = 64});
    const Floats w = moved_start(a), g = normals(kB * kHeads * kTokens * kSize, 5);
    const Rows rows(kTokens, kHeads);
    const auto gradients = [&](const Attention::Saved& saved) {
      Floats all[3], dw(w.size());
      const auto view = [](Floats& x) {
        x.resize(std::size_t(kB * kHeads * kTokens * kSize));
        return heads_first<void>(x.data(), Number::float32, {kB, kHeads, kTokens, kSize});
      };
      a.backward(saved, heads_first<const void>(g.data(), Number::float32, {kB, kHeads, kTokens, kSize}),
                 {.dq = view(all[0]), .dk = view(all[1]), .dv = view(all[2]), .dw = dw});
      return std::vector<Floats>{all[0], all[1], all[2], dw};
    };
    Floats out;
    const View to = out_view(out, kTokens);
    std::shared_ptr<const Attention::Saved> saved;
    try {
      saved = a.forward(rows.input(w), to);
    } catch (const Error&) {
      continue;  // it reads the layer's input, which is not here
    }
    const Attention::Numbers numbers = Attention::numbers(*saved);
    const Floats lse(numbers.lse.begin(), numbers.lse.end()),
        attended(numbers.attended.begin(), numbers.attended.end());
    const auto wanted = gradients(*saved);
    EXPECT_EQ(gradients(*a.resume(rows.input(w), to, {lse, attended})), wanted) << name;
    Floats shifted = lse;
    for (float& x : shifted) x += 0.5f;
    if (name.find("stick") == name.npos) {  // which has no sum of exponentials
      EXPECT_NE(gradients(*a.resume(rows.input(w), to, {shifted, attended})), wanted) << name;
    }
    EXPECT_THROW(a.resume(rows.input(w), to, {std::span(lse).subspan(1), attended}), Error) << name;
    ++resumed;
  }
  EXPECT_GT(resumed, 30);
}

// Grouped heads are heads whose keys were repeated; so their gradients are sums.
TEST(Attention, GroupsAreRepeatedHeads) {
  const std::int64_t T = 13, group = kHeads / kGroups;
  for (const char* spec : {"rope+alibi", "none", "t5+window(size=5)", "rope_value"}) {
    SCOPED_TRACE(spec);
    const Attention few(spec, grouped()), many(spec, {.heads = kHeads, .head_dim = kSize, .length = 64});
    const Rows rows(T);
    Rows repeated(T, kHeads);
    for (std::int64_t n = 0; n < std::int64_t(repeated.k.size()); ++n) {
      const std::int64_t bh = n / (T * kSize),
                         from = (bh / kHeads * kGroups + bh % kHeads / group) * T * kSize + n % (T * kSize);
      repeated.k[n] = rows.k[from], repeated.v[n] = rows.v[from];
    }
    const Floats w = moved_start(few), g = normals(kB * kHeads * T * kSize, 5);
    Floats a, b, dq(rows.q.size()), dk(rows.k.size()), dv(rows.v.size()), all_q(dq.size()), all_k(dq.size()),
        all_v(dq.size());
    const auto view = [&](Floats& x, std::int64_t heads) {
      return heads_first<void>(x.data(), Number::float32, {kB, heads, T, kSize});
    };
    const auto dout = heads_first<const void>(g.data(), Number::float32, {kB, kHeads, T, kSize});
    few.backward(*few.forward(rows.input(w), out_view(a, T)), dout,
                 {.dq = view(dq, kHeads), .dk = view(dk, kGroups), .dv = view(dv, kGroups)});
    many.backward(*many.forward(repeated.input(w), out_view(b, T)), dout,
                  {.dq = view(all_q, kHeads), .dk = view(all_k, kHeads), .dv = view(all_v, kHeads)});
    for (std::size_t n = 0; n < a.size(); ++n) {
      ASSERT_EQ(a[n], b[n]);
      ASSERT_EQ(dq[n], all_q[n]);
    }
    for (std::int64_t n = 0; n < std::int64_t(dk.size()); ++n) {
      const std::int64_t bg = n / (T * kSize),
                         first = (bg / kGroups * kHeads + bg % kGroups * group) * T * kSize + n % (T * kSize);
      ASSERT_NEAR(dk[n], all_k[first] + all_k[first + T * kSize], 1e-5);
      ASSERT_NEAR(dv[n], all_v[first] + all_v[first + T * kSize], 1e-5);
    }
  }
}

template <class Half>
void expect_halves(Number number, double step) {
  const Rows rows;
  const Attention a("rope+alibi", grouped());
  const AttentionInput in = rows.input({});
  // tokens first, and every number beside one that is none of ours
  const auto stored = [&](const Floats& x, std::int64_t heads, std::vector<std::uint16_t>& bits,
                          Floats& rounded) {
    bits.assign(2 * x.size(), 0x7FFF);
    rounded.resize(x.size());
    ConstView v{bits.data(),
                number,
                {kB, heads, kTokens, kSize},
                {2 * kTokens * heads * kSize, 2 * kSize, 2 * heads * kSize, 2}};
    for (std::int64_t n = 0; n < std::int64_t(x.size()); ++n) {
      const std::int64_t c = n % kSize, t = n / kSize % kTokens, h = n / kSize / kTokens % heads,
                         b = n / kSize / kTokens / heads;
      const Half half(x[n]);
      bits[std::size_t(b * v.steps[0] + h * v.steps[1] + t * v.steps[2] + c * v.steps[3])] = half.bits;
      rounded[n] = float(half);
    }
    return v;
  };
  std::vector<std::uint16_t> q, k, v, out(2 * rows.q.size());
  Rows narrow;
  AttentionInput half = in;
  half.q = stored(rows.q, kHeads, q, narrow.q), half.k = stored(rows.k, kGroups, k, narrow.k);
  half.v = stored(rows.v, kGroups, v, narrow.v);
  const View to{out.data(), number, half.q.extents, half.q.steps};
  a.forward(half, to);
  Floats want, found;
  a.forward(narrow.input({}), out_view(want, kTokens));
  widen(read_only(to), found);
  double off = 0;
  for (std::size_t n = 0; n < want.size(); ++n) {
    ASSERT_NEAR(found[n], want[n], step * std::max(0.01, std::abs(double(want[n])))) << n;
    off = std::max(off, double(std::abs(found[n] - want[n])));
  }
  EXPECT_GT(off, 0);  // it was rounded

  // Gradients of the same rows, each rounded once; dout is in sixteen bits too.
  std::vector<std::uint16_t> g, dq(2 * rows.q.size()), dk(2 * rows.k.size()), dv(2 * rows.v.size());
  Rows wide;
  const ConstView dout = stored(normals(std::int64_t(rows.q.size()), 31), kHeads, g, wide.q);
  const auto view = [&](std::vector<std::uint16_t>& bits, const ConstView& like) {
    return View{bits.data(), number, like.extents, like.steps};
  };
  a.backward(*a.forward(half, to), dout, {view(dq, half.q), view(dk, half.k), view(dv, half.v)});
  Floats fq(rows.q.size()), fk(rows.k.size()), fv(rows.v.size());
  const auto dense = [](Floats& x, std::int64_t heads) {
    return heads_first<void>(x.data(), Number::float32, {kB, heads, kTokens, kSize});
  };
  a.backward(*a.forward(narrow.input({}), out_view(want, kTokens)),
             heads_first<const void>(wide.q.data(), Number::float32, {kB, kHeads, kTokens, kSize}),
             {dense(fq, kHeads), dense(fk, kGroups), dense(fv, kGroups)});
  for (const auto& [bits, like, exact] :
       {std::tuple{&dq, half.q, &fq}, {&dk, half.k, &fk}, {&dv, half.v, &fv}}) {
    widen(read_only(view(*bits, like)), found);
    for (std::size_t n = 0; n < found.size(); ++n)
      ASSERT_NEAR(found[n], (*exact)[n], step * std::max(0.01, std::abs(double((*exact)[n])))) << n;
  }
}
TEST(Attention, Bfloat16ViewsAreWithinTheirRounding) { expect_halves<BFloat16>(Number::bfloat16, 1.0 / 256); }
TEST(Attention, Float16ViewsAreWithinTheirRounding) { expect_halves<Float16>(Number::float16, 1.0 / 2048); }

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "nothing was wrong";
}
void expect_why(const std::function<void()>& f, const std::string& part) {
  const std::string found = why(f);
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

TEST(Attention, WhatDoesNotFitIsAnswered) {
  const auto make = [](const char* spec, AttentionConfig c) { return [=] { Attention(spec, c); }; };
  expect_why(make("rope", {.heads = 6, .kv_heads = 4, .head_dim = 8}),
             "heads is 6; allowed are multiples of kv_heads, 4");
  expect_why(make("rope", {.heads = 4, .head_dim = 7}), "7 channels");
  expect_why(make("sinusoidal", {.heads = 4, .head_dim = 8}), "do not act inside attention");
  expect_why(make("[rope, none]", {.heads = 4, .head_dim = 8}), "do not act inside attention");
  expect_why(make("rope", {.heads = 0, .head_dim = 8}), "heads is 0");
  const Rows rows;
  const Attention a("rope", grouped());
  Floats out;
  const View to = out_view(out, kTokens);
  const auto with = [&](const std::function<void(AttentionInput&)>& change) {
    return [&, change] {
      AttentionInput in = rows.input({});
      change(in);
      a.forward(in, to);
    };
  };
  for (const char* spec : {"pope", "grape", "tupe"}) {
    const Attention by_head(spec, grouped());
    const Floats w = by_head.initial(1);
    expect_why([&] { by_head.forward(rows.input(w), to); }, "as many heads of k as of q");
  }
  expect_why(with([](AttentionInput& in) { in.k.extents[1] = 3; }), "k: found");
  expect_why(with([](AttentionInput& in) { in.q.number = Number(7); }), "found number type 7");
  expect_why(with([](AttentionInput& in) { in.v.data = nullptr; }), "v: data is null");
  expect_why(with([](AttentionInput& in) { in.v.steps[2] = -1; }), "a step of -1");
  Placement broken = Placement::consecutive(0, kTokens);
  broken.values[3] = std::nan("");
  expect_why(with([&](AttentionInput& in) { in.places = &broken; }), "nan");
  expect_why(
      [&] {
        View overlapping = to;
        overlapping.steps[2] = kSize - 1;
        a.forward(rows.input({}), overlapping);
      },
      "overlap");
  KeyCache cache = a.cache(kB, 4);
  const AttentionInput in = rows.input({});
  AttentionInput five = in;
  five.q = some(in.q, 0, 5), five.k = some(in.k, 0, 5), five.v = some(in.v, 0, 5);
  expect_why([&] { a.decode(five, cache, out_view(out, 5)); }, "n is 5; allowed are 0 to 4");
  AttentionInput two = in;
  two.q = some(in.q, 0, 2), two.k = some(in.k, 0, 2), two.v = some(in.v, 0, 2);
  a.decode(two, cache, out_view(out, 2));
  const Placement before = Placement::consecutive(0, 2);
  two.places = &before;
  expect_why([&] { a.decode(two, cache, out_view(out, 2)); },
             "is 0, before the cached ones; allowed are 1 or more");
  const Attention learned("kerple_log", grouped());
  expect_why([&] { learned.forward(rows.input({}), to); }, "w has 0 numbers; its shape needs 8");
}

// One table for every head and token: PoPE's phases in a model of one head.
TEST(Attention, ATableOfOneTokenTurnsEveryToken) {
  const Step step{unsigned(Role::k), Rotate{0, 1, 1, 1, 1, 1, {0.0f}, {1.0f}}};
  Floats rows{1, 0, 2, 0, 3, 0};
  apply(step, Role::k, RowLayout{1, 3, 1, 6, 2, 6}, rows.data());
  EXPECT_EQ(rows, (Floats{0, 1, 0, 2, 0, 3}));
}

// A step of q is none of k: xPos scales them apart, and ALiBi has none.
TEST(Attention, AStepIsOfItsRoles) {
  Floats row(kSize, 1.0f);
  const RowLayout one{1, 1, 1, kSize, kSize, kSize};
  const Attention a("xpos", grouped());
  const Plan plan = a.inside().plan(Placement::consecutive(700, 1), {});
  for (const Step& step : plan.steps) {
    for (const auto& [role, name] :
         {std::pair{Role::q, "q"}, {Role::k, "k"}, {Role::v, "v"}, {Role::out, "out"}}) {
      const auto call = [&, role = role] { apply(step, role, one, row.data()); };
      const auto back = [&, role = role] {
        Step grad = step.zeros();
        apply_backward(step, role, one, row.data(), row.data(), grad);
      };
      const std::string words = text("found rows of ", name);
      for (const auto& f : {std::function<void()>(call), std::function<void()>(back)})
        EXPECT_EQ(why(f).find(words) != std::string::npos, !step.acts_on(role)) << why(f);
    }
  }
  EXPECT_GE(plan.steps.size(), 2u);
}

TEST(Attention, ASoftCapIsAskedWhenItIsMade) {
  for (const float cap :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    expect_why([&] { Attention("rope", {.heads = 2, .head_dim = 8, .soft_cap = cap}); }, "soft_cap is ");
}

// A child that was forked after loops on two threads.
TEST(Attention, AForkedChildHasTheSameBits) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads that are made after such a fork";
#endif
  const int before = thread_count();
  set_thread_count(2);
  const Rows rows;
  const Attention a("rope+t5", grouped());
  const Floats w = moved_start(a);
  Floats parents, own;
  a.forward(rows.input(w), out_view(parents, kTokens));
  KeyCache cache = a.cache(kB, 64);
  a.decode(rows.input(w), cache, out_view(own, kTokens));
  Floats product(300 * 300), again(product.size());
  const Floats left = normals(300 * 300, 4);
  const auto multiply = [&](Floats& to) {
    matmul({.M = 300, .N = 300, .K = 300, .lda = 300, .ldb = 300, .ldc = 300}, left.data(), left.data(),
           to.data());
  };
  multiply(product);
  for (int n = 0; n < 3; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      a.forward(rows.input(w), out_view(own, kTokens));
      multiply(again);
      AttentionInput token = rows.input(w);
      token.q = some(token.q, 0, 1), token.k = some(token.k, 0, 1), token.v = some(token.v, 0, 1);
      Floats one;
      a.decode(token, cache, out_view(one, 1));
      _exit(own == parents && again == product && cache.keys() == kTokens + 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  set_thread_count(before);
}

TEST(Attention, NothingIsAskedOfNothing) {
  const Attention a("rope+alibi", grouped());
  for (const auto& [B, T] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {2, 0}, {0, 0}}) {
    AttentionInput in;
    in.q = heads_first<const void>(nullptr, Number::float32, {B, kHeads, T, kSize});
    in.k = in.v = heads_first<const void>(nullptr, Number::float32, {B, kGroups, T, kSize});
    const View out = heads_first<void>(nullptr, Number::float32, {B, kHeads, T, kSize});
    const auto saved = a.forward(in, out);
    const View none = heads_first<void>(nullptr, Number::float32, {B, kGroups, T, kSize});
    a.backward(*saved, read_only(out), {.dq = out, .dk = none, .dv = none});
  }
}

}  // namespace
}  // namespace gnomon
