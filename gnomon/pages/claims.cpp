#include "gnomon/pages/claims.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using namespace claims;
using Json = nlohmann::ordered_json;

std::string shown(const Number& n) {
  return std::isnan(n.half_width) ? grouped(n.value, n.digits)
                                  : text(grouped(n.value, n.digits), " ± ", grouped(n.half_width, n.digits));
}
std::string asked(const Number& n) {
  const bool low = std::isfinite(n.low), high = std::isfinite(n.high);
  if (low && high && n.low == n.high) return text("= ", shortest(n.low));
  const auto end = [&](double x) {
    return grouped(x, std::abs(x) >= 1e-3 || x == 0 ? std::max(n.digits, 2) : 10);
  };
  if (low && high) return text(end(n.low), " to ", end(n.high));
  return low ? text("≥ ", end(n.low)) : high ? text("≤ ", end(n.high)) : "";
}

std::string badge(Verdict v) {
  const char* kind[] = {"holds",        "conditional",  "wrong",  "undecided",
                        "no_inference", "unmeasurable", "differs"};
  return text("<span class=\"verdict ", kind[int(v)], "\">", name(v), "</span>");
}

const Answered* find(const std::vector<Answered>& answers, std::string_view id) {
  for (const Answered& a : answers) {
    if (a.claim->id == id) return &a;
  }
  return nullptr;
}

std::string numbers(const Finding& f) {
  report::Table t;
  t.head = {"number", "found", "n", "asked for", ""};
  for (const Number& n : f.numbers)
    t.rows.push_back({{n.name},
                      {shown(n), n.value, true},
                      {text(n.n), double(n.n), true},
                      {asked(n)},
                      {!n.asked() ? ""
                       : n.fits() ? "✓"
                                  : "✗"}});
  return report::draw(t);
}

// What a verdict that no measurement gave rests on, as a sentence; empty for the others.
std::string rests_on(const Claim& c) {
  if (c.rests_on.kind == Basis::Kind::measurement) return "";
  return text("The verdict rests on ",
              c.rests_on.kind == Basis::Kind::argument ? "an argument: " : "a citation: ", c.rests_on.because,
              ". The numbers stand beside it.");
}

std::string claim_html(const Answered& a) {
  const Claim& c = *a.claim;
  const std::string basis = rests_on(c);
  const auto item = [](const char* term, std::string_view content) {
    return text("<dt>", term, "</dt><dd>", report::escape(content), "</dd>");
  };
  std::string figures;
  for (const report::Figure& figure : a.finding.figures) figures += report::draw(figure);
  return text(
      "<h3 class=\"claim\" id=\"c", c.id, "\">", c.id, ". ", report::escape(c.says), "</h3>\n<p>",
      badge(a.verdict), a.as_expected() ? "" : text(" recorded: ", name(c.recorded)), "</p>\n",
      report::paragraph(a.finding.answer), basis.empty() ? "" : report::paragraph(basis), figures,
      "<details><summary>", counted(a.finding.numbers.size(), "number"), ", method, command</summary>\n",
      numbers(a.finding), "<dl>", item("How it is measured", c.method),
      item("What must come out, and why", c.expects), item("What to do about it", c.advice),
      c.verdicts.empty() ? "" : item("What decides", explained(c.verdicts, a.finding.numbers)),
      item("Again", text("gnomon claims ", c.id, c.recipes ? " --text FILE" : "")), "</dl></details>\n");
}

constexpr std::string_view kTexts[] = {
    "000: a blog repost, \"Transformer WE PE\": one joint matrix, four terms, two orthogonal subspaces",
    "001: tensor2tensor issue 1591, \"Why add positional embedding instead of concatenate?\" "
    "(https://github.com/tensorflow/tensor2tensor/issues/1591)",
    "002: StackExchange, on the sum, the rotation and the amplitude of sinusoidal codes",
    "003: blog notes, \"Transformer Position Encoding\": index, clock, circles, survival through layers",
    "004: StackExchange, on implicit order, a normalised index and dot products"};

// The answers to a question, its leading claim first.
std::vector<const Answered*> of_question(const Question& q, const std::vector<Answered>& answers) {
  std::vector<const Answered*> out;
  for (const Answered& a : answers) {
    if (a.claim->question == &q) out.insert(a.claim->id == q.lead ? out.begin() : out.end(), &a);
  }
  return out;
}

std::string left_out(const ClaimsSummary& s) {
  std::string out;
  for (const auto& run : s.diverged)
    out += text(out.empty() ? " Trainings that diverged, left out: " : "; ", run);
  return out.empty() ? "" : out + ".";
}

std::string verdicts(const std::vector<Answered>& answers) {
  constexpr int kVerdicts = int(Verdict::differs) + 1;
  std::size_t counts[kVerdicts] = {};
  for (const Answered& a : answers) ++counts[int(a.verdict)];
  std::string out;
  for (int v = 0; v < kVerdicts; ++v) {
    if (counts[v]) out += text(out.empty() ? "" : ", ", counts[v], " ", name(Verdict(v)));
  }
  return out;
}

std::string text_name(const ClaimsSummary& s) {
  return s.config.text_path.empty() ? "no text" : Path(s.config.text_path).filename().string();
}
std::string version() { return text("gnomon ", GNOMON_VERSION); }

std::string all_verdicts(const std::vector<Answered>& answers) {
  report::Table t;
  t.head = {"claim", "verdict", "in our words", "recorded", "seconds"};
  for (const Answered& a : answers)
    t.rows.push_back({{std::string(a.claim->id)},
                      {std::string(name(a.verdict))},
                      {std::string(a.claim->says)},
                      {std::string(name(a.claim->recorded))},
                      {fixed(a.seconds, 1), a.seconds, true}});
  return text("<div class=\"verdicts\">", report::draw(t), "</div>");
}

std::string how_it_was_run(const ClaimsSummary& s, const MadeBy& how) {
  return report::paragraph(
             text("Models: trained by gnomon on ", text_name(s),
                  "; 2 layers of width 96 on windows of 64 bytes where nothing else is said; ",
                  counted(std::size_t(s.seeds), "seed"),
                  " (models of other depths: at most 3). A seed fixes the start and the order of the "
                  "data, so differences are paired. ± is the half-width of a 95 % t interval over seeds. "
                  "A number with a range asked for must lie in it. Intervals are not corrected for how many "
                  "there are.",
                  left_out(s))) +
         report::preformatted(text(how.command, "\n", version(), "\n", how.machine, "\n", fixed(s.minutes, 1),
                                   " minutes, ", counted(std::size_t(s.trained), "model"),
                                   " trained in them"));
}

std::string claim_markdown(const Answered& a) {
  const Claim& c = *a.claim;
  const std::string basis = rests_on(c);
  std::string out = text(
      "\n### ", c.id, ": ", c.says, "\n\n**", name(a.verdict), "**",
      a.as_expected() ? "" : text(" (recorded: ", name(c.recorded), ")"), ". ", a.finding.answer,
      basis.empty() ? "" : " " + basis, "\n\n*Measured:* ", c.method, ". *Must come out:* ", c.expects,
      ". *Advice:* ", c.advice,
      c.verdicts.empty() ? "" : text(" *Decides:* ", explained(c.verdicts, a.finding.numbers), "."), "\n\n");
  std::size_t exact = 0;
  for (const Number& n : a.finding.numbers) exact += n.asked();
  if (exact)
    out += text("- ", counted(exact, "number"), " within what was asked for",
                a.finding.fits() ? "" : ", **not all**", "\n");
  for (const Number& n : a.finding.numbers) {
    if (!n.asked() || !n.fits())
      out += text("- ", n.name, ": ", shown(n), n.n > 1 ? text(" (n = ", n.n, ")") : "",
                  n.fits() ? "" : text(", asked for ", asked(n)), "\n");
  }
  return out;
}

Json claim_json(const Answered& a) {
  const auto real = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
  Json one{{"id", a.claim->id},
           {"says", a.claim->says},
           {"verdict", name(a.verdict)},
           {"recorded", name(a.claim->recorded)},
           {"rests_on", name(a.claim->rests_on.kind)},
           {"as_expected", a.as_expected()},
           {"answer", a.finding.answer},
           {"numbers", Json::array()}};
  for (const Number& n : a.finding.numbers)
    one["numbers"].push_back({{"key", n.key},
                              {"name", n.name},
                              {"value", real(n.value)},
                              {"half_width", real(n.half_width)},
                              {"n", n.n},
                              {"low", real(n.low)},
                              {"high", real(n.high)},
                              {"fits", n.fits()}});
  return one;
}

}  // namespace

std::string answer_of(const Question& question, const std::vector<Answered>& answers) {
  std::string out;
  std::string_view rest = question.answer;
  for (auto open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
    const auto close = rest.find('}', open), bar = rest.find('|', open);
    if (close == rest.npos || bar > close)
      throw Error(Fault::bug, text("question ", question.key, ": a number is not closed"));
    out += rest.substr(0, open);
    const Answered* a = find(answers, rest.substr(open + 1, bar - open - 1));
    std::string value = "…";
    for (const Number& n : a ? a->finding.numbers : std::vector<Number>()) {
      if (n.key == rest.substr(bar + 1, close - bar - 1)) value = shown(n);
    }
    out += value, rest = rest.substr(close + 1);
  }
  return out + std::string(rest);
}

std::string claims_page(const ClaimsSummary& s, const MadeBy& how) {
  report::Page p("Word + position: every statement and question, measured");
  p.lead(text(counted(s.answers.size(), "claim"),
              " of five texts about how a Transformer gets order, each with a measurement that anyone "
              "can repeat: ",
              verdicts(s.answers), "."));
  if (s.config.quick)
    p.lead(
        "A quick run: one seed, short training. Nothing here about training is evidence; run it without "
        "--quick.");
  for (const Question* q : questions()) {
    std::string html;
    for (const Answered* a : of_question(*q, s.answers)) html += claim_html(*a);
    if (!html.empty())
      p.section(std::string(q->title),
                text("<p><strong>", report::escape(answer_of(*q, s.answers)), "</strong></p>\n", html));
  }
  p.section("All verdicts", all_verdicts(s.answers));
  std::string sources;
  for (const auto source : kTexts) sources += report::paragraph(std::string(source));
  p.section("Sources", sources);
  p.section("How it was run", how_it_was_run(s, how));
  return p.html();
}

std::string claims_markdown(const ClaimsSummary& s, const MadeBy& how) {
  std::string out =
      text("# What the five texts say, measured\n\nGenerated by `", how.command, "` (", version(), ", ",
           how.machine, ", ", fixed(s.minutes, 0), " minutes and ", counted(std::size_t(s.trained), "model"),
           " trained in them, ", counted(std::size_t(s.seeds), "seed"), ", text: ", text_name(s),
           "). ± is a 95 % t interval over seeds.", left_out(s), "\n\n", counted(s.answers.size(), "claim"),
           ": ", verdicts(s.answers), ".\n");
  for (const Question* q : questions()) {
    out += text("\n## ", q->title, "\n\n**", answer_of(*q, s.answers), "**\n");
    for (const Answered* a : of_question(*q, s.answers)) out += claim_markdown(*a);
  }
  return out;
}

std::string claims_json(const ClaimsSummary& s, const MadeBy& how) {
  Json all{{"command", how.command},  {"version", version()}, {"text_sha256", s.text_sha256},
           {"quick", s.config.quick}, {"seeds", s.seeds},     {"claims", Json::array()}};
  for (const Answered& a : s.answers) all["claims"].push_back(claim_json(a));
  return all.dump(1) + "\n";
}

std::string records_json() {
  auto all = Json::array();
  for (const Claim* c : all_claims())
    all.push_back({{"id", c->id},
                   {"question", c->question->key},
                   {"says", c->says},
                   {"method", c->method},
                   {"expects", c->expects},
                   {"advice", c->advice},
                   {"recorded", name(c->recorded)},
                   {"rests_on", name(c->rests_on.kind)},
                   {"because", c->rests_on.because},
                   {"decides", explained(c->verdicts, {})},
                   {"trains_models", c->recipes != nullptr}});
  return all.dump(1);
}

}  // namespace gnomon::pages
