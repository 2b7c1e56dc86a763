#include "gnomon/nn/model.h"

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/pass.h"
#include "gnomon/nn/taps_at.h"

namespace gnomon {
namespace {

std::shared_ptr<const ModelParts> parts_of(const Architecture& a) {
  a.check();
  Scheme scheme = make_scheme(a);
  Layout at(a, scheme);
  ModelParts parts{a, std::move(scheme), std::move(at), {}, {}};
  for (std::int64_t l = 0; l < a.layers && !a.has_equal_heads(); ++l) {
    parts.own.push_back(a), parts.own.back().attention = a.attention_in(l);
    parts.keys.push_back(a.keys_of(l));
  }
  return std::make_shared<const ModelParts>(std::move(parts));
}

}  // namespace

Model::Model(const Architecture& a) : parts_(parts_of(a)) {}

const Architecture& Model::architecture() const { return parts_->a; }
const Scheme& Model::scheme() const { return parts_->scheme; }
std::span<const Param> Model::params() const { return parts_->at.params; }
std::int64_t Model::param_count() const { return parts_->at.total; }
std::optional<std::int64_t> Model::positions_end() const { return parts_->scheme.positions_end(); }

std::vector<std::string> Model::tap_names() const { return gnomon::tap_names(parts_->a, parts_->scheme); }

const Param& Model::param(std::string_view name) const {
  for (const auto& p : params()) {
    if (p.spec.name == name) return p;
  }
  throw Error(Fault::bug, text("the model has no parameter '", name, "'"));
}

Floats Model::initial(std::uint64_t seed) const {
  Floats w(param_count());
  for (const auto& p : params()) {
    const Random random(seed, p.spec.name);
    parallel_ranges(p.spec.size(), 1 << 12, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i)
        w[p.offset + i] = float(p.spec.initial(i, p.spec.deviation ? random.normal(std::uint64_t(i)) : 0));
    });
  }
  return w;
}

double Model::training_flops_per_token(std::int64_t T) const {
  const Architecture& a = architecture();
  const double d = double(a.width), pairs = a.causal ? (double(T) + 1) / 2 : double(T);
  double matrices = 0, attended = 0;
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const AttentionRule rule = a.attention_in(l);
    const double q = double(rule.q_width()), crossed = a.cross ? double(T) : 0;
    matrices += d * (double(rule.projected_width()) + q);
    if (a.cross) matrices += d * (double(rule.qkv_width()) + q);
    attended += (pairs + crossed) * q;
    const FeedForward f = a.feed_forward_in(l), shared = f.shared_part();
    const double parts = f.experts ? double(f.experts.active) : 1;
    matrices += d * (parts * double(f.up_width() + f.hidden) + double(f.experts.count));
    if (shared.hidden > 0) matrices += d * double(shared.up_width() + shared.hidden + f.experts.shared_gate);
  }
  matrices += 3 * d * double(a.layers * a.layer_words);
  const double read = double(a.head_width());
  if (a.narrow) matrices += d * read;
  if (a.head.form == HeadForm::transform || (a.narrow && a.head.form != HeadForm::none)) matrices += d * read;
  if (a.head.form != HeadForm::none) matrices += double(a.vocabulary) * read;
  for (const auto& p : params()) {  // matrices that join word and position, once a token
    if (p.spec.decay && p.spec.name.rfind("embed.combination.", 0) == 0) matrices += double(p.spec.size());
  }
  return 6 * matrices + 12 * attended;
}

}  // namespace gnomon
