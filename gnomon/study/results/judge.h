#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/study/results/summary.h"

namespace gnomon {

// What became of a prediction. Its number has a 95 % interval: of losses over seeds and text (crossed_interval), of shares over
// seeds (share_interval), of their differences by t over seeds; a weight is exact. Each is judged alone.
enum class Judgement {
  held,           // the whole interval lies within the bound; of exactly: every run has that share
  not_held,       // the whole interval lies outside
  undecided,      // it does neither, or there is none: one seed
  not_measurable  // there is no such number
};
std::string_view name(Judgement outcome);

struct Judged {
  Prediction prediction;
  Estimate found;                           // nats a byte, or a share; n = 0: nothing
  std::optional<ShareInterval> share = {};  // of a share: its interval, which is not symmetrical
  Judgement outcome;
  std::string why;  // of what is not measurable
};
// Of all predictions of the study, in their order.
std::vector<Judged> judge(const StudySummary& summary);

// Why a study with these settings will not measure it, whatever its runs find; empty: it may.
std::string unmeasurable(const Prediction& p, const StudyConfig& config);

}  // namespace gnomon
