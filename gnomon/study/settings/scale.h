#pragma once
#include "gnomon/study/settings/config.h"

namespace gnomon {

// How large a model to train, and how long, for an amount of computing: fitted to runs of many sizes and budgets on the King
// James Bible, in the form of Hoffmann et al. 2022 (arXiv 2203.15556, equation 2). Fit, residuals and runs: docs/scale.md.

// Held-out loss of a model with this many parameters after this many tokens (bytes), in nats a byte, at a tuned rate.
double expected_loss(double parameters, double tokens);

// FLOP a second of one core with AVX-512 that trains a model of this width, one run on each core; measured, docs/scale.md.
double core_speed(std::int64_t width);

// What is 0 in the settings of a study (layers, width, heads, steps, batch, rates) such that it takes about study.minutes of two
// such cores, tuning and evaluation included, and that the expected loss is lowest. What is set stays. Steps that are set do not
// change the sizes: they are those of the study without them. `derived` says what was filled in, and from what.
void fill_in_scale(StudyConfig& config);

}  // namespace gnomon
