// Where there is nothing to look at, a lens refuses with Error(usage) that says so, and never gives a number.
#include <cmath>

#include "gnomon/kernels/loss.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/lens/table.h"
#include "gnomon/nn/block.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

#define EXPECT_REFUSED(expression) EXPECT_TRUE(refuses([&] { (void)(expression); })) << #expression

LogitEdit nothing() {
  return [](auto, auto, Matrix&) {};
}

TEST(LensRefusals, SamplesThatAreNoWindowsAreRefused) {
  const Moved m("learned");
  const Trained look = m.look();
  Sample empty{kTokens, {}, {}}, torn = letters(2), unscored = letters(2), no_length = letters(1),
                                 unknown = letters(1), negative = letters(1);
  torn.inputs.pop_back(), torn.targets.pop_back();
  no_length.T = 0, unknown.inputs[3] = 256, negative.inputs[3] = -1;
  for (auto& target : unscored.targets) target = kUnscored;
  for (const Sample& bad : {empty, torn, no_length, negative, unknown}) {
    EXPECT_REFUSED(streams(look, bad));
    EXPECT_REFUSED(written(look, bad));
    EXPECT_REFUSED(logits(look, bad));
    EXPECT_REFUSED(mean_loss(look, bad));
    EXPECT_REFUSED(loss_with(look, bad, 0, nothing()));
  }
  for (const Sample& bad : {empty, torn, no_length, negative}) EXPECT_REFUSED(bad.first(1));
  EXPECT_REFUSED(mean_loss(look, unscored));
  EXPECT_REFUSED(loss_with(look, unscored, 0, nothing()));
  EXPECT_EQ(streams(look, unscored).size(), 3u);
  EXPECT_REFUSED(letters(2).first(0));
  // A window longer than a learned table.
  Sample longer{18, std::vector<std::int32_t>(18, 'a'), std::vector<std::int32_t>(18, 'b')};
  EXPECT_REFUSED(streams(look, longer));
  EXPECT_REFUSED(written(look, longer));
  EXPECT_REFUSED(mean_loss(look, longer));
  EXPECT_REFUSED(shift_effect(look, letters(1), 8));
  EXPECT_REFUSED(attention_maps(Moved("tupe").look(), 0, Matrix(18, kWidth)));
  // Positions of its own.
  const Placement moved = Placement::consecutive(1, kTokens);
  Placement rows = Placement::of(std::vector<double>(2 * kTokens, 1.0), 2);
  Sample there = letters(2);
  there.placement = &moved;
  EXPECT_NEAR(loss_with(look, there, 0, nothing()), mean_loss(look, there), 1e-6);
  EXPECT_REFUSED(shift_effect(look, there, 1));
  there.placement = &rows;
  EXPECT_REFUSED(mean_loss(look, there));
}

TEST(LensRefusals, PartsThatAModelDoesNotHaveAreRefused) {
  const Moved m("rope");
  const Trained look = m.look();
  const Sample s = letters(2);
  const Matrix h = streams(look, s)[0], first = h.block(0, kTokens);
  for (const std::int64_t no : {-1, 2}) {
    EXPECT_REFUSED(attention_maps(look, no, first));
    EXPECT_REFUSED(projected_rows(look, no, first));
    EXPECT_REFUSED(loss_with(look, s, no, nothing()));
    EXPECT_REFUSED(pair_logits(look, 0, first, no));
    EXPECT_REFUSED(term_maps(look, 0, {first}, no));
  }
  EXPECT_REFUSED(mean_loss(look, s, {.cut = 2}));
  const Matrix narrow(kTokens, kWidth - 1), wide(kTokens, kWidth);
  EXPECT_REFUSED(mean_loss(look, s, {.cut = 1, .removed = &narrow}));
  EXPECT_REFUSED(mean_loss(look, s, {.removed = &wide}));
  EXPECT_REFUSED(attention_maps(look, 0, Matrix(kTokens, kWidth + 1)));
  EXPECT_REFUSED(attention_maps(look, 0, Matrix(0, kWidth)));
  EXPECT_REFUSED(parameter(look, "position.input.table"));
  EXPECT_REFUSED(head_habits(look, 0, h, 2));
  EXPECT_REFUSED(head_habits(look, 0, h, kTokens + 1));
  EXPECT_REFUSED(rotary_use(look, 0, h, 1));
  EXPECT_REFUSED(rotary_use(look, 0, Matrix(0, kWidth), kTokens));
  const Moved none("none");
  EXPECT_REFUSED(term_maps(none.look(), 0, {}, 0));
  EXPECT_REFUSED(term_shares(none.look(), 0, {h}, 1));
  EXPECT_REFUSED(term_shares(none.look(), 0, {h}, kTokens + 1));
  // The parts of the stream would not add up to it.
  EXPECT_REFUSED(written(Moved("every_layer(sinusoidal)").look(), s));
  const Written parts = written(Moved("queries_keys(sinusoidal)").look(), s);
  EXPECT_EQ(squares(parts.position), 0);
}

// What a layer by itself does not know, and what no part of the stream has written.
TEST(LensRefusals, LayersThatBorrowKeysOrScaleTheStream) {
  Architecture a = Moved::architecture("rope", true, Norm::layer);
  a.keys_from = {0};
  const Model borrowing(a);
  const Floats w = borrowing.initial(5);
  const Matrix h = streams({borrowing, w}, letters(1))[1];
  EXPECT_REFUSED(attention_maps({borrowing, w}, 1, h));
  EXPECT_REFUSED(projected_rows({borrowing, w}, 1, h));
  EXPECT_EQ(attention_maps({borrowing, w}, 0, h).weights.size(), std::size_t(kHeads));
  EXPECT_EQ(written({borrowing, w}, letters(1)).attention.size(), std::size_t(kLayers));
  for (const bool scale : {true, false}) {
    Architecture b = Moved::architecture("rope", true, Norm::layer);
    b.layer_scale = scale, b.layer_words = scale ? 0 : 4;
    const Model model(b);
    const Floats x = model.initial(5);
    EXPECT_REFUSED(written({model, x}, letters(1)));
  }
}

TEST(LensRefusals, OrdersThatMoveNothingAreRefused) {
  const Moved m("none");
  const auto windows_of_length = [](std::int64_t T) {
    const auto n = std::size_t(T);
    return Sample{T, std::vector<std::int32_t>(n, 'a'), std::vector<std::int32_t>(n, 'b')};
  };
  EXPECT_REFUSED(equivariance_error(m.look(), windows_of_length(1), 5, 1));
  EXPECT_REFUSED(equivariance_error(m.look(), letters(1), 0, 1));
  EXPECT_REFUSED(swap_difference(m.look(), windows_of_length(1), 5, 1));
  EXPECT_REFUSED(swap_difference(m.look(), windows_of_length(2), 5, 1));
  EXPECT_REFUSED(swap_difference(m.look(), letters(1), 0, 1));
  EXPECT_REFUSED(reversal_pooled(m.look(), windows_of_length(1)));
  EXPECT_REFUSED(shuffle_cost(m.look(), letters(1), kTokens - 1, 1));
  EXPECT_REFUSED(shuffle_cost(m.look(), letters(1), kTokens + 1, 1));
  EXPECT_REFUSED(shuffle_cost(m.look(), letters(1), -1, 1));
  EXPECT_REFUSED(shift_effect(m.look(), letters(1), INFINITY));
}

// A table of numbers that differ by nothing, or by what rounding leaves of 0.1.
TEST(LensRefusals, WhatDoesNotVaryHasNoShares) {
  for (const double value : {0.0, 0.1}) {
    Matrix flat(30, 7), square(7, 7);
    flat.values.assign(flat.values.size(), value), square.values.assign(square.values.size(), value);
    Matrix varied = gaussian(Random(2, "varied"), 30, 7);
    const Spectrum none = spectrum(flat);
    EXPECT_TRUE(none.values.empty());
    EXPECT_REFUSED(none.participation_ratio());
    EXPECT_REFUSED(none.effective_rank());
    EXPECT_REFUSED(none.basis(1));
    EXPECT_REFUSED(energy_within(flat, spectrum(varied).basis(2)));
    EXPECT_REFUSED(overlap(none.basis(0), none.basis(0)));
    EXPECT_REFUSED(overlap_within(flat, 2, 5, 1));
    EXPECT_REFUSED(roughness(flat));
    EXPECT_REFUSED(frequency_energy(flat));
    EXPECT_REFUSED(offset_share(square, Diagonal::with));
    EXPECT_REFUSED(offset_share(square, Diagonal::without));
    EXPECT_REFUSED(causal_offset_share(square, 3));
    EXPECT_REFUSED(monotonicity(square, 3));
    EXPECT_REFUSED(shift_error(flat, 3));
    EXPECT_REFUSED(norm_ratio(varied, flat));
    EXPECT_REFUSED(pearson(flat.values, varied.values));
    EXPECT_REFUSED(spearman(varied.values, flat.values));
    Sample s{5, std::vector<std::int32_t>(30, 'a'), std::vector<std::int32_t>(30, 'b')};
    EXPECT_REFUSED(variance_shares(flat, s));
    EXPECT_REFUSED(neighbour_recall(Matrix(5, 7), varied, 2));
    // Words and positions can still be told apart where the positions are all the same.
    EXPECT_EQ(decode_words(varied, flat).projected, 1);
  }
  EXPECT_REFUSED(symmetric_share(Matrix(4, 4)));
  EXPECT_REFUSED(rotation_share(Matrix(4, 4)));
}

TEST(LensRefusals, TablesOfSizesThatDoNotFitAreRefused) {
  const Matrix table = gaussian(Random(3, "table"), 30, 7), wide = transpose(table), none(0, 7);
  EXPECT_REFUSED(spectrum(none));
  EXPECT_REFUSED(spectrum(table).basis(8));
  EXPECT_REFUSED(random_overlap({10, 4, 11}, 5, 1));
  EXPECT_REFUSED(random_overlap({10, 0, 4}, 5, 1));
  EXPECT_REFUSED(random_overlap({10, 4, 4}, 1, 1));
  EXPECT_REFUSED(roughness(table.block(0, 1)));
  EXPECT_REFUSED(channels(none));
  EXPECT_REFUSED(offset_share(wide, Diagonal::with));
  EXPECT_REFUSED(symmetric_share(wide));
  EXPECT_REFUSED(monotonicity(wide, 2));
  EXPECT_REFUSED(monotonicity(product_transposed(table, table), 0));
  EXPECT_REFUSED(rotation_share(wide));
  EXPECT_REFUSED(causal_offset_share(product_transposed(table, table), 30));
  EXPECT_REFUSED(causal_offset_share(product_transposed(table, table), -2));
  EXPECT_REFUSED(sinusoid_kernel({}, 1));
  EXPECT_REFUSED(shift_error(table, 0));
  EXPECT_REFUSED(shift_error(table, 30));
  EXPECT_REFUSED(norm_ratio(none, table));
  EXPECT_REFUSED(decode_words(none, table));
  EXPECT_REFUSED(decode_positions(table, none));
  EXPECT_REFUSED(decode_positions(table, wide));
  EXPECT_REFUSED(neighbour_recall(table, table, 30));
  EXPECT_REFUSED(neighbour_recall(table, table, 0));
  EXPECT_REFUSED(Neighbourhood(table, {0}, 30));
  EXPECT_REFUSED(Neighbourhood(table, {30}, 3));
  EXPECT_REFUSED(Neighbourhood(table, {}, 3));
  EXPECT_REFUSED(Neighbourhood(table, {0, 1}, 3).kept(table.block(0, 3), Matrix(7, 0)));
  EXPECT_REFUSED(Neighbourhood(table, {0}, 3).kept(table, Matrix(6, 0)));
  EXPECT_REFUSED(overlap_of_two(table, 8, 5, 1));
  EXPECT_REFUSED(probe_positions(table, 1));
  EXPECT_REFUSED(probe_positions(table, 4));
  EXPECT_REFUSED(probe_positions(table, 0));
  EXPECT_REFUSED(probe_labels(table, std::vector<std::int32_t>(29, 1), 3));
  Matrix broken = table;
  broken.values[7] = NAN;
  EXPECT_REFUSED(probe_positions(broken, 3));
  EXPECT_REFUSED(pearson(broken.values, table.values));
  // One window: whatever it holds is its position.
  const Sample one = letters(1);
  EXPECT_REFUSED(variance_shares(gaussian(Random(4, "rows"), kTokens, 7), one));
  EXPECT_REFUSED(variance_shares(table, one));
}

TEST(LensRefusals, APositionTableIsOfAnInputEncodingByItself) {
  const Shape shape{16, 2, 8, 16, true};
  Names tables;
  for (const Entry* entry : encodings()) {
    if (!refuses([&] { (void)position_table(entry->name, shape, 12); }))
      tables.insert(std::string(entry->name));
  }
  EXPECT_EQ(tables, (Names{"binary", "cosine", "multi_sinusoidal", "permuted", "random", "rotated", "sine",
                           "sinusoidal"}));
  EXPECT_REFUSED(position_table("concat(sinusoidal, width=6)", shape, 12));
  EXPECT_REFUSED(position_table("sinusoidal+rope", shape, 12));
  EXPECT_REFUSED(position_table("sinusoidal", shape, 0));
  EXPECT_REFUSED(position_table("permuted", shape, 17));
  EXPECT_REFUSED(position_table("permuted", shape, 12, -1));
}

// Lenses know no block: but where a norm of the stream itself leaves no parts that add up.
TEST(LensRefusals, PartsOfAStreamThatIsNormed) {
  for (const char* block : {"llama", "bert"}) {
    const Model model(
        make_block(block, {.layers = 1, .width = 16, .heads = 2, .length = 16}, Spec::parse("none")));
    const Floats w = model.initial(1);
    const Trained trained{model, w};
    const Sample sample = letters(2);
    EXPECT_EQ(refuses([&] { written(trained, sample); }), std::string(block) == "bert") << block;
    EXPECT_FALSE(refuses([&] { mean_loss(trained, sample, {-1, true}); })) << block;
  }
}

}  // namespace
}  // namespace gnomon
