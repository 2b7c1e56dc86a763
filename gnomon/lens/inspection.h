#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/lens/blocks.h"
#include "gnomon/lens/extension.h"
#include "gnomon/lens/masked.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/lens/table.h"
#include "gnomon/lens/watch.h"

namespace gnomon {

// What a trained model does with position, as data. A part that does not apply to a model is absent, and `left_out` says why.

// How large single numbers of vectors are.
struct EntrySizes {
  double deviation, largest, within_two;  // about 0; in size; the share in [−2, 2]
};

// Words and positions as points of a plane: x along the direction in which words vary most, y along the one in which positions
// do, at a right angle to x. The cloud is one word with each position added to it.
struct TablePlane {
  std::vector<std::pair<double, double>> words, positions, cloud;  // kWordsAsked words; all positions, twice
  double word_share, position_share;  // of the words' variance along x; of the positions' along y
  // The position that is farthest from the mean of all, and by how many standard deviations of the axes.
  std::int64_t apart = 0;
  double apart_by = 0;
};
inline constexpr std::int64_t kWordsAsked = 300;

// A table of positions beside the whole table of words, as they are added. kWordsAsked of the words, evenly spread, are asked
// for their neighbours among all.
struct TableLook {
  std::int64_t words, positions, width;
  NormRatio norms;                      // lengths of positions over those of words
  double word_length, position_length;  // mean lengths
  double word_rank, position_rank;      // effective rank (Roy, Vetterli 2007)
  std::int64_t components;              // of positions, with 95 % of their variance
  std::int64_t word_components;         // of words
  double within,
      chance;  // share of the positions' variance in the words' 95 % subspace; its share of all channels
  double mean_cosine;     // between the mean word and the mean position
  double size_of_cosine;  // mean |cosine| of a word and a position
  double channels;        // Spearman correlation over channels: variance of positions, variance of words
  double by_distance, roughness;  // of the table: offset_share of e·eᵀ without its diagonal, roughness()
  double slow;       // share of the positions' variance in the slowest tenth of whole frequencies
  double first_row;  // |e_0 − mean|, over the same of the other rows in the mean
  // When a position is added to a word: how often the nearest of all words is still this one, and how many of its 10
  // nearest words stay; `…_normed`: after the norm of the embedding.
  double identity, identity_normed, recall, recall_normed;
  EntrySizes entries, entries_normed;  // of words; of words with a position, after the norm
  TablePlane plane;
};

// The stream that enters a layer, or leaves the last one. The first token of a window stands apart: in many models it becomes
// far longer than all others and takes what attention has no use for (Sun et al. 2024, arXiv 2402.17762; Xiao et al. 2023,
// arXiv 2309.17453), and would be most of the variance.
struct StreamLook {
  VarianceShares variance;    // of all other places
  VarianceShares half_width;  // 95 %, by jackknife over blocks of windows
  double first_length;        // of the first token, over the mean of the others
  std::optional<PositionProbe> probe;
  std::optional<PositionProbe>
      untrained;  // the null: the same probe in the same architecture with random weights, one draw of ours
};

// Shares of word, position, the rest and biases in the variance of a head's logits (term_shares), means over windows; and the
// half-widths of their 95 % intervals.
struct TermsLook {
  Matrix shares, half_widths;
};

// What a change of a model is told in: nats a scored token more than before, 95 % over windows; or, of a model without a head,
// pooled_change() of its last rows, without an interval.
enum class Measure { loss, loss_of_masked, rows };
Measure measure_of(const Architecture& a);
std::string_view unit_of(Measure measure);  // "nats per token"

struct Change {
  std::string what;          // "positions + 16", "layer 3 without position"
  double value, half_width;  // in the Measure of the model; the half-width is NaN where there is none
};

// Loss over the last tokens of a window of `tokens`, by the way of reading; 95 % over blocks of these last tokens.
struct LongReading {
  std::string way, spec;
  std::int64_t tokens;
  double nats, half_width;
};

struct Inspection {
  Measure measure = Measure::loss;
  std::optional<Masking> masking;        // of Measure::loss_of_masked; nothing where no mask token is known
  std::int64_t window = 0, windows = 0;  // of what is not about long windows
  std::int64_t probed = 0;               // tokens of the windows that probes are asked about
  // Windows behind the terms, the streams, and what is moved or taken away.
  std::int64_t term_windows = 0, stream_windows = 0, changed_windows = 0;
  std::optional<TableLook> table;
  std::vector<TermsLook> terms;                          // of each head of the first layer
  std::vector<std::vector<HeadWatched>> heads;           // [layer][head]
  std::vector<StreamLook> streams;                       // of layers + 1
  std::optional<PositionProbe> word_probe;               // the null: from the words alone
  std::vector<std::vector<std::vector<PairUse>>> pairs;  // [layer looked at][head][pair]
  std::vector<std::int64_t> pair_layers;
  std::vector<double> frequencies;       // radians a token of each pair
  std::vector<Change> shifts, removals;  // removals: of all layers (first), then of each
  struct HeadRemoval {
    std::int64_t layer, head;
    Change change;
  };
  std::vector<HeadRemoval> head_removals;
  std::vector<LossAt> by_place;
  std::optional<BlockMean> loss;  // of the same windows, nats a scored token
  std::int64_t loss_windows = 0, loss_window = 0, loss_tokens = 0;  // loss_tokens: that were scored
  std::vector<LongReading> readings;
  struct LeftOut {
    std::string part, why;
  };
  std::vector<LeftOut> left_out;
};

// The parts, each on its own. Samples are windows of tokens of the model's own tokeniser; they throw Error(usage) where the
// lenses that they are made of do.
TableLook look_at_table(const Trained& m);
std::vector<TermsLook> look_at_terms(const Trained& m, const Sample& sample);
// Variance of every stream, and a probe of positions in the streams of `probed`; nulls are the words alone, and probes of the
// model with numbers as before training (initial(1)).
struct Streams {
  std::vector<StreamLook> looks;
  PositionProbe words;
};
Streams look_at_streams(const Trained& m, const Sample& sample, const std::vector<std::int64_t>& probed);
// What a model makes of a sample, to compare with: losses, or the last rows of a model without a head. Throws Error(usage) where
// no token is scored, and where a loss is not finite.
struct SampleOutcome {
  std::vector<float> losses;
  Matrix rows;
};
SampleOutcome outcome_of(const Trained& m, const Sample& sample);
// `before`: outcome_of() the same sample.
Change look_at_shift(const Trained& m, const Sample& sample, const SampleOutcome& before, double shift);
// Without position in this layer; for layer −1 without any at all.
Change look_without(const Trained& m, const Sample& sample, const SampleOutcome& before, std::int64_t layer);
// Without position in these heads of a layer: their logits become scale·q·k of the projected rows (with norms of heads and a
// soft-cap, where the model has them). Keys that a head does not see it does not see still.
Change look_without_heads(const Trained& m, const Sample& sample, const SampleOutcome& before,
                          std::int64_t layer, const std::vector<std::int64_t>& heads);
LongReading look_beyond(const Trained& m, const WayOfReading& way, const Sample& sample, std::int64_t scored);

}  // namespace gnomon
