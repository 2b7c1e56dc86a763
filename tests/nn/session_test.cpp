// Generation: new tokens through the key cache give what the whole pass gives, and what is sampled is what was asked for.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/sample.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

constexpr std::int64_t kB = 2, kPrompt = 4, kNew = 6;

struct Writer {
  Model model;
  Floats w;
  Session session;
  std::vector<std::int32_t> prompt{5, 80, 7, 200, 33, 91, 2, 9};
  explicit Writer(const Architecture& a) : model(a), w(shaken(model)), session(model) {}
  Tokens tokens() const { return {kB, kPrompt, prompt, {}}; }
  std::vector<std::int32_t> write(const Sampling& how) { return sample(session, w, tokens(), how); }
  // The same, greedily, by a whole pass for every token.
  std::vector<std::int32_t> by_whole_passes() {
    const std::int64_t V = model.architecture().vocabulary;
    std::vector<std::int32_t> written(kB * kNew);
    for (std::int64_t b = 0; b < kB; ++b) {
      std::vector<std::int32_t> text(&prompt[b * kPrompt], &prompt[b * kPrompt] + kPrompt);
      for (std::int64_t n = 0; n < kNew; ++n) {
        Floats logits(text.size() * std::size_t(V));
        session.logits({1, std::int64_t(text.size()), text, {}}, w, logits);
        const auto last = logits.end() - V;
        text.push_back(written[b * kNew + n] = std::int32_t(std::max_element(last, logits.end()) - last));
      }
    }
    return written;
  }
};

TEST(Sample, GreedyIsThatOfWholePasses) {
  for (const char* spec :
       {"none", "rope", "alibi", "t5", "learned", "sinusoidal+rope", "every_layer(learned)",
        "queries_keys(learned)+alibi", "[rope+window(size=3), none]",

        "pope", "shaw", "kerple_log", "cope(positions=9)", "fire(hidden=4)", "stick_breaking",
        "rerope(window=4)", "yarn(factor=2, original=4)", "concat(sinusoidal, width=6, scale=off)",
        "rope_value"}) {
    for (const char* block : {"gpt", "llama"}) {
      SCOPED_TRACE(std::string(block) + " " + spec);
      Writer writer(make_block(block, kSmall, Spec::parse(spec)));
      const auto whole = writer.by_whole_passes();
      EXPECT_EQ(writer.write({.count = kNew}), whole);
    }
  }
}

TEST(Sample, TemperatureDrawsFromTheSoftmax) {
  Architecture a = small("rope");
  a.vocabulary = 5;
  Writer writer(a);
  writer.prompt = {0, 1, 2, 3, 4, 3, 2, 1};
  for (float& x : writer.w) x *= 2;
  const double temperature = 0.7;
  Floats logits(kB * kPrompt * 5);
  writer.session.logits(writer.tokens(), writer.w, logits);
  std::vector<double> p(5), seen(5);
  double sum = 0;
  for (int v = 0; v < 5; ++v) sum += p[v] = std::exp(double(logits[3 * 5 + v]) / temperature);
  const int draws = 4000;
  for (int seed = 0; seed < draws; ++seed)
    seen[writer.write({.count = 1, .temperature = temperature, .seed = std::uint64_t(seed)})[0]] += 1;
  double most = 0;
  for (int v = 0; v < 5; ++v) {
    const double share = p[v] / sum, deviation = std::sqrt(share * (1 - share) / draws);
    EXPECT_NEAR(seen[v] / draws, share, 4 * deviation) << v;
    most = std::max(most, share);
  }
  EXPECT_LT(most, 0.9);  // or nothing was tested
  const Sampling how{.count = kNew, .temperature = 5, .seed = 3};
  EXPECT_EQ(writer.write(how), writer.write(how));
  EXPECT_NE(writer.write(how), writer.write({.count = kNew, .temperature = 5, .seed = 4}));
}

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return e.what();
  }
  return "no error";
}
void expect_has(const std::string& message, const char* part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
}

TEST(Sample, WhatCannotBeContinuedIsRefused) {
  const auto of = [](const Architecture& a) { return why([&] { Writer(a).write({.count = 1}); }); };
  Architecture encoder = small("rope");
  encoder.causal = false;
  expect_has(of(encoder), "generation needs a causal model");
  expect_has(of(small("conv_position")), "reads the words before each token");
  expect_has(of(small("fox")), "'fox' has no key cache");
  expect_has(of(small("sinusoidal+randomised")), "draws new positions");
  expect_has(why([] { Writer(small("learned")).write({.count = 20}); }), "learned");
  Writer writer(small("rope"));
  expect_has(why([&] { writer.write({.count = -1}); }), "count is -1");
  expect_has(why([&] { writer.write({.count = 1, .temperature = -1}); }), "temperature is -1");
  expect_has(why([&] { writer.write({.count = 1, .temperature = NAN}); }), "temperature is nan");
  writer.prompt[2] = 256;
  expect_has(why([&] { writer.write({.count = 1}); }), "input 2 is 256; allowed are 0 to 255");
}

TEST(Sample, NewTokensMustFitWhatWasBegun) {
  Writer writer(small("rope"));
  Floats logits(kB * kVocabulary);
  const auto extend = [&](const Tokens& tokens) {
    return why([&] { writer.session.extend(tokens, writer.w, logits); });
  };
  expect_has(extend(writer.tokens()), "extend() without begin()");
  writer.session.begin(kB, 6);
  expect_has(extend({1, kPrompt, std::span(writer.prompt).first(4), {}}), "B is 1; allowed is 2");
  EXPECT_EQ(extend(writer.tokens()), "no error");
  EXPECT_EQ(writer.session.length(), kPrompt);
  expect_has(extend(writer.tokens()), "4 new tokens after 4; allowed are 6 together");
  const std::vector<std::uint8_t> padding(8);
  Tokens padded = writer.tokens();
  padded.padding = padding.data();
  expect_has(extend(padded), "padding or placement is given");
  Floats all(kB * kPrompt * kVocabulary);
  writer.session.logits(writer.tokens(), writer.w, all);  // another pass ends it
  expect_has(extend(writer.tokens()), "extend() without begin()");
}

// Plans and tables stay from pass to pass where nothing changes them: a session that was used otherwise gives the bits of a
// fresh one.
TEST(Session, WhatStaysIsWhatWouldBeMade) {
  for (const char* spec :
       {"sinusoidal+rope+alibi", "t5+window(size=3)", "[rope, alibi+kerple_log]", "learned+shaw"}) {
    SCOPED_TRACE(spec);
    const Writer writer(small(spec));
    Session used(writer.model);
    const std::vector<std::int32_t> targets(8, 7);
    const Placement moved = Placement::consecutive(2, 4);
    const Tokens calls[] = {
        {2, 4, writer.prompt, targets}, {1, 8, writer.prompt, targets}, {2, 4, writer.prompt, targets}};
    for (int n = 0; n < 12; ++n) {
      Tokens tokens = calls[n % 3];
      if (n % 4 == 3 && tokens.T == 4) tokens.placement = &moved;
      tokens.drop_positions = n % 5 == 4;
      Floats w = writer.w, losses(8), again(8), gradient(w.size()), fresh(w.size());
      w[w.size() / 2] += float(n);
      if (n % 6 == 5) {
        Floats logits(std::size_t(kB * kVocabulary));
        used.begin(kB, 8), used.extend(writer.tokens(), w, logits);
      }
      EXPECT_EQ(used.loss(tokens, w, losses, gradient), Session(writer.model).loss(tokens, w, again, fresh))
          << n;
      EXPECT_EQ(losses, again) << n;
      EXPECT_EQ(gradient, fresh) << n;
    }
  }
}

// Two sessions of one model, each on a thread of its own, give what one gives.
TEST(Sample, SessionsOfOneModelDoNotMeet) {
  Writer a(small("rope")), b(small("rope"));
  Session other(a.model);
  const auto alone = b.write({.count = kNew});
  std::vector<std::int32_t> first, second;
  {
    std::jthread one([&] { first = a.write({.count = kNew}); });
    std::jthread two([&] { second = sample(other, a.w, a.tokens(), {.count = kNew}); });
  }
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
}

}  // namespace
}  // namespace gnomon
