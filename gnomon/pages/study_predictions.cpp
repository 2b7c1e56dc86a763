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

std::string verdict_text(const Judged& j) {
  std::string out(name(j.outcome));
  if (!j.why.empty()) out += ": " + j.why;
  if (j.prediction.after) out += text("; written after ", counted(std::size_t(*j.prediction.after), "run"));
  return out;
}

}  // namespace

std::string found_text(const Judged& j, int digits) {
  const Prediction& p = j.prediction;
  if (j.found.n == 0) return "–";
  if (j.share)
    return fixed(j.found.mean, digits) +
           (std::isnan(j.share->low)
                ? ""
                : text(" [", fixed(j.share->low, digits), ", ", fixed(j.share->high, digits), "]"));
  if (p.is_weight()) return fixed(j.found.mean, digits);
  if (!p.is_growth() && !p.minus) return interval_text(j.found, digits);
  return signed_text(j.found.mean, digits) +
         (std::isnan(j.found.half_width) ? "" : " ± " + fixed(j.found.half_width, digits));
}

std::string predictions_sentence(const std::vector<Judged>& all) {
  if (all.empty()) return "";
  struct Said {
    Judgement outcome;
    const char *one, *more;
  };
  std::string out;
  for (const Said& said :
       {Said{Judgement::held, "held", "held"}, Said{Judgement::not_held, "did not hold", "did not hold"},
        Said{Judgement::undecided, "is undecided", "are undecided"},
        Said{Judgement::not_measurable, "is not measurable", "are not measurable"}}) {
    const auto n =
        std::count_if(all.begin(), all.end(), [&](const Judged& j) { return j.outcome == said.outcome; });
    if (n) out += text(out.empty() ? "" : ", ", n, " ", n == 1 ? said.one : said.more);
  }
  return text("Predicted before the run: ", out, ".");
}

std::string predictions_table(const std::vector<Told>& told) {
  report::Table t;
  t.head = {"prediction", "verdict", "found", "bound", "what is measured", "seeds", "source"};
  const bool alone = told.size() == 1;
  if (!alone) t.head.insert(t.head.begin() + 1, "study");
  for (const auto& [name, summary] : told) {
    for (const Judged& j : judge(*summary)) {
      const bool found = j.found.n > 0;
      t.rows.push_back({{j.prediction.says},
                        {verdict_text(j)},
                        {found_text(j, 4), found ? j.found.mean : 1e9, true},
                        {bound_text(j.prediction)},
                        {measured_text(j.prediction)},
                        {found ? text(j.found.n) : "–", double(j.found.n), true},
                        {j.prediction.from.empty() ? "–" : j.prediction.from}});
      if (!alone) t.rows.back().insert(t.rows.back().begin() + 1, {name});
    }
  }
  if (t.rows.empty()) return "";
  return report::draw(t) +
         report::paragraph(
             "Held: the whole 95 % interval lies within the bound. Intervals of losses are over seeds and "
             "text, intervals of shares over seeds. Not held: the interval lies outside. Undecided: neither, "
             "or one seed. Exactly: every run has that share. Each prediction is judged alone, so one in "
             "twenty may be judged wrongly by chance. Losses are in nats per byte. At 2×: the loss of the "
             "last bytes of windows twice as long as in training. Without a length: the loss of whole "
             "training windows.");
}

std::string predictions_section(const StudySummary& s) {
  const std::string table = predictions_table({{"", &s}});
  return table.empty() ? ""
                       : table + report::paragraph(text(
                                     "The SHA-256 of the [[prediction]] tables in study.toml begins with ",
                                     fingerprint(s.config.predictions), "; any change to them changes it."));
}

}  // namespace gnomon::pages
