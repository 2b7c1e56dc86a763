// The sum over the shards of a batch: one order for any number of ranks, the gradient of the mean over all targets, and what ranks
// agree on. The ranks are threads here; tests/cluster has them over MPI.
#include "gnomon/nn/shards.h"

#include <bit>
#include <cstring>
#include <mutex>

#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"
#include "tests/nn/model_support.h"
#include "tests/nn/thread_ranks.h"

namespace gnomon {
namespace {

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Numbers of many magnitudes, so that each order of adding them up has bits of its own.
Floats of_shard(std::int64_t s) {
  Floats x = normals(37, 100 + std::uint64_t(s));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(float((std::size_t(s) * 7 + i) % 9));
  return x;
}
// The definition, by recursion: the left half has the largest power of two below the number of shards.
Floats by_definition(std::int64_t first, std::int64_t last) {
  if (last - first == 1) return of_shard(first);
  const auto left = std::int64_t(std::bit_floor(std::uint64_t(last - first - 1)));
  Floats sum = by_definition(first, first + left);
  const Floats right = by_definition(first + left, last);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}
ShardTree sums_over(std::int64_t shards, const IndexRange& own) {
  ShardTree tree(shards);
  for (std::int64_t s = own.first; s < own.last; ++s) tree.add({{s, s + 1}, double(s), of_shard(s)});
  return tree;
}

TEST(Shards, AreAddedUpAsATree) {
  for (std::int64_t shards = 1; shards <= 17; ++shards) {
    ShardTree tree = sums_over(shards, {0, shards});
    ASSERT_EQ(tree.sums().size(), 1u) << shards;
    const ShardSum all = tree.take();
    EXPECT_TRUE(same_bits(all.gradient, by_definition(0, shards))) << shards;
    EXPECT_EQ(all.loss, double(shards * (shards - 1) / 2));
    EXPECT_TRUE(tree.sums().empty());
  }
  // One after the other they would be another number.
  Floats in_order = of_shard(0);
  for (std::int64_t s = 1; s < 4; ++s) {
    const Floats next = of_shard(s);
    for (std::size_t i = 0; i < next.size(); ++i) in_order[i] += next[i];
  }
  EXPECT_FALSE(same_bits(in_order, by_definition(0, 4)));
}

TEST(Shards, HaveTheSameSumOnAnyNumberOfRanks) {
  for (std::int64_t shards = 1; shards <= 9; ++shards) {
    const Floats want = by_definition(0, shards);
    for (int ranks = 1; ranks <= int(shards); ++ranks) {
      std::vector<Floats> found(static_cast<std::size_t>(ranks), Floats(want.size()));
      std::vector<double> losses(static_cast<std::size_t>(ranks), -1);
      const auto errors = on_ranks(ranks, [&](ThreadRank& rank) {
        const auto r = std::size_t(rank.rank());
        const ShardTree own = sums_over(shards, share_of_rank(shards, rank.rank(), ranks));
        AllReduce all_reduce(rank, shards);
        for (int again = 0; again < 2; ++again) losses[r] = all_reduce(own.sums(), found[r]);
      });
      for (std::size_t r = 0; r < found.size(); ++r) {
        ASSERT_EQ(errors[r], "");
        EXPECT_TRUE(same_bits(found[r], want)) << shards << " shards, rank " << r << " of " << ranks;
        EXPECT_EQ(losses[r], double(shards * (shards - 1) / 2));
      }
    }
  }
}

// Each rank sends a slice of its sum to each other, and each other its slice of the sum of all: 2 (R − 1) / R gradients a rank.
TEST(Shards, AreSentOnceWhereAPowerOfTwoIsSharedByOne) {
  const std::int64_t numbers = 1000, shards = 8;
  for (const int ranks : {2, 4, 8}) {
    std::size_t bytes = 0;
    on_ranks(
        ranks,
        [&](ThreadRank& rank) {
          ShardTree tree(shards);
          const IndexRange own = share_of_rank(shards, rank.rank(), ranks);
          for (std::int64_t s = own.first; s < own.last; ++s) tree.add({{s, s + 1}, 0, Floats(numbers)});
          Floats all(numbers);
          AllReduce(rank, shards)(tree.sums(), all);
        },
        &bytes);
    const std::size_t losses = std::size_t(ranks * (ranks - 1)) * sizeof(double);
    EXPECT_EQ(bytes, losses + std::size_t(2 * (ranks - 1) * numbers) * sizeof(float)) << ranks;
  }
}

// --- Training

constexpr std::int64_t kBatch = 4, kLength = 9;

// Sequences with very different numbers of targets, as masks of an encoder give them; the first has one.
struct Uneven {
  std::vector<std::int32_t> inputs, targets;
  explicit Uneven(std::uint64_t step) {
    const Random random(step, "uneven");
    for (std::int64_t n = 0; n < kBatch * kLength; ++n) {
      const std::int64_t b = n / kLength, t = n % kLength;
      inputs.push_back(std::int32_t(random.below(2 * std::uint64_t(n), 256)));
      targets.push_back(t < 1 + 2 * b ? std::int32_t(random.below(2 * std::uint64_t(n) + 1, 256))
                                      : kUnscored);
    }
  }
  Tokens tokens() const { return {kBatch, kLength, inputs, targets}; }
};
TrainConfig config_of(std::int64_t shards) {
  TrainConfig config;
  config.steps = 5, config.batch = kBatch, config.shards = shards;
  return config;
}
Architecture encoder(const std::string& spec) {
  return make_block("bert", {.layers = 2, .width = 16, .heads = 2, .length = kLength}, Spec::parse(spec));
}

struct State {
  std::vector<double> losses;
  Floats w, m, v;
  bool operator==(const State& other) const {
    return losses == other.losses && same_bits(w, other.w) && same_bits(m, other.m) && same_bits(v, other.v);
  }
};
State trained(const Architecture& model, std::int64_t shards, Ranks* ranks = nullptr) {
  Trainer trainer(model, config_of(shards), 1, ranks);
  trainer.share();
  State state;
  for (std::uint64_t step = 0; step < 5; ++step) state.losses.push_back(trainer.train(Uneven(step).tokens()));
  state.w = trainer.w, state.m = trainer.m, state.v = trainer.v;
  return state;
}

TEST(Shards, TrainToTheSameBitsOnAnyNumberOfRanks) {
  set_thread_count(1);
  for (const std::string spec : {"rope+t5", "learned", "cape"}) {
    const State alone = trained(encoder(spec), 4);
    EXPECT_FALSE(trained(encoder(spec), 1) == alone);  // other sums: so the bits could differ
    for (const int ranks : {1, 2, 3, 4}) {
      std::vector<State> found(static_cast<std::size_t>(ranks));
      const auto errors = on_ranks(ranks, [&](ThreadRank& rank) {
        found[std::size_t(rank.rank())] = trained(encoder(spec), 4, &rank);
      });
      for (std::size_t r = 0; r < found.size(); ++r) {
        ASSERT_EQ(errors[r], "");
        EXPECT_TRUE(found[r] == alone) << spec << ", rank " << r << " of " << ranks;
      }
    }
  }
}

// One step from parameters away from their start, without clipping: the first moment is (1 − β₁) times the gradient. It is
// compared with central differences of the twin in double, whose loss is the mean over all targets of the batch.
TEST(Shards, HaveTheGradientOfTheMeanOverAllTargets) {
  const Architecture model = encoder("rope+t5");
  const Uneven text(7);
  for (const std::int64_t shards : {2, 4}) {
    TrainConfig config = config_of(shards);
    config.clip = 1e9;
    Trainer trainer(model, config, 1);
    trainer.w = shaken(trainer.model);
    std::vector<double> W(trainer.w.begin(), trainer.w.end());
    const ReferenceModel twin(trainer.model, W);
    const double loss = trainer.train(text.tokens());
    const double want = twin.loss(text.tokens());
    EXPECT_NEAR(loss, want, 1e-5);
    // The mean of the shards' means is another number: a test that took it for the mean would fail.
    double means = 0;
    for (std::int64_t s = 0; s < shards; ++s) {
      const std::int64_t B = kBatch / shards, first = s * B * kLength;
      Tokens part = text.tokens();
      part.B = B, part.inputs = part.inputs.subspan(first, B * kLength),
      part.targets = part.targets.subspan(first, B * kLength);
      means += twin.loss(part) / double(shards);
    }
    EXPECT_GT(std::abs(means - want), 1e-3);
    for (const Param& p : trainer.model.params()) {
      for (const std::int64_t at : {std::int64_t{0}, p.spec.size() / 3, p.spec.size() - 1}) {
        double& x = W[p.offset + at];
        const double keep = x, h = 1e-6;
        x = keep + h;
        const double above = twin.loss(text.tokens());
        x = keep - h;
        const double below = twin.loss(text.tokens());
        x = keep;
        ASSERT_NEAR(trainer.m[p.offset + at] / (1 - config.beta1), (above - below) / (2 * h), 2e-5)
            << p.spec.name << " number " << at << ", " << shards << " shards";
      }
    }
  }
}

// What a sampler draws for a window does not depend on the shard that it is in: the first loss is that of the whole batch.
TEST(Shards, DrawWhatTheWholeBatchDraws) {
  const Architecture model = encoder("sinusoidal+cape");
  const Uneven text(1);
  std::vector<double> losses;
  for (const std::int64_t shards : {1, 2, 4}) {
    Trainer trainer(model, config_of(shards), 1);
    trainer.step = 3;
    losses.push_back(trainer.train(text.tokens()));
  }
  EXPECT_NEAR(losses[1], losses[0], 1e-6);
  EXPECT_NEAR(losses[2], losses[0], 1e-6);
  Trainer other(model, config_of(1), 1);
  other.step = 4;
  EXPECT_GT(std::abs(other.train(text.tokens()) - losses[0]), 1e-5);
}

TEST(Shards, ABatchWithoutTargetsHasNoLoss) {
  Trainer trainer(encoder("rope"), config_of(2), 1);
  Uneven text(1);
  std::fill(text.targets.begin(), text.targets.end(), kUnscored);
  EXPECT_EQ(trainer.train(text.tokens()), 0);
}

TEST(Shards, AreOfEqualSizeAndEnoughForTheRanks) {
  const auto why = [](const auto& call) {
    try {
      call();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::usage);
      return std::string(e.what());
    }
    return std::string("fine");
  };
  const Architecture model = encoder("rope");
  EXPECT_EQ(why([&] { Trainer(model, config_of(3), 1); }),
            "train.shards: found 3, allowed are divisors of train.batch, 4");
  EXPECT_EQ(why([&] { Trainer(model, config_of(0), 1); }), "train.shards: found 0, allowed are 1 to 4");
  for (const std::string& error : on_ranks(3, [&](ThreadRank& r) { Trainer(model, config_of(2), 1, &r); }))
    EXPECT_NE(error.find("found 2; 3 ranks need at least as many shards"), std::string::npos) << error;
  Trainer trainer(model, config_of(4), 1);
  const Uneven text(1);
  Tokens tokens = text.tokens();
  tokens.B = 3, tokens.inputs = tokens.inputs.first(27), tokens.targets = tokens.targets.first(27);
  EXPECT_NE(why([&] { trainer.train(tokens); }).find("a batch of B=3"), std::string::npos);
  tokens = text.tokens(), tokens.targets = tokens.targets.first(20);
  EXPECT_NE(why([&] { trainer.train(tokens); }).find("targets has 20"), std::string::npos);
  const Placement own = Placement::of(std::vector<double>(kBatch * kLength, 0.0), kBatch);
  tokens = text.tokens(), tokens.placement = &own;
  EXPECT_NE(why([&] { trainer.train(tokens); }).find("positions.rows=4"), std::string::npos);
}

// --- Agreement

// A rank that is stopped in the middle of a pass stops all of them before the same step, and they go on from there.
TEST(Shards, ARankThatStopsStopsAllAtTheSameStep) {
  const State alone = trained(encoder("rope+t5"), 4);
  std::vector<State> found(3);
  std::vector<std::int64_t> stopped(3, -1);
  const auto errors = on_ranks(3, [&](ThreadRank& rank) {
    const auto r = std::size_t(rank.rank());
    Trainer trainer(encoder("rope+t5"), config_of(4), 1, &rank);
    int asked = 0;
    const std::function<bool()> stop = [&] { return rank.rank() == 1 && ++asked == 9; };
    while (trainer.step < 5) {
      const Uneven text{std::uint64_t(trainer.step)};
      Tokens tokens = text.tokens();
      tokens.stop = &stop;
      try {
        const double loss = trainer.train(tokens);
        found[r].losses.push_back(loss);
      } catch (const Stopped&) {
        stopped[r] = trainer.step;
        EXPECT_EQ(rank.close(rank.rank() == 0 ? 17 : 1), 17);  // rank 0's word
      }
    }
    found[r].w = trainer.w, found[r].m = trainer.m, found[r].v = trainer.v;
  });
  for (std::size_t r = 0; r < 3; ++r) {
    ASSERT_EQ(errors[r], "");
    EXPECT_GT(stopped[r], 0);
    EXPECT_EQ(stopped[r], stopped[0]);
    EXPECT_TRUE(found[r] == alone) << r;
  }
}

TEST(Shards, RanksWhoseParametersDifferAreFoundOut) {
  const auto errors = on_ranks(3, [&](ThreadRank& rank) {
    Trainer trainer(encoder("rope"), config_of(4), 1, &rank);
    for (std::uint64_t step = 0; step < 3; ++step) {
      trainer.train(Uneven(step).tokens());
      if (step == 1 && rank.rank() == 2) trainer.w[5] = std::nextafter(trainer.w[5], 1.0f);
    }
    ADD_FAILURE() << "a third step was made";
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error.find("4: the parameters of rank 2 differ from those of rank 0"), 0u) << error;
}

}  // namespace
}  // namespace gnomon
