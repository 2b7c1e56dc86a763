// Architectures that are not a model's: each gives other numbers.
#pragma once
#include <gtest/gtest.h>

#include "tests/models/opened.h"

namespace gnomon {

// Turns the other pairs of channels; false where nothing turns.
inline bool turn_other_pairs(Spec& spec) {
  bool turns = false;
  const auto change = [&](Named& named) {
    if (named.name != "rope" && named.name != "llama3") return;
    turns = true;
    const auto pairing = std::find_if(named.options.begin(), named.options.end(),
                                      [](const auto& option) { return option.first == "pairing"; });
    if (pairing == named.options.end()) {
      named.options.emplace_back("pairing", "adjacent");  // halves is standard
    } else {
      pairing->second = pairing->second == OptionValue("halves") ? "adjacent" : "halves";
    }
  };
  for (Named& named : spec.attention) change(named);
  for (auto& layer : spec.layers) {
    for (Named& named : layer) change(named);
  }
  return turns;
}

// --- Conventions that are not the model's

// w for another architecture: what has the same name and size; a norm that is not there takes another's numbers.
inline Floats transplanted(const Model& from, const Floats& w, const Model& to) {
  Floats out = to.initial(1);
  const auto of = [&](std::string name) -> const Param* {
    for (const Param& p : from.params()) {
      if (p.spec.name == name) return &p;
    }
    return nullptr;
  };
  const auto instead = [](std::string name, std::string_view word, std::string_view other) {
    const auto at = name.find(word);
    return at == name.npos ? name : name.replace(at, word.size(), other);
  };
  for (const Param& p : to.params()) {
    const std::string& name = p.spec.name;
    for (const std::string& theirs : {name, instead(name, ".norm.", ".norm_after."),
                                      instead(name, "feed_forward.norm.", "attention.norm.")}) {
      const Param* found = of(theirs);
      if (!found || found->spec.size() < p.spec.size()) continue;
      std::copy_n(w.begin() + found->offset, p.spec.size(), out.begin() + p.offset);
      break;
    }
  }
  return out;
}

struct Wrong {
  const char* name;
  bool (*applies)(const Architecture&);
  void (*change)(Architecture&);
};
inline const Wrong kWrong[] = {
    {"no norms of values", [](const Architecture& a) { return a.norm.values; },
     [](Architecture& a) { a.norm.values = false; }},
    {"keys of another layer", [](const Architecture& a) { return !a.keys_from.empty(); },
     [](Architecture& a) {
       const std::int64_t from = a.keys_from.front();
       for (std::int64_t l = 0; l < from; ++l) {
         if (a.attention_in(l).head_dim == a.attention_in(from).head_dim) a.keys_from.front() = l;
       }
     }},
    {"no words of each layer", [](const Architecture& a) { return a.layer_words > 0; },
     [](Architecture& a) { a.layer_words = 0; }},
    {"unscaled layers", [](const Architecture& a) { return a.layer_scale; },
     [](Architecture& a) { a.layer_scale = false; }},
    {"sublayers in turn", [](const Architecture& a) { return a.residual != Residual::in_turn; },
     [](Architecture& a) { a.residual = Residual::in_turn; }},
    {"sublayers in parallel",
     [](const Architecture& a) {
       return a.residual == Residual::in_turn && a.norm.place == NormPlace::before && !a.cross;
     },
     [](Architecture& a) { a.residual = Residual::parallel; }},
    {"an unscaled residual", [](const Architecture& a) { return a.residual_scale != 1; },
     [](Architecture& a) { a.residual_scale = 1; }},
    {"unscaled words", [](const Architecture& a) { return a.word_scale != 1; },
     [](Architecture& a) { a.word_scale = 1; }},
    {"unscaled logits", [](const Architecture& a) { return a.head.scale != 1; },
     [](Architecture& a) { a.head.scale = 1; }},
    {"scaled logits", [](const Architecture& a) { return a.cross && a.head.scale == 1; },
     [](Architecture& a) { a.head.scale = 1 / std::sqrt(double(a.width)); }},
    {"q·k by the width of a head", [](const Architecture& a) { return a.attention.scale != 0; },
     [](Architecture& a) { a.attention.scale = 1.5 * a.attention.scale_of_product(); }},
    {"no limit of q, k and v", [](const Architecture& a) { return a.attention.clip != 0; },
     [](Architecture& a) { a.attention.clip = 0; }},
    {"no norms of q and k", [](const Architecture& a) { return a.norm.qk != QkNorm::none; },
     [](Architecture& a) { a.norm.qk = QkNorm::none, a.norm.qk_form = {}; }},
    {"norms of each head instead of the whole",
     [](const Architecture& a) { return a.norm.qk == QkNorm::whole; },
     [](Architecture& a) { a.norm.qk = QkNorm::own; }},
    {"one gain for all heads", [](const Architecture& a) { return a.norm.qk == QkNorm::own; },
     [](Architecture& a) { a.norm.qk = QkNorm::shared; }},
    {"norms before instead of after",
     [](const Architecture& a) { return a.norm.place == NormPlace::after_sublayer; },
     [](Architecture& a) { a.norm.place = NormPlace::before; }},
    {"no norms after", [](const Architecture& a) { return a.norm.place == NormPlace::before_and_after; },
     [](Architecture& a) { a.norm.place = NormPlace::before; }},
    {"rms instead of layer norm", [](const Architecture& a) { return a.norm.form == NormForm::layer_plain; },
     [](Architecture& a) { a.norm.form = NormForm::rms; }},
    {"no norm of the embedding", [](const Architecture& a) { return a.norm.embedding && a.norm.first; },
     [](Architecture& a) { a.norm.embedding = false; }},
    {"a softmax over all experts",
     [](const Architecture& a) {
       return a.feed_forward.experts && a.feed_forward.experts.routing == Routing::of_chosen;
     },
     [](Architecture& a) { a.feed_forward.experts.routing = Routing::of_all; }},
    {"a softmax over the chosen experts",
     [](const Architecture& a) { return a.feed_forward.experts.routing == Routing::of_all; },
     [](Architecture& a) { a.feed_forward.experts.routing = Routing::of_chosen; }},
    {"one expert less", [](const Architecture& a) { return a.feed_forward.experts.active > 1; },
     [](Architecture& a) { --a.feed_forward.experts.active; }},
    {"a gate without a limit", [](const Architecture& a) { return a.feed_forward.gating == Gating::clamped; },
     [](Architecture& a) { a.feed_forward.gating = Gating::on; }},
    {"a scaled cross attention", [](const Architecture& a) { return a.cross.has_value(); },
     [](Architecture& a) { a.cross->scale = 0; }},
    {"no cross attention", [](const Architecture& a) { return a.cross.has_value(); },
     [](Architecture& a) { a.cross.reset(); }},
    {"no sinks", [](const Architecture& a) { return a.attention.sinks; },
     [](Architecture& a) { a.attention.sinks = false; }},
    {"another activation", [](const Architecture&) { return true; },
     [](Architecture& a) {
       Activation& f = a.feed_forward.activation;
       f = f == Activation::gelu ? Activation::gelu_tanh : Activation::gelu;
     }},
};
// The two forms of GELU are near each other, so that the difference may be small.
inline void expect_wrong_conventions_differ(const OpenedModel& opened, const Expected& e) {
  for (const Wrong& wrong : kWrong) {
    Architecture other = opened.model.architecture();
    if (!wrong.applies(other)) continue;
    wrong.change(other);
    const Model model(other);
    const Floats w = transplanted(opened.model, opened.w, model);
    EXPECT_GT(difference(outputs_of(model, w, e), e.outputs), 1e-4) << wrong.name;
  }
}

}  // namespace gnomon
