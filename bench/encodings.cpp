// What every encoding costs in attention and how exact it is, as the table of docs/costs.md.
// Usage: bench_encodings > docs/costs.md, or bench_encodings NAME ... for the rows of some
//
// Time: forward and backward of attention with the encoding's maps and terms, medians of n runs in turn
// with `none` in the same run, one thread. Error: largest difference of the fast path (float32) from the definition
// in double at positions p..p+7; the definition's angles are within 1e-9 of long double there (precision_test).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/kernels/terms.h"
#include "gnomon/nn/layer.h"
#include "gnomon/spec/scheme.h"

using namespace gnomon;

namespace {

constexpr std::int64_t kHeads = 4, kSize = 64;

Floats normals(std::int64_t n, const char* name, double deviation = 1) {
  const Random random(1, name);
  Floats x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = float(deviation * random.normal(std::uint64_t(i)));
  return x;
}

// Attention of B sequences with one encoding, as a layer runs it.
class Attention {
 public:
  Attention(const Entry& entry, std::int64_t B, const Placement& place)
      : entry_(entry),
        place_(place),
        shape_{kHeads * kSize, kHeads, kSize, place.T(), true},
        encoding_(make_encoding(entry.name, shape_)),
        layer_{B, place.T(), {.heads = kHeads, .kv_heads = kHeads, .head_dim = kSize}, true} {
    for (const auto& p : encoding_->params()) {
      const Floats noise = normals(p.size(), p.name.c_str());
      for (std::int64_t i = 0; i < p.size(); ++i) w_.push_back(float(p.initial(i, noise[i])));
    }
    dw_.resize(w_.size());
    const std::int64_t N = B * place.T(), step = row_step(shape_.C);
    x_ = normals(N * step, "x");
    projections_ = normals(2 * shape_.C * (shape_.C + 1), "w", 1 / std::sqrt(double(shape_.C)));
    qkv_ = normals(N * row_step(3 * shape_.C), "qkv");
    dreturned_ = normals(N * step, "d");
    a_.attended.resize(N * step);
    e_.resize(place.T() * shape_.C);
  }
  void run() {
    const auto* input = part<InputPart>(*encoding_);
    const Floats tables = input ? input->tables(place_) : Floats{};
    const Batch batch{place_, tables, w_.data()};
    if (input) input->input(batch, e_.data());
    positions_ = {};
    positions_.acting.push_back({encoding_.get(), w_.data(), dw_.data()});
    positions_.places = &place_;
    positions_.plan = compile(positions_.acting, place_, true);
    positions_.dplan = positions_.plan.zeros();
    positions_.reads_content = encoding_->reads_content();
    a_.projections.qkv = qkv_;
    attention_forward(layer_, positions_, content(), a_);
    Floats dreturned = dreturned_;
    dqkv_.resize(qkv_.size()), dx_.assign(x_.size(), 0.0f), dprojections_.resize(projections_.size());
    const std::int64_t C = shape_.C;
    float* p = dprojections_.data();
    ContentGrad grad{{dx_.data(), row_step(C)},
                     dqkv_.data(),
                     dqkv_.data() + C,
                     {p, p + C * C, p + 2 * C * C, p + 2 * C * C + C}};
    attention_backward(layer_, positions_, content(), {dreturned.data(), dqkv_.data(), grad}, a_);
    compile_backward(positions_.acting, place_, positions_.plan, positions_.dplan);
    if (input) input->input_backward(batch, e_.data(), dw_.data());
    table_numbers_ = std::int64_t(tables.size());
  }
  // Numbers that the encoding keeps beside what `none` keeps.
  double extra_megabytes() const {
    const Plan& plan = positions_.reads_content ? a_.plan : positions_.plan;
    const Terms& t = plan.terms;
    std::size_t n = std::size_t(table_numbers_);
    for (const TermArray& a : kTermArrays) n += 2 * (t.*a.at).size();  // and its gradient
    for (const Step& step : plan.steps) n += (step.learns ? 2 : 1) * step.numbers();
    const AttentionKept& kept = a_.kept;
    n += 2 * (kept.q.size() + kept.k.size() + kept.v.size()) + kept.attended.size();
    for (const Floats& rows : kept.before) n += rows.size();
    n += (entry_.acts & kInput ? e_.size() : 0) + t.first_key.size() + t.end_key.size();
    return double(n) * 4 / 1048576;
  }
  // Largest difference of the fast path from the definition, of what attention returns and of position vectors.
  double error() {
    run();
    const std::int64_t T = place_.T(), C = shape_.C, D = kSize, step = row_step(C),
                       qkv_step = row_step(3 * C);
    std::vector<double> q(T * C), k(q.size()), v(q.size()), x(q.size()), w(w_.begin(), w_.end()),
        p(projections_.begin(), projections_.end());
    for (std::int64_t n = 0; n < T * C; ++n) {
      const std::int64_t h = n / (T * D), t = n / D % T, c = h * D + n % D;
      q[n] = qkv_[t * qkv_step + c], k[n] = qkv_[t * qkv_step + C + c], v[n] = qkv_[t * qkv_step + 2 * C + c];
      x[n] = x_[n / C * step + n % C];
    }
    const Scene scene{
        place_, q, k, w, x, v, {p.data(), p.data() + C * C, p.data() + 2 * C * C, p.data() + 2 * C * C + C}};
    double most = 0;
    const auto* input = part<InputPart>(*encoding_);
    for (std::int64_t n = 0; input && n < T * C; ++n)
      most = std::max(most, std::abs(e_[n] - input->input(scene, n / C, n % C)));
    const Definition definition(*encoding_, scene);
    for (std::int64_t n = 0; n < kHeads * T; ++n) {
      const auto want = definition.output(n / T, n % T);
      const float* found = &a_.attended[n % T * step + n / T * D];
      for (std::int64_t d = 0; d < D; ++d) most = std::max(most, std::abs(found[d] - want[std::size_t(d)]));
    }
    return most;
  }

 private:
  Content content() const {
    const std::int64_t C = shape_.C, step = row_step(3 * C);
    const float* p = projections_.data();
    return {layer_.B,
            layer_.T,
            {x_.data(), row_step(C)},
            {layer_.B, layer_.T, kHeads, layer_.T * step, step, kSize},
            a_.projections.qkv.data(),
            a_.projections.qkv.data() + C,
            {p, p + C * C, p + 2 * C * C, p + 2 * C * C + C}};
  }
  const Entry& entry_;
  const Placement place_;
  const Shape shape_;
  const std::unique_ptr<Encoding> encoding_;
  const AttentionShape layer_;
  Floats w_, dw_, x_, projections_, qkv_, dreturned_, dqkv_, dx_, dprojections_, e_;
  LayerScheme positions_;
  LayerActivations a_;
  std::int64_t table_numbers_ = 0;
};

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

struct Relative {
  double median, least, most;
};
Relative against_none(const Entry& entry, std::int64_t B, std::int64_t T, int n) {
  const Placement place = Placement::consecutive(0, T);
  Attention one(entry, B, place), none(find_encoding("none"), B, place);
  none.run();
  if (seconds([&] { one.run(); }) > 4) n = 1;
  std::vector<double> ratios;
  for (int i = 0; i < n; ++i) {
    const double plain = seconds([&] { none.run(); });
    ratios.push_back(seconds([&] { one.run(); }) / plain);
  }
  return {median(ratios), *std::min_element(ratios.begin(), ratios.end()),
          *std::max_element(ratios.begin(), ratios.end())};
}

std::string error_at(const Entry& entry, double first) {
  try {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", Attention(entry, 1, Placement::consecutive(first, 8)).error());
    return text;
  } catch (const Error&) {
    return "no value";
  }
}

// Why an encoding costs more than a tenth of attention (or six tenths, for cross terms).
const char* reason(unsigned acts, const Encoding& e) {
  if (widths(e).far) return "far keys have a product of their own, and tiles on the border have both";
  if (acts & kRows) return "every pair of tokens has more to compute than a sum: a network, a gate, a table";
  if (widths(e).joined) return "q and k of the product are wider than the head";
  if (acts & kCross) return "a second and third product of the size of q*k, and their gradients";
  if (e.reads_content()) return "its gates or terms are made from the content of every layer";
  if (acts & kQk) return "maps of q and k, in rows of their own where their gradient needs them";
  return "its arrays are made anew for every batch";
}

}  // namespace

int main(int argc, char** argv) {
  const int n = 5;
  const std::int64_t longest = 4096;
  const std::vector<std::string> names(argv + 1, argv + argc);
  set_thread_count(1);
  std::printf(
      "# What encodings cost, and how exact they are\n\n"
      "This page is for those who ask what an encoding adds to attention, in time, memory and error. Speed "
      "against PyTorch "
      "and the machine: [speed.md](speed.md). Made by `build/dev/bench/bench_encodings > docs/costs.md` on "
      "two cores of an "
      "AMD EPYC with AVX-512, Debian 12, g++ 12, one thread.\n\n"
      "- **Time**: causal attention, forward and backward, with everything that the encoding does for one "
      "layer, over "
      "attention with `none` in the same run. The model has %d heads of %d channels. A batch is 4 sequences "
      "of 512 tokens, "
      "or 1 of %d. Median of n = %d ratios [least, most]; n = 1 if a run takes more than 4 s.\n"
      "- **Memory**: what the encoding holds beside `none` at T = %d, in MiB. No encoding holds a (T, T) "
      "array.\n"
      "- **Error**: the largest difference of the float32 path from the definition in double, at eight "
      "positions from the "
      "one named. It covers outputs of attention and position vectors. \"No value\": the encoding has none "
      "there.\n\n"
      "| encoding | T = 512 | T = %d | MiB | error at 10^3 | at 10^5 | at 10^6 "
      "|\n|---|---|---|---|---|---|---|\n",
      int(kHeads), int(kSize), int(longest), n, int(longest), int(longest));
  std::string above;
  for (const Entry* entry : encodings()) {
    if (entry->acts & kPositions) continue;
    if (!names.empty() && std::find(names.begin(), names.end(), entry->name) == names.end()) continue;
    const Relative near = against_none(*entry, 4, 512, n), far = against_none(*entry, 1, longest, n);
    Attention held(*entry, 1, Placement::consecutive(0, longest));
    held.run();
    std::printf("| %s | %.2f [%.2f, %.2f] | %.2f [%.2f, %.2f] | %.2f | %s | %s | %s |\n",
                std::string(entry->name).c_str(), near.median, near.least, near.most, far.median, far.least,
                far.most, held.extra_megabytes(), error_at(*entry, 1e3).c_str(),
                error_at(*entry, 1e5).c_str(), error_at(*entry, 1e6).c_str());
    std::fflush(stdout);
    const double limit = entry->acts & kCross ? 1.6 : 1.1;
    if (std::max(near.median, far.median) > limit) {
      const auto made = make_encoding(entry->name, {kHeads * kSize, kHeads, kSize, 512, true});
      above += "- " + std::string(entry->name) + ": " + reason(entry->acts, *made) + ".\n";
    }
  }
  std::printf(
      "\nSamplers (randomised, shape, cape) act before attention and cost nothing in it.\n\n## Above +10 %% "
      "(cross terms: +60 %%)\n\n%s",
      above.c_str());
}
