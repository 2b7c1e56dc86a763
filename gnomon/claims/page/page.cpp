#include "gnomon/claims/page/page.h"

#include <cmath>

#include "gnomon/claims/page/words.h"
#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

using namespace claims;

std::string badge(std::string_view told, std::string_view kind) {
  return text("<span class=\"verdict ", kind, "\">", report::escape(told), "</span>");
}
std::string badge(const Answered& a, const ClaimsSummary& s) {
  return badge(reading(a, s), kind_of(a.verdict));
}
std::string_view as_recorded(const Answered& a) {
  return a.as_recorded() ? "as recorded" : "not as recorded";
}
std::string command(const Claim& c) { return text("gnomon claims ", c.id, c.recipes ? " --text FILE" : ""); }

std::string numbers(const Finding& f) {
  if (f.numbers.empty()) return "";
  report::Table t;
  t.head = {"number", "found", "n", "asked for", "in range"};
  for (const FoundNumber& n : f.numbers)
    t.rows.push_back({{n.name},
                      {shown(n), n.value, true},
                      {text(n.n), double(n.n), true},
                      {asked(n)},
                      {!n.asked() ? ""
                       : n.fits() ? "✓"
                                  : "✗"}});
  return report::draw(t);
}

// A list, the first entry that applies first.
std::string rules(const Answered& a) {
  std::string list;
  for (const RuleInWords& r : in_words(a.claim->verdicts, a.finding.numbers)) {
    std::string all;
    for (const std::string& c : r.checks) all += text("<li>", report::escape(c), "</li>");
    const std::string when = r.checks.empty()       ? ""
                             : r.checks.size() == 1 ? " if " + report::escape(r.checks[0])
                                                    : ", if all of this is so:<ul>" + all + "</ul>";
    list += text("<li>", r.verdict, when, "</li>");
  }
  return list.empty() ? ""
                      : text("<dt>What decides</dt><dd>The first rule that applies:<ul>", list, "</ul></dd>");
}

// One line; inside it, all that is known of the claim. The figure that the question shows is not drawn again.
std::string claim_html(const Answered& a, const report::Figure* shown_above, const ClaimsSummary& s) {
  const Claim& c = *a.claim;
  const auto item = [](const char* term, std::string_view content) {
    return content.empty() ? "" : text("<dt>", term, "</dt><dd>", report::escape(content), "</dd>");
  };
  std::string figures;
  for (const report::Figure& figure : a.finding.figures)
    figures += &figure == shown_above ? "<p class=\"note\">The first figure is shown above.</p>"
                                      : report::draw(figure);
  return report::folded(
      {.title = text(badge(a, s), " <span class=\"says\">", report::escape(c.text.says), "</span>"),
       .html =
           text(report::paragraph(a.answer), "<p class=\"sure\"><b>How sure:</b> ",
                report::escape(how_sure(a, statistical(s.answers))), "</p>\n", figures, numbers(a.finding),
                "<dl>", item("How it is measured", c.text.method),
                item("Predicted, before the run", c.text.expects), rules(a),
                item("The rule was changed", c.text.amended), item("On other texts", on_other_texts(a, s)),
                item("What would settle it", c.text.settles), item("What to do about it", c.text.advice),
                item("Compared with the record", text(as_recorded(a), " (", name(c.recorded), ")")),
                item("Measure again", command(c)), "</dl><p class=\"note\"><a href=\"#c", c.id, "\">", c.id,
                "</a></p>\n"),
       .id = text("c", c.id),
       .kind = "claim"});
}

std::string papers(const Layer& layer) {
  std::string out;
  for (const Paper* p : layer.papers)
    out += text("<li>", report::escape(text(p->author, " (", p->year, "), ")),
                report::link(p->link, p->title), ". ", report::escape(p->finding), "</li>\n");
  return out.empty() ? "" : "<ul class=\"papers\">" + out + "</ul>\n";
}

std::string layer_html(const Layer& layer) {
  std::string out = layer.sentences.empty() ? "" : report::paragraph(layer.sentences);
  for (const NumberSource* s : layer.sources)
    out += text("<p class=\"note\">", report::escape(s->what), ": <code>", report::escape(s->command),
                "</code></p>\n");
  return report::folded({.title = report::escape(layer.title), .html = out + papers(layer), .kind = "layer"});
}

// The first figure of the leading claim, or of another where the leading one was not measured.
const report::Figure* first_figure(const std::vector<const Answered*>& answers) {
  for (const Answered* a : answers) {
    if (!a->finding.figures.empty()) return &a->finding.figures.front();
  }
  return nullptr;
}

std::string steps(const Question& here, const Question* before, const Question* after) {
  const auto step = [](const Question* q, const char* kind, const char* back, const char* on) {
    return q ? text("<a class=\"", kind, "\" href=\"#", q->key, "\">", back, report::escape(q->text.title),
                    on, "</a>")
             : "";
  };
  return text("<nav class=\"steps\" aria-label=\"questions beside: ", report::escape(here.text.title), "\">",
              step(before, "before", "← ", ""), "<a href=\"#contents\">all questions</a>",
              step(after, "after", "", " →"), "</nav>\n");
}

std::string question_html(const Question& q, const ClaimsSummary& s, const std::string& steps) {
  const auto all = of_question(q, s.answers);
  const report::Figure* figure = first_figure(all);
  std::string folded, claims;
  for (const Layer& layer : layers(q, s.answers)) folded += layer_html(layer);
  for (const Answered* a : all) claims += claim_html(*a, figure, s);
  return text("<p class=\"answer\">", report::escape(interpolated(q.text.answer, s.answers, recorded())),
              "</p>\n", figure ? report::draw(*figure) : "", folded,
              report::folded({.title = text(counted(all.size(), "claim"), ": ", verdicts(all, s)),
                              .html = claims,
                              .kind = "layer"}),
              steps);
}

void add_questions(report::Page& page, const ClaimsSummary& s) {
  std::vector<const Question*> measured;
  for (const Question* q : questions()) {
    if (!of_question(*q, s.answers).empty()) measured.push_back(q);
  }
  for (std::size_t n = 0; n < measured.size(); ++n) {
    const Question& q = *measured[n];
    const State state = state_of(q, s);
    const std::string around =
        steps(q, n ? measured[n - 1] : nullptr, n + 1 < measured.size() ? measured[n + 1] : nullptr);
    page.section({.title = std::string(q.text.title),
                  .html = question_html(q, s, around),
                  .id = std::string(q.key),
                  .mark = badge(state.told, state.kind),
                  .kind = "question"});
  }
}

std::string all_verdicts(const ClaimsSummary& s) {
  const std::vector<Answered>& answers = s.answers;
  report::Table t;
  t.head = {"claim", "verdict", "in our words", "record", "p", "p (Holm)", "seconds"};
  const auto p = [](double x) {
    return report::Table::Cell{std::isnan(x) ? ""
                               : x < 1e-4    ? "< 0.0001"
                                             : fixed(x, 4),
                               std::isnan(x) ? 2 : x, true};
  };
  for (const Answered& a : answers)
    t.rows.push_back({{std::string(a.claim->id)},
                      {text(leans(a, s) ? "leaning: " : "", name(a.verdict))},
                      {std::string(a.claim->text.says)},
                      {std::string(as_recorded(a))},
                      p(a.p),
                      p(a.p_holm),
                      {fixed(a.seconds, 1), a.seconds, true}});
  return report::folded({.title = counted(answers.size(), "claim"),
                         .html = text("<div class=\"verdicts\">", report::draw(t), "</div>"),
                         .kind = "layer"});
}

std::string rates(const ClaimsSummary& s) {
  if (s.rates.empty()) return "";
  report::Table t;
  t.head = {"spec", "learning rate"};
  for (const auto& [spec, rate] : s.rates) t.rows.push_back({{spec}, {shortest(rate), rate, true}});
  return report::folded({.title = "The learning rates found", .html = report::draw(t), .kind = "layer"});
}

std::string how_html(const ClaimsSummary& s, const MadeBy& how) {
  std::string out;
  for (const std::string& paragraph : how_it_was_run(s)) out += report::paragraph(paragraph);
  return text(
      out, rates(s),
      report::preformatted(text(how.command, "\n", version(), "\n", how.machine, "\n", fixed(s.minutes, 1),
                                " minutes, ", counted(std::size_t(s.trained), "model"), " trained")));
}

}  // namespace

std::string claims_page(const ClaimsSummary& s, const MadeBy& how) {
  report::Page p(is_whole(s) ? std::string("Word + position: every statement and question, measured")
                             : text("Word + position: ", s.answers.size(), " of ", all_claims().size(),
                                    " statements and questions, measured"));
  std::vector<const Answered*> all;
  for (const Answered& a : s.answers) all.push_back(&a);
  p.lead(text(counted(all.size(), "claim"), " of ", how_many_texts(),
              " texts about how a Transformer gets order, each with a measurement that anyone can repeat: ",
              verdicts(all, s), "."));
  if (const std::string others = of_other_texts(s); !others.empty()) p.lead(others);
  if (s.config.quick)
    p.lead(
        "A quick run: one seed, short training. Nothing here about training is evidence. For evidence, "
        "run it without --quick.");
  add_questions(p, s);
  p.section("All verdicts", all_verdicts(s));
  std::string sources;
  for (const auto source : texts()) sources += report::paragraph(std::string(source));
  p.section("Sources", sources);
  p.section("How it was run", how_html(s, how));
  return p.html();
}

}  // namespace gnomon::pages
