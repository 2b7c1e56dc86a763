#include "gnomon/pages/study_predictions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/report/page.h"

namespace gnomon::pages {
namespace {

// Only a loss alone is no difference of two.
bool is_difference(const Prediction& p) { return p.is_growth() || !p.minus.empty(); }

std::string verdict_text(const Judged& j) {
  std::string out(name(j.outcome));
  if (!j.why.empty()) out += ": " + j.why;
  if (j.prediction.after) out += text("; written after ", counted(std::size_t(*j.prediction.after), "run"));
  return out;
}

}  // namespace

std::string found_text(const Judged& j, int digits) {
  if (j.found.n == 0) return "–";
  if (!is_difference(j.prediction)) return interval_text(j.found, digits);
  return signed_text(j.found.mean, digits) +
         (std::isnan(j.found.half_width) ? "" : " ± " + fixed(j.found.half_width, digits));
}

std::string predictions_sentence(const std::vector<Judged>& all) {
  if (all.empty()) return "";
  struct Said {
    Outcome outcome;
    const char *one, *more;
  };
  std::string out;
  for (const Said& said :
       {Said{Outcome::held, "held", "held"}, Said{Outcome::not_held, "did not hold", "did not hold"},
        Said{Outcome::undecided, "is undecided", "are undecided"},
        Said{Outcome::not_measurable, "is not measurable", "are not measurable"}}) {
    const auto n =
        std::count_if(all.begin(), all.end(), [&](const Judged& j) { return j.outcome == said.outcome; });
    if (n) out += text(out.empty() ? "" : ", ", n, " ", n == 1 ? said.one : said.more);
  }
  return text("Predicted before the run: ", out, ".");
}

std::string predictions_section(const StudySummary& s) {
  const std::vector<Judged> all = judge(s);
  if (all.empty()) return "";
  report::Table t;
  t.head = {"prediction", "what is measured", "bound", "found, nats per byte", "seeds", "verdict", "source"};
  for (const Judged& j : all) {
    const bool found = j.found.n > 0;
    t.rows.push_back({{j.prediction.says},
                      {measured_text(j.prediction)},
                      {bound_text(j.prediction)},
                      {found_text(j, 4), found ? j.found.mean : 1e9, true},
                      {found ? text(j.found.n) : "–", double(j.found.n), true},
                      {verdict_text(j)},
                      {j.prediction.from.empty() ? "–" : j.prediction.from}});
  }
  return report::draw(t) +
         report::paragraph(
             "Held: the whole 95 % interval over seeds and text lies within the bound. Not held: it lies "
             "outside. Undecided: neither, or one seed. Each is judged alone: of twenty, one may be called "
             "wrongly by chance. Loss at 2× is of the last bytes of windows "
             "twice as long as in training; without a length it is of whole training windows.") +
         report::paragraph(text("SHA-256 of the [[prediction]] tables of study.toml begins with ",
                                fingerprint(s.config.predictions), ": any change of them changes it."));
}

}  // namespace gnomon::pages
