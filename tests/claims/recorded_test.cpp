#include "gnomon/claims/recorded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "gnomon/claims/claim.h"
#include "gnomon/claims/real.h"

namespace gnomon::claims {
namespace {

TEST(Recorded, KeysAreUniqueAndNumbersAreNumbers) {
  std::set<std::string> sources;
  for (const NumberSource& s : recorded()) {
    EXPECT_TRUE(sources.insert(s.key).second) << s.key;
    EXPECT_FALSE(s.what.empty() || s.command.empty()) << s.key;
    EXPECT_GE(s.numbers.size(), 20u) << s.key;
    std::set<std::string> keys;
    for (const FoundNumber& n : s.numbers) {
      EXPECT_TRUE(keys.insert(n.key).second) << s.key << ": " << n.key;
      EXPECT_TRUE(std::isfinite(n.value) && n.n >= 1 && n.digits >= 0) << s.key << ": " << n.key;
      EXPECT_FALSE(n.name.empty() || n.key.find_first_of(" |{}") != std::string::npos)
          << s.key << ": " << n.key;
      EXPECT_FALSE(n.half_width < 0) << s.key << ": " << n.key;
    }
  }
  EXPECT_TRUE(sources.count("minilm") && sources.count("mpnet") && sources.count("smollm2"));
}

// A verdict by rules that have changed since says nothing.
TEST(Recorded, OtherTextsHaveEveryVerdictByIntervals) {
  EXPECT_FALSE(other_texts().empty());
  for (const OtherText& other : other_texts()) {
    EXPECT_FALSE(other.what.empty() || other.command.empty());
    EXPECT_EQ(other.text_sha256.size(), 64u);
    std::set<std::string_view> known;
    for (const Claim* c : all_claims()) {
      known.insert(c->id);
      EXPECT_TRUE(!needs_seeds(c->verdicts) || other.find(c->id)) << c->id;
    }
    for (const OtherText::Found& f : other.claims) {
      EXPECT_TRUE(known.contains(f.claim)) << f.claim;
      EXPECT_NE(f.decides.find("the interval of"), std::string::npos) << f.claim;
      EXPECT_EQ(other.find(f.claim), &f);
    }
    EXPECT_EQ(other.find("004-16"), nullptr);
  }
}

TEST(Recorded, PapersAreOfQuestionsThatThereAre) {
  std::set<std::string_view> known, answered;
  for (const Question* q : questions()) known.insert(q->key);
  std::set<std::string> links;
  for (const Paper& p : literature()) {
    EXPECT_FALSE(p.questions.empty() || p.author.empty() || p.finding.empty()) << p.title;
    EXPECT_TRUE(p.year >= 1900 && p.year < 2100) << p.title;
    EXPECT_EQ(p.link.rfind("https://", 0), 0u) << p.title;
    EXPECT_TRUE(links.insert(p.link).second) << p.title;
    EXPECT_EQ(p.finding.back(), '.') << p.title;
    for (const std::string& q : p.questions) {
      EXPECT_TRUE(known.count(q)) << p.title << ": " << q;
      answered.insert(q);
    }
  }
  EXPECT_EQ(answered, known);
  EXPECT_GE(literature().size(), 20u);
}

// An inspection of a model with a table: two heads, three streams, of which a number each is known.
Inspection made_up() {
  Inspection f;
  f.window = 32, f.windows = 4, f.probed = 16, f.term_windows = 8, f.stream_windows = 40,
  f.changed_windows = 4;
  f.table = TableLook{};
  f.table->words = 100, f.table->positions = 12, f.table->width = 24;
  f.table->identity = 0.75;
  for (const double share : {0.25, 0.5}) {
    TermsLook t{Matrix(4, 4), Matrix(4, 4)};
    t.shares.at(1, 1) = share, t.half_widths.at(1, 1) = share / 10;
    t.shares.at(0, 0) = 0.3;
    f.terms.push_back(t);
  }
  f.heads = {{{{.distance = 2, .entropy = 1, .own = 0, .previous = 0.9, .first = 0}, 0.6},
              {{.distance = 6, .entropy = 1, .own = 0, .previous = 0, .first = 0.9}, 0.1}}};
  f.streams.resize(3);
  f.streams[1].first_length = 7;
  f.streams[2].probe = PositionProbe{0.5, 3.5, 0.1, {}};
  const double none = std::nan("");
  f.measure = Measure::rows;
  f.shifts = {{"positions + 16", 0.25, none}};
  f.removals = {{"no positions", 0.5, none}, {"layer 0 without position", 0.125, none}};
  return f;
}

TEST(Recorded, NumbersOfAnInspection) {
  std::map<std::string, FoundNumber> all;
  std::set<std::string_view> known;
  for (const Question* q : questions()) known.insert(q->key);
  for (const RealNumbers& r : real_numbers(made_up())) {
    EXPECT_TRUE(known.count(r.question)) << r.question;
    for (const FoundNumber& n : r.numbers) EXPECT_TRUE(all.emplace(n.key, n).second) << n.key;
  }
  EXPECT_EQ(all.at("identity").value, 0.75);
  EXPECT_EQ(all.at("identity").n, 100);  // of 300 that are asked at most
  EXPECT_EQ(all.at("position_position").value, 0.375);
  EXPECT_EQ(all.at("position_position_most").value, 0.5);
  EXPECT_EQ(all.at("position_position_most").half_width, 0.05);
  EXPECT_EQ(all.at("terms_positional").value, 0.5);
  EXPECT_EQ(all.at("sinks").value, 0.5);
  EXPECT_EQ(all.at("heads_by_distance").value, 0.5);
  EXPECT_EQ(all.at("attention_distance").value, 4);
  EXPECT_EQ(all.at("first_length").value, 7);
  EXPECT_EQ(all.at("first_length_layer").value, 1);
  EXPECT_EQ(all.at("probe.last").value, 3.5);
  EXPECT_EQ(all.at("shift.16").value, 0.25);
  EXPECT_EQ(all.at("without").value, 0.5);
  EXPECT_EQ(all.at("without_layer_most").value, 0.125);
  EXPECT_FALSE(all.count("loss"));  // a model without a head
  EXPECT_NEAR(all.at("cosine_random").value, std::sqrt(2 / (24 * std::acos(-1.0))), 0.004);
}

}  // namespace
}  // namespace gnomon::claims
