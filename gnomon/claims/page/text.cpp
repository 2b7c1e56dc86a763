// Claims as markdown and as JSON, and what is written down of them before a run.
#include "gnomon/core/text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/claims/page/page.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/core/error.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/files/sha256.h"
#include "gnomon/report/figure_json-inl.h"

namespace gnomon::pages {
namespace {

using namespace claims;
using Json = nlohmann::ordered_json;

std::string number_markdown(const FoundNumber& n) {
  const std::string range = asked(n);
  return text(
      "- ", n.name, ": ", shown(n), n.n > 1 ? text(" (n = ", n.n, ")") : "",
      range.empty() ? "" : text(n.fits() ? "; asked for " : "; **not in the range asked for**: ", range),
      "\n");
}

std::string rules_markdown(const Answered& a) {
  if (a.claim->verdicts.empty()) return "";
  std::string out = "*The first rule that applies decides:*\n\n";
  for (const RuleInWords& r : in_words(a.claim->verdicts, a.finding.numbers)) {
    const bool several = r.checks.size() > 1;
    out += text("- ", r.verdict,
                r.checks.empty() ? ""
                : several        ? ", if all of this is so:"
                                 : text(" if ", r.checks[0]),
                "\n");
    for (std::size_t n = 0; several && n < r.checks.size(); ++n) out += text("  - ", r.checks[n], "\n");
  }
  return out + "\n";
}

std::string claim_markdown(const Answered& a, const ClaimsSummary& s) {
  const Claim& c = *a.claim;
  const std::string others = on_other_texts(a, s);
  std::string out =
      text("\n#### ", c.text.says, "\n\n<a id=\"c", c.id, "\"></a>**", reading(a, s), "**",
           a.as_recorded() ? "" : text(" (recorded: ", name(c.recorded), ")"), ". ", a.answer,
           "\n\n- *How sure:* ", how_sure(a, statistical(s.answers)),
           others.empty() ? "" : "\n- *On other texts:* " + others, "\n- *Measured:* ", c.text.method,
           ".\n- *Predicted:* ", c.text.expects, ".\n- *Advice:* ", c.text.advice,
           c.text.amended.empty() ? "" : text("\n- *The rule was changed:* ", c.text.amended),
           c.text.settles.empty() ? "" : text("\n- *Would settle it:* ", c.text.settles, "."),
           "\n- *Measure again:* `gnomon claims ", c.id, c.recipes ? " --text FILE" : "", "`\n\n",
           rules_markdown(a), a.finding.numbers.empty() ? "" : "*Numbers:*\n\n");
  for (const FoundNumber& n : a.finding.numbers) out += number_markdown(n);
  return out;
}

std::string question_markdown(const Question& q, const ClaimsSummary& s) {
  const auto all = of_question(q, s.answers);
  if (all.empty()) return "";
  std::string out = text("\n## ", q.text.title, "\n\n*", state_of(q, s).told, "*: **",
                         interpolated(q.text.answer, s.answers, recorded()), "**\n");
  for (const Layer& layer : layers(q, s.answers)) {
    out += text("\n### ", layer.title, "\n\n", layer.sentences, layer.sentences.empty() ? "" : "\n");
    for (const NumberSource* source : layer.sources)
      out += text("\n*", source->what, ":* `", source->command, "`\n");
    for (const Paper* p : layer.papers)
      out += text("- ", p->author, " (", p->year, "), [", p->title, "](", p->link, "). ", p->finding, "\n");
  }
  out += text("\n### ", counted(all.size(), "claim"), ": ", verdicts(all, s), "\n");
  for (const Answered* a : all) out += claim_markdown(*a, s);
  return out;
}

Json real(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json claim_json(const Answered& a, const ClaimsSummary& s) {
  Json one{{"id", a.claim->id},
           {"question", a.claim->question->key},
           {"says", a.claim->text.says},
           {"verdict", name(a.verdict)},
           {"told", told(*a.claim, a.verdict)},
           {"reading", reading(a, s)},
           {"leaning", leans(a, s)},
           {"decides", explained(a.claim->verdicts, {})},
           {"recorded", name(a.claim->recorded)},
           {"rests_on", name(a.claim->rests_on)},
           {"as_recorded", a.as_recorded()},
           {"answer", a.answer},
           {"how_sure", how_sure(a, statistical(s.answers))},
           {"other_texts", on_other_texts(a, s)},
           {"p", real(a.p)},
           {"p_holm", real(a.p_holm)},
           {"numbers", Json::array()},
           {"figures", Json::array()}};
  for (const FoundNumber& n : a.finding.numbers)
    one["numbers"].push_back({{"key", n.key},
                              {"name", n.name},
                              {"value", real(n.value)},
                              {"half_width", real(n.half_width)},
                              {"from", real(n.from)},
                              {"to", real(n.to)},
                              {"n", n.n},
                              {"digits", n.digits},
                              {"low", real(n.low)},
                              {"high", real(n.high)},
                              {"fits", n.fits()}});
  for (const report::Figure& f : a.finding.figures) one["figures"].push_back(report::figure_json(f));
  return one;
}

Json question_json(const Question& q, const ClaimsSummary& s) {
  Json one{{"key", q.key},
           {"title", q.text.title},
           {"state", state_of(q, s).told},
           {"answer", interpolated(q.text.answer, s.answers, recorded())},
           {"taken", taken_by(q.text.answer)},
           {"layers", Json::array()}};
  for (const Layer& layer : layers(q, s.answers)) {
    Json papers = Json::array();
    for (const Paper* p : layer.papers)
      papers.push_back({{"author", p->author},
                        {"year", p->year},
                        {"title", p->title},
                        {"finding", p->finding},
                        {"link", p->link}});
    one["layers"].push_back(
        {{"title", layer.title}, {"sentences", layer.sentences}, {"taken", layer.taken}, {"papers", papers}});
  }
  return one;
}

Json budget(const Recipe& r) {
  return {
      {"layers", r.layers}, {"width", r.width}, {"length", r.length}, {"batch", r.batch}, {"steps", r.steps}};
}

// The rules as data: what is looked at, under the keys of the numbers.
Json written_before(const Claim& c) {
  return {{"id", c.id},
          {"question", c.question->key},
          {"says", c.text.says},
          {"method", c.text.method},
          {"expects", c.text.expects},
          {"rests_on", name(c.rests_on)},
          {"because", c.text.because},
          {"decides", explained(c.verdicts, {})},
          {"condition", c.text.condition},
          {"settles", c.text.settles},
          {"amended", c.text.amended}};
}

}  // namespace

std::string rules_json() {
  auto all = Json::array();
  for (const Claim* c : all_claims()) all.push_back(written_before(*c));
  return all.dump(1) + "\n";
}
std::string rules_sha256() { return sha256(rules_json()); }

std::string records_json() {
  auto all = Json::array();
  for (const Claim* c : all_claims()) {
    Json one = written_before(*c);
    one["advice"] = c->text.advice;
    one["recorded"] = name(c->recorded);
    one["told"] = told(*c, c->recorded);
    one["trains_models"] = c->recipes != nullptr;
    one["by_intervals"] = needs_seeds(c->verdicts);
    all.push_back(std::move(one));
  }
  return all.dump(1);
}

std::vector<Essay> essay_forms() {
  constexpr struct {
    std::string_view name, markdown;
  } kEssays[] = {
#include "essays.inc"
  };
  std::vector<Essay> out;
  for (const auto& [name, markdown] : kEssays) out.push_back({name, std::string(markdown)});
  return out;
}

std::vector<Essay> essays(const ClaimsSummary& s) {
  std::vector<Essay> out;
  if (s.config.quick) return out;
  for (const Essay& form : essay_forms()) {
    Said told = told_of(form.markdown, s.answers, recorded());
    if (told.missing.empty()) out.push_back({form.name, std::move(told.text)});
  }
  return out;
}

std::string claims_markdown(const ClaimsSummary& s, const MadeBy& how) {
  std::vector<const Answered*> all;
  for (const Answered& a : s.answers) all.push_back(&a);
  std::string out = text("# What the ", how_many_texts(), " texts say, measured\n\nGenerated by `",
                         how.command, "` (", version(), ", ", how.machine, ", ", fixed(s.minutes, 0),
                         " minutes, ", counted(std::size_t(s.trained), "model"), " trained).\n\n",
                         counted(all.size(), "claim"), ": ", verdicts(all, s), ".\n");
  if (const std::string others = of_other_texts(s); !others.empty()) out += text("\n", others, "\n");
  for (const Question* q : questions()) out += question_markdown(*q, s);
  out += "\n## How it was run\n";
  for (const std::string& paragraph : how_it_was_run(s)) out += text("\n", paragraph, "\n");
  for (const auto& [spec, rate] : s.rates)
    out += text(spec == s.rates.begin()->first ? "\n| spec | learning rate |\n|---|---|\n" : "", "| ", spec,
                " | ", shortest(rate), " |\n");
  return out;
}

std::string claims_json(const ClaimsSummary& s, const MadeBy& how) {
  Json all{{"command", how.command},
           {"version", version()},
           {"machine", how.machine},
           {"minutes", s.minutes},
           {"trained", s.trained},
           {"diverged", s.diverged},
           {"text", s.config.text_path.empty() ? "" : text_name(s)},
           {"text_sha256", s.text_sha256},
           {"rules", s.rules.empty() ? text("sha256 ", rules_sha256()) : s.rules},
           {"again", s.again},
           {"quick", s.config.quick},
           {"seeds", s.seeds},
           {"budgets", {{"causal", budget(s.causal)}, {"encoder", budget(s.masked)}}},
           {"rate", s.causal.learning_rate},
           {"rates", Json::object()},
           {"questions", Json::array()},
           {"claims", Json::array()}};
  for (const auto& [spec, rate] : s.rates) all["rates"][spec] = rate;
  for (const Question* q : questions()) {
    if (!of_question(*q, s.answers).empty()) all["questions"].push_back(question_json(*q, s));
  }
  for (const Answered& a : s.answers) all["claims"].push_back(claim_json(a, s));
  return without_unprintables(all.dump()) + "\n";
}

}  // namespace gnomon::pages
