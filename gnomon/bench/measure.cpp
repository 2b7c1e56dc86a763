#include "gnomon/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"

namespace gnomon::bench {
namespace {

constexpr double kRound = 0.1;  // seconds that a round takes at least

double seconds(const std::function<void()>& work, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}
double median(std::vector<double>& x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

}  // namespace

Timing measure(const BenchCase& one, int n) {
  set_thread_count(one.threads);
  const auto work = one.prepare();
  work();  // memory, tables and generated code are there after the first call
  const int times = int(std::clamp(std::ceil(kRound / std::max(seconds(work, 1), 1e-9)), 1.0, 1e6));
  std::vector<double> values, limits, shares;
  for (int i = 0; i < n; ++i) {
    work();  // not timed: between two steps of a training the caches hold the model, and no limit's numbers
    const double took = seconds(work, times), allowed = one.work / rate(one.limit, one.threads);
    values.push_back(one.amount / took), limits.push_back(one.amount / allowed),
        shares.push_back(allowed / took);
  }
  const double share = median(shares);
  const bool operations =
      one.limit.resource == Resource::multiply_f32 || one.limit.resource == Resource::multiply_bf16;
  return {one.name, one.what,       one.unit,       one.threads,
          n,        median(values), median(limits), name(one.limit),
          share,    shares.front(), shares.back(),  operations && one.bytes > 0 ? one.work / one.bytes : 0};
}

std::vector<BenchCase> chosen(std::vector<BenchCase> all, std::span<const std::string> names) {
  if (names.empty()) return all;
  std::vector<std::string_view> known;
  for (const BenchCase& c : all) known.push_back(c.name);
  const auto meant = [](std::string_view name, std::string_view given) {
    return name == given || (name.starts_with(given) && name[given.size()] == '.');
  };
  for (const std::string& given : names) {
    if (std::none_of(known.begin(), known.end(), [&](std::string_view name) { return meant(name, given); }))
      throw unknown("benchmark", given, known);
  }
  std::erase_if(all, [&](const BenchCase& c) {
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& given) { return meant(c.name, given); });
  });
  return all;
}

std::vector<Timing> limits(int threads, int n) {
  constexpr std::int64_t kMega = 1'000'000;
  const std::pair<const char*, Limit> all[] = {
      {"multiply.fp32", {Resource::multiply_f32}},     {"multiply.bf16", {Resource::multiply_bf16}},
      {"scale.1mb", {Resource::scale, kMega}},         {"scale.16mb", {Resource::scale, 16 * kMega}},
      {"scale.512mb", {Resource::scale, 512 * kMega}}, {"copy.1mb", {Resource::copy, kMega}},
      {"copy.16mb", {Resource::copy, 16 * kMega}},     {"copy.512mb", {Resource::copy, 512 * kMega}},
      {"read.512mb", {Resource::read, 512 * kMega}}};
  std::vector<Timing> found;
  for (const auto& [key, limit] : all) {
    if (!has(limit)) continue;
    for (const int t : threads > 1 ? std::vector{1, threads} : std::vector{1}) {
      set_thread_count(t);
      std::vector<double> rates;
      for (int i = 0; i < n; ++i) rates.push_back(rate(limit, t) / 1e9);
      const double middle = median(rates);
      found.push_back({text("limit.", key, ".", t), name(limit), limit.bytes ? "GB/s" : "GFLOP/s", t, n,
                       middle, middle, name(limit), 1, rates.front() / middle, rates.back() / middle});
    }
  }
  return found;
}

}  // namespace gnomon::bench
