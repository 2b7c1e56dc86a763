#include "gnomon/claims/page/words.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"

namespace gnomon::pages {

using namespace claims;

namespace {

const Answered* find(const std::vector<Answered>& answers, std::string_view id) {
  for (const Answered& a : answers) {
    if (a.claim->id == id) return &a;
  }
  return nullptr;
}

bool is_claim(std::string_view id) {
  return std::any_of(all_claims().begin(), all_claims().end(), [&](const Claim* c) { return c->id == id; });
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string in_words(double p) {
  if (p < 1e-4) return "p < 0.0001";
  return text("p = ", fixed(p, p < .001 ? 5 : p < .01 ? 4 : p < .1 ? 3 : 2));
}

std::string of_p(const Answered& a, const VerdictRule& rule, std::size_t family) {
  std::int64_t seeds = 0;  // of the interval that has fewest
  for (const Check& c : rule.checks) {
    for (const FoundNumber& n : a.finding.numbers) {
      if (of_interval(c) && n.key == c.key) seeds = seeds ? std::min(seeds, n.n) : n.n;
    }
  }
  return text("Intervals over ", seeds, " seeds decide: ", in_words(a.p), ". After Holm's correction for ",
              counted(family, "statistical verdict"), ", ", in_words(a.p_holm), ": the verdict ",
              survives(a) ? "survives" : "does not survive", ".");
}

// Of a verdict that no interval gave.
std::string of_values(const Answered& a, const VerdictRule& rule) {
  std::int64_t most = 1;
  for (const Check& c : rule.checks) {
    for (const FoundNumber& n : a.finding.numbers) {
      if (n.key == c.key && std::isfinite(n.half_width)) most = std::max(most, n.n);
    }
  }
  const auto& all = a.finding.numbers;
  const std::size_t in_range =
      std::size_t(std::count_if(all.begin(), all.end(), [](const FoundNumber& n) { return n.asked(); }));
  const bool ranges = std::all_of(rule.checks.begin(), rule.checks.end(),
                                  [](const Check& c) { return c.kind == Check::Kind::asked; });
  const std::string found =
      ranges ? text(counted(in_range, "number"), in_range == 1 ? " lies" : " lie", " in the range asked for")
             : "the rule compares values";
  if (!a.claim->recipes)
    return text(ranges ? "Algebra, checked without a trained model: " : "Computed without a trained model: ",
                found, ".");
  if (most > 1) return text("Means of ", most, " models; the rule uses no interval.");
  return text("Values without an interval: ", found, ".");
}

std::string steps_of(const Recipe& r) {
  return text(grouped(double(r.steps)), " steps of ", r.batch, " windows of ", r.length, " bytes, ",
              grouped(double(r.steps * r.batch * r.length) / 1e6, 2), " MB in all");
}

std::string left_out(const ClaimsSummary& s) {
  std::string out;
  for (const auto& run : s.diverged)
    out += text(out.empty() ? " Left out, because they diverged: " : "; ", run);
  return out.empty() ? "" : out + ".";
}

// Those that the verdicts of this run are compared with.
std::vector<const OtherText*> beside(const ClaimsSummary& s) {
  std::vector<const OtherText*> out;
  for (const OtherText& t : other_texts()) {
    if (t.text_sha256 != s.text_sha256) out.push_back(&t);
  }
  return out;
}
// A rule that was changed after a text was measured is not tested by it.
bool by_the_same_rule(const OtherText::Found& there, const Claim& c) {
  return there.decides == explained(c.verdicts, {});
}

// How the verdicts by intervals stand beside those of one other text, which their rules had not seen.
std::string of_other_text(const OtherText& other, const ClaimsSummary& s) {
  std::size_t both = 0, same = 0;
  std::string others, younger;
  const auto add = [](std::string& all, const auto&... one) { all += text(all.empty() ? "" : ", ", one...); };
  for (const Answered& a : s.answers) {
    const OtherText::Found* there = other.find(a.claim->id);
    if (!there) continue;
    if (!by_the_same_rule(*there, *a.claim)) {
      add(younger, a.claim->id);
      continue;
    }
    ++both;
    if (there->verdict == name(a.verdict))
      ++same;
    else
      add(others, a.claim->id, " (there “", there->verdict, "”)");
  }
  if (!both) return "";
  return text(" On ", other.what, ", they repeat ", same == both ? "" : text(same, " of "),
              counted(both, "verdict"), " whose rule looks at intervals",
              others.empty() ? "" : text(". They give another verdict to ", others), ". The command was `",
              other.command, "`.",
              younger.empty() ? ""
                              : text(" This text does not test ", younger,
                                     ": what they rest on was changed after it was measured."));
}

// Where the rules come from: they are younger than a full run.
std::string of_rules(const ClaimsSummary& s) {
  std::size_t before = 0, asked = 0, other = 0, told = 0;
  std::string silent;
  for (const Answered& a : s.answers) {
    const EarlierRun::Found* then = earlier_run().find(a.claim->id);
    if (!then) continue;
    ++before;
    if (a.claim->recorded == Verdict::answered) {
      ++asked;
      continue;
    }
    if (then->verdict == name(a.claim->recorded)) continue;
    ++other;
    if (a.claim->text.amended.empty())
      silent += text(silent.empty() ? "" : ", ", a.claim->id);
    else
      ++told;
  }
  std::string out =
      text("Rules and predictions are in docs/claims-rules.json (rules: sha256 ", rules_sha256(), ").");
  if (!s.rules.empty() && s.rules != text("sha256 ", rules_sha256()))
    out += text(" The numbers were measured under earlier ones (", s.rules, "), and are judged by these.");
  if (before)
    out += text(" They are no forecast of this run: a full run of the same claims, on ", earlier_run().what,
                ", came before most of them. Of the ", before, " that it judged, ", asked,
                asked == 1 ? " is a question today and gets" : " are questions today and get",
                " no verdict. Of the other ", before - asked, ", ", other, other == 1 ? " has" : " have",
                " another verdict on record today. For ", told,
                " of these, a note says why the rule was changed",
                silent.empty() ? "" : text("; there is no note for ", silent), ".");
  if (!s.again.empty())
    out += text(" Numbers of ", joined({s.again.begin(), s.again.end()}),
                ", which train no model, were measured again later.");
  return out +
         " “As recorded” is a regression check: an earlier run came to the same verdict. It is no "
         "prediction.";
}

std::string of_rates(const ClaimsSummary& s) {
  if (s.rates.empty())
    return s.config.quick ? text(" The learning rate was not tuned: all models of the text learn at ",
                                 shortest(s.causal.learning_rate), ".")
                          : "";
  const auto listed = [](std::span<const double> rates) {
    std::string all;
    for (const double rate : rates) all += (all.empty() ? "" : ", ") + shortest(rate);
    return all;
  };
  return text(
      " Each spec and depth has its own learning rate: the best of ", listed(Experiment::kRates),
      ", or for an encoder of ", listed(Experiment::kEncoderRates), ". On a task it is the best of ",
      listed(Experiment::kTaskRates),
      ". If the best rate is at an edge, the next one beyond it is tried, at most twice. A rate is "
      "chosen by one training, with a seed and on held-out windows that are used for nothing else. All "
      "losses here are of other windows, which training never shows either.");
}

constexpr std::string_view kTexts[] = {
    "000: a blog repost, \"Transformer WE PE\": one joint matrix, four terms, two orthogonal subspaces",
    "001: tensor2tensor issue 1591, \"Why add positional embedding instead of concatenate?\" "
    "(https://github.com/tensorflow/tensor2tensor/issues/1591)",
    "002: StackExchange, on the sum, the rotation and the amplitude of sinusoidal codes",
    "003: blog notes, \"Transformer Position Encoding\": index, clock, circles, survival through layers",
    "004: StackExchange, on implicit order, a normalised index and dot products"};

}  // namespace

std::string asked(const FoundNumber& n) {
  const bool low = std::isfinite(n.low), high = std::isfinite(n.high);
  if (low && high && n.low == n.high) return text("= ", shortest(n.low));
  const auto end = [&](double x) {
    return grouped(x, std::abs(x) >= 1e-3 || x == 0 ? std::max(n.digits, 2) : 10);
  };
  if (low && high) return text(end(n.low), " to ", end(n.high));
  return low ? text("≥ ", end(n.low)) : high ? text("≤ ", end(n.high)) : "";
}

Said told_of(std::string_view form, const std::vector<Answered>& answers,
             std::span<const NumberSource> sources) {
  return said(form, [&](std::string_view from, std::string_view key) -> const FoundNumber* {
    const auto of = [&](const std::vector<FoundNumber>& numbers) {
      for (const FoundNumber& n : numbers) {
        if (n.key == key) return &n;
      }
      throw Error(Fault::bug, text("a sentence asks for {", from, "|", key, "}, which was not found"));
    };
    if (const Answered* a = find(answers, from))
      return a->verdict == Verdict::unmeasurable ? nullptr : of(a->finding.numbers);
    for (const NumberSource& s : sources) {
      if (s.key == from) return of(s.numbers);
    }
    if (!is_claim(from))
      throw Error(Fault::bug,
                  text("a sentence asks for {", from, "|", key, "}: no claim or record has that name"));
    return nullptr;
  });
}

std::string interpolated(std::string_view form, const std::vector<Answered>& answers,
                         std::span<const NumberSource> sources) {
  std::set<std::string> differing;
  for (const std::string& taken : taken_by(form)) {
    const Answered* a = find(answers, taken.substr(0, taken.find('|')));
    if (a && a->verdict == Verdict::differs) differing.insert(std::string(a->claim->id));
  }
  if (!differing.empty())
    return text("No answer: a number is not what was asked for in ", joined(differing), ".");
  Said told = told_of(form, answers, sources);
  if (told.missing.empty()) return std::move(told.text);
  std::set<std::string> claims;
  for (const std::string& name : told.missing) claims.insert(name.substr(0, name.find('|')));
  return text("Not measured in this run: ", joined(claims), ".");
}

std::size_t statistical(const std::vector<Answered>& answers) {
  return std::size_t(
      std::count_if(answers.begin(), answers.end(), [](const Answered& a) { return !std::isnan(a.p); }));
}
bool survives(const Answered& a) { return a.p_holm < .05; }

std::string how_sure(const Answered& a, std::size_t family) {
  const Claim& c = *a.claim;
  if (a.verdict == Verdict::unmeasurable) return "Not measured: the text lacks what the measurement needs.";
  if (a.verdict == Verdict::differs) return "No verdict: a number is not what was asked for.";
  if (c.rests_on != Basis::measurement)
    return text("The verdict rests on ",
                c.rests_on == Basis::argument ? "an argument: " : "a citation: ", c.text.because,
                ". The numbers do not decide it.");
  if (a.verdict == Verdict::no_inference)
    return "No verdict: a quick run trains one seed, and the rule needs intervals over several seeds.";
  const VerdictRule* rule = applied(c.verdicts, a.finding.numbers);
  if (!rule) throw Error(Fault::bug, text("claim ", c.id, " has a verdict that no rule gave"));
  if (std::any_of(rule->checks.begin(), rule->checks.end(), of_interval)) return of_p(a, *rule, family);
  if (rule->checks.empty())
    return needs_seeds(c.verdicts) ? "No interval decides it: this is the verdict in every other case."
                                   : "No other rule applies: this is the verdict in every other case.";
  return of_values(a, *rule);
}

bool leans(const Answered& a, const ClaimsSummary& s) {
  if (std::isnan(a.p) || a.verdict == Verdict::open) return false;
  for (const OtherText* other : beside(s)) {
    const OtherText::Found* there = other->find(a.claim->id);
    if (there && by_the_same_rule(*there, *a.claim) && there->verdict != name(a.verdict)) return true;
  }
  const VerdictRule* rule = applied(a.claim->verdicts, a.finding.numbers);
  const bool by_values =
      rule && !rule->checks.empty() && std::none_of(rule->checks.begin(), rule->checks.end(), of_interval);
  return !by_values && !survives(a);
}
std::string reading(const Answered& a, const ClaimsSummary& s) {
  return text(leans(a, s) ? "leaning: " : "", told(*a.claim, a.verdict));
}

std::string of_other_texts(const ClaimsSummary& s) {
  if (s.config.quick || s.text_sha256.empty()) return "";
  std::string all;
  for (const OtherText* other : beside(s)) all += of_other_text(*other, s);
  return all.empty() ? ""
                     : "Other texts stand beside this one. Earlier verdicts there were known when some of "
                       "the rules changed." +
                           all;
}

std::string on_other_texts(const Answered& a, const ClaimsSummary& s) {
  std::string all;
  for (const OtherText* other : beside(s)) {
    const OtherText::Found* there = other->find(a.claim->id);
    if (!there) continue;
    all += text(all.empty() ? "" : " ", "On ", other->what, ": ");
    if (!by_the_same_rule(*there, *a.claim))
      all += text("“", there->verdict, "” by a rule that was changed since.");
    else if (a.verdict == Verdict::no_inference)
      all += text("in a full run, “", there->verdict, "”.");
    else
      all += there->verdict == name(a.verdict) ? "the same verdict."
                                               : text("another verdict, “", there->verdict, "”.");
  }
  return all;
}

std::vector<const Answered*> of_question(const Question& q, const std::vector<Answered>& answers) {
  std::vector<const Answered*> out;
  for (const Answered& a : answers) {
    if (a.claim->question == &q) out.insert(a.claim->id == q.text.lead ? out.begin() : out.end(), &a);
  }
  return out;
}

std::string verdicts(const std::vector<const Answered*>& answers, const ClaimsSummary& s) {
  constexpr std::size_t kVerdicts = std::size_t(Verdict::differs) + 1;
  std::size_t counts[kVerdicts] = {};
  for (const Answered* a : answers) ++counts[int(a->verdict)];
  constexpr std::string_view kOfOne[] = {"answered", "holds", "holds under a condition", "wrong", "open"},
                             kOfMore[] = {"answered", "hold", "hold under a condition", "wrong", "open"};
  std::string out;
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    const std::string_view words =
        v >= std::size(kOfOne) ? name(Verdict(v)) : (counts[v] == 1 ? kOfOne : kOfMore)[v];
    if (counts[v]) out += text(out.empty() ? "" : ", ", counts[v], " ", words);
  }
  const auto leaning =
      std::count_if(answers.begin(), answers.end(), [&](const Answered* a) { return leans(*a, s); });
  return leaning ? text(out, "; ", leaning, " of them leaning") : out;
}

std::string_view kind_of(Verdict v) {
  constexpr std::string_view kKinds[] = {"answered", "holds",        "holds_if",     "wrong",
                                         "open",     "no_inference", "unmeasurable", "differs"};
  return kKinds[int(v)];
}

State state_of(const Question& q, const ClaimsSummary& s) {
  const auto all = of_question(q, s.answers);
  const auto is = [&](const Answered* a, Verdict v) { return a->verdict == v; };
  if (std::any_of(all.begin(), all.end(), [&](const Answered* a) { return is(a, Verdict::differs); }))
    return {std::string(name(Verdict::differs)), kind_of(Verdict::differs)};
  if (all.empty() || all.front()->claim->id != q.text.lead) return {"measured in part", "unmeasurable"};
  for (const Verdict v : {Verdict::open, Verdict::no_inference, Verdict::unmeasurable}) {
    if (is(all.front(), v)) return {std::string(name(v)), kind_of(v)};
  }
  if (!told_of(q.text.answer, s.answers, recorded()).missing.empty())
    return {"measured in part", "unmeasurable"};
  return {text(leans(*all.front(), s) ? "leaning: " : "", name(Verdict::answered)),
          kind_of(Verdict::answered)};
}

std::vector<Layer> layers(const Question& q, const std::vector<Answered>& answers) {
  std::vector<Layer> out;
  const auto layer = [&](const char* title, std::string_view sentences) {
    if (sentences.empty()) return;
    Layer one{title, interpolated(sentences, answers, recorded()), taken_by(sentences), {}, {}};
    for (const NumberSource& s : recorded()) {
      const auto is_from = [&](const std::string& number) { return number.starts_with(s.key + "|"); };
      if (std::any_of(one.taken.begin(), one.taken.end(), is_from)) one.sources.push_back(&s);
    }
    out.push_back(std::move(one));
  };
  layer("What follows from algebra", q.text.algebra);
  layer("What models trained here show", q.text.models);
  layer("What published models show", q.text.real);
  Layer papers{"What the literature found", "", {}, {}, {}};
  for (const Paper& p : literature()) {
    if (std::find(p.questions.begin(), p.questions.end(), q.key) != p.questions.end())
      papers.papers.push_back(&p);
  }
  if (!papers.papers.empty()) out.push_back(std::move(papers));
  layer("What would change our mind", q.text.change_our_mind);
  return out;
}

std::span<const std::string_view> texts() { return kTexts; }

std::string text_name(const ClaimsSummary& s) {
  return s.config.text_path.empty() ? "no text" : Path(s.config.text_path).filename().string();
}
std::string version() { return text("gnomon ", GNOMON_VERSION); }

std::string_view how_many_texts() {
  constexpr std::string_view kWords[] = {"no",   "one", "two",   "three", "four",
                                         "five", "six", "seven", "eight", "nine"};
  static_assert(std::size(kTexts) < std::size(kWords));
  return kWords[std::size(kTexts)];
}
bool is_whole(const ClaimsSummary& s) { return s.answers.size() == all_claims().size(); }

namespace {
std::string of_trainings(const ClaimsSummary& s) {
  const bool trains =
      std::any_of(s.answers.begin(), s.answers.end(), [](const Answered& a) { return a.claim->recipes; });
  if (!trains) return "No model was trained: these claims need none.";
  const std::string what = s.config.text_path.empty() ? "tasks alone" : text("one text, ", text_name(s));
  return text("gnomon trained the models on ", what, ": ", s.causal.layers, " layers of width ",
              s.causal.width, " unless a claim says otherwise. Language models see ", steps_of(s.causal),
              "; encoders ", steps_of(s.masked), ".", of_rates(s), " There ",
              s.seeds == 1 ? "is 1 seed" : text("are ", s.seeds, " seeds"),
              ". A seed fixes the initial weights and the order of the data, so differences are paired.",
              left_out(s));
}
}  // namespace

std::vector<std::string> how_it_was_run(const ClaimsSummary& s) {
  const std::size_t family = statistical(s.answers);
  const auto count = [&](auto&& is) {
    return std::size_t(std::count_if(s.answers.begin(), s.answers.end(), is));
  };
  const std::size_t kept = count(survives),
                    undecided = count([](const Answered&a) {
                      return needs_seeds(a.claim->verdicts) && a.verdict == Verdict::open;
                    });
  std::vector<std::string> out;
  out.push_back(of_rules(s));
  out.push_back(of_trainings(s));
  out.push_back(
      "± is the half-width of a 95 % t interval over training seeds; for published models, over windows of a "
      "text. It covers other seeds, but not other "
      "texts, sizes or budgets: there is one text, one sample of it that training never shows, "
      "and one draw of every random table. A number with a range asked for must lie in that range.");
  out.push_back(
      text("A verdict by intervals has a p value: the largest of its checks, two-sided, by Student's t. In "
           "this run ",
           family == 1 ? "1 verdict has" : text(family, " verdicts have"), " one",
           undecided ? text("; ", undecided, " of them are open, which counts as a p of 1") : "",
           ". Holm's step-down method (Holm 1979) corrects them for their number at 5 %: ", kept,
           kept == 1 ? " survives" : " survive",
           ". The rule gives the verdict. It reads “leaning” if an interval decides it that does not "
           "survive the correction, or if another text gives another verdict."));
  return out;
}

}  // namespace gnomon::pages
