// Sentences follow their numbers: what a form says, and that no form of a claim, a question or an essay can say more than
// the interval of its number.
#include "gnomon/claims/sentence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "gnomon/claims/claim.h"
#include "gnomon/claims/page/page.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/claims/recorded.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "tests/study/simulated.h"

namespace gnomon::claims {
namespace {

FoundNumber number_of(double value, double half_width = std::nan(""), std::int64_t n = 1, int digits = 3) {
  FoundNumber one{.key = "k", .name = "a number", .value = value};
  one.half_width = half_width, one.n = n, one.digits = digits;
  return one;
}

const std::map<std::string, FoundNumber> kNumbers = {
    {"low", number_of(-.5, .25, 5)},      {"high", number_of(.5, .25, 5)},
    {"open", number_of(.05, .25, 5)},     {"alone", number_of(.055)},
    {"none", number_of(std::nan(""))},    {"many", number_of(12345, std::nan(""), 1, 0)},
    {"other|low", number_of(-1, .1, 3)},  {"tiny", number_of(3.4e-8)},
    {"l.at.0.25", number_of(-.2, .1, 5)}, {"l.at.0.5", number_of(.01, .1, 5)},
    {"l.at.1", number_of(.3, .1, 5)},     {"h.at.0.25", number_of(.2, .1, 5)},
    {"h.at.0.5", number_of(.25, .1, 5)},  {"h.at.1", number_of(.3, .1, 5)},
    {"lower", number_of(-.8, .1, 5)}};
Said tell(std::string_view form) {
  return said(form, [](std::string_view from, std::string_view key) -> const FoundNumber* {
    const auto at = kNumbers.find(from.empty() ? std::string(key) : text(from, "|", key));
    return at == kNumbers.end() ? nullptr : &at->second;
  });
}

TEST(Sentence, ShowsNumbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"It is {low}, and {other|low:1}.", "It is −0.500 ± 0.250, and −1.0 ± 0.1."},
      {"{low:2n} {alone:n}", "−0.50 ± 0.25 (n = 5) 0.055 (n = 1, no interval)"},
      {"{low:%1m} % {low:2a} {many:k}", "−50.0 % 0.50 ± 0.25 12"},
      {"{tiny:e} {many}", "3e-08 12,345"},
      {"{low:vs the sum's}; {high:vs}; {open:vs the sum's}",
       "lower by 0.500 ± 0.250 nats than the sum's; higher by 0.500 ± "
       "0.250 nats; not told apart from the sum's: 0.050 ± 0.250 (n = 5)"},
      {"{l:way the sum's}",
       "lower than the sum's after a quarter of the training, not told apart after half of it, and higher at "
       "its end. At the end the difference in nats is 0.300 ± 0.100 (n = 5)"},
      {"{h:way}.",
       "higher after a quarter of the training, after half of it and at its end. At the end the difference "
       "in "
       "nats is 0.300 ± 0.100 (n = 5)."},
      {"no number, and } alone", "no number, and } alone"}};
  for (const auto& [form, told] : cases) EXPECT_EQ(tell(form).text, told) << form;
}

TEST(Sentence, ChoosesByTheInterval) {
  const std::pair<const char*, const char*> cases[] = {
      {"{low?a|b|c}{open?a|b|c}{high?a|b|c}{alone?a|b|c}", "abcb"},
      {"{low - high?a|b|c}{high - low?a|b|c}{low - lower?a|b|c}{high - alone?a|b|c}", "acbb"},
      {"{low>-1?a|b}{low>0?a|b}{high>low?a|b}{none>0?a|b}", "abab"},
      {"{open~.4?a|b}{open~.2?a|b}{alone~.4?a|b}", "abb"},
      {"{none!?a|b}{alone!?{alone:m} a|b}", "b0.055 a"},
      {"{low?one {high?x|y|z} two|b|c}", "one z two"},
      {"{low?|b|c}.", "."}};
  for (const auto& [form, told] : cases) EXPECT_EQ(tell(form).text, told) << form;
}

TEST(Sentence, NamesWhatIsMissing) {
  EXPECT_EQ(tell("{low} {nowhere} {other|nowhere} {nowhere}").missing,
            (std::vector<std::string>{"nowhere", "other|nowhere"}));
  EXPECT_EQ(tell("{low?a|{nowhere}|c}").missing.size(), 0u) << "another alternative is said";
  EXPECT_EQ(taken_by("{a} {b|c?{d:2}|{e - f?x|y|z}|} {g:way it}"),
            (std::vector<std::string>{"a", "b|c", "d", "e", "f", "g.at.0.25", "g.at.0.5", "g.at.1"}));
  for (const char* wrong : {"{low", "{}", "{low?a|b}", "{low>0?a|b|c}", "{|low}", "{low|}", "{"})
    EXPECT_THROW(tell(wrong), Error) << wrong;
}

// Words that say which way a number goes. Where the number is a loss, less of it is ahead.
const std::map<std::string, std::string> kMirror = {
    {"lower", "higher"},      {"lowers", "raises"}, {"falls", "rises"},  {"shrinks", "grows"},
    {"shrinking", "growing"}, {"ahead", "behind"},  {"better", "worse"}, {"leads", "trails"},
    {"gains", "loses"},       {"helps", "hurts"},   {"saves", "costs"},  {"lead", "lag"},
    {"holds", "fails"},       {"wins", "lags"},     {"shrink", "grow"}};
std::multiset<std::string> words_of_direction(const std::string& said, bool turned = false) {
  std::multiset<std::string> out;
  static const std::regex word("[A-Za-z]+");
  for (auto at = std::sregex_iterator(said.begin(), said.end(), word); at != std::sregex_iterator(); ++at) {
    for (const auto& [down, up] : kMirror) {
      if (at->str() == down) out.insert(turned ? up : down);
      if (at->str() == up) out.insert(turned ? down : up);
    }
  }
  return out;
}

// Every form that is said of numbers, by name.
const std::vector<std::pair<std::string, std::string>>& forms() {
  static std::vector<std::pair<std::string, std::string>> out;
  if (!out.empty()) return out;
  for (const Claim* c : all_claims()) out.emplace_back(c->id, c->text.answer);
  for (const Question* q : questions()) {
    int n = 0;
    for (const auto form :
         {q->text.answer, q->text.algebra, q->text.models, q->text.real, q->text.change_our_mind})
      out.emplace_back(text(q->key, " ", n++), form);
  }
  for (const pages::Essay& e : pages::essay_forms()) out.emplace_back(e.name, e.markdown);
  std::erase_if(out, [](const auto& named) { return taken_by(named.second).empty(); });
  return out;
}

void check_choices(const std::vector<FormPiece>& form, const std::string& name) {
  const auto fixed_words = [](const std::vector<FormPiece>& pieces) {
    std::string out;
    for (const FormPiece& p : pieces) out += p.kind == FormPiece::Kind::words ? p.words : " ";
    return out;
  };
  const auto has = [](const std::string& said, std::initializer_list<const char*> words) {
    static const std::regex word("[A-Za-z]+");
    for (auto at = std::sregex_iterator(said.begin(), said.end(), word); at != std::sregex_iterator(); ++at) {
      if (std::find(words.begin(), words.end(), at->str()) != words.end()) return true;
    }
    return false;
  };
  for (const FormPiece& p : form) {
    for (std::size_t a = 0; a < p.alternatives.size(); ++a) {
      const std::string said = fixed_words(p.alternatives[a]);
      if (p.kind == FormPiece::Kind::sign) {
        const bool up = has(said, {"higher", "raises", "rises", "grows", "growing", "behind", "worse",
                                   "loses", "hurts", "costs", "more"}),
                   down = has(said, {"lower", "lowers", "falls", "shrinks", "shrinking", "ahead", "better",
                                     "gains", "helps", "saves", "less", "fewer"});
        EXPECT_FALSE(up && a != 2) << name << ": " << said;
        EXPECT_FALSE(down && a != 0) << name << ": " << said;
      }
      check_choices(p.alternatives[a], name);
    }
  }
}

TEST(Sentence, AVerbBesideANumberIsAChoiceByItsInterval) {
  for (const auto& [name, form] : forms()) {
    std::string fixed;
    for (const FormPiece& p : parsed(form)) {
      if (p.kind == FormPiece::Kind::words) fixed += p.words + " ";
    }
    EXPECT_EQ(words_of_direction(fixed), std::multiset<std::string>{}) << name << ": " << fixed;
    check_choices(parsed(form), name);
  }
}

// Random numbers for every name, drawn once; `turned` has them with the other sign.
struct World {
  Draws draws;
  double least, most;  // of the half-width over the value; NaN: no interval
  bool turned = false;
  std::map<std::string, FoundNumber> numbers = {};
  const FoundNumber* get(std::string_view from, std::string_view key) {
    const std::string name = text(from, "|", key);
    auto at = numbers.find(name);
    if (at == numbers.end()) {
      const double value = draws.normal();
      at = numbers
               .emplace(name, number_of(value,
                                        std::isnan(least)
                                            ? least
                                            : std::abs(value) * (least + draws.uniform() * (most - least)),
                                        5))
               .first;
    }
    static thread_local FoundNumber other;
    if (!turned) return &at->second;
    other = at->second, other.value = -other.value;
    return &other;
  }
};
std::string in(World& w, const std::string& form) {
  // Two numbers of one choice are alive at once, so a turned one is kept.
  std::map<std::string, FoundNumber> turned;
  return said(form,
              [&](std::string_view from, std::string_view key) -> const FoundNumber* {
                return &(turned[text(from, "|", key)] = *w.get(from, key));
              })
      .text;
}

TEST(Sentence, OfRandomNumbersNoneIsSaidAgainstItsSignOrInterval) {
  static const std::regex by("(lower|higher) by ([0-9.]+) ± ([0-9.]+)");
  for (int draw = 0; draw < 30; ++draw) {
    const std::string seed = text("world ", draw);
    World apart{Draws(seed), .05, .9}, open{Draws(seed), 1.1, 3}, single{Draws(seed), std::nan(""), 0};
    for (const auto& [name, form] : forms()) {
      const std::string here = in(apart, form);
      apart.turned = true;
      const std::string there = in(apart, form);
      apart.turned = false;
      EXPECT_EQ(words_of_direction(here, true), words_of_direction(there)) << name << "\n"
                                                                           << here << "\n"
                                                                           << there;
      for (auto at = std::sregex_iterator(here.begin(), here.end(), by); at != std::sregex_iterator(); ++at)
        EXPECT_GE(std::stod((*at)[2]), std::stod((*at)[3])) << name << ": " << here;
      for (World* unsure : {&open, &single}) {
        const std::string told = in(*unsure, form);
        EXPECT_EQ(words_of_direction(told), std::multiset<std::string>{}) << name << ": " << told;
      }
      for (const char* never : {"…", "{", "nan"})
        EXPECT_EQ(here.find(never), here.npos) << name << ": " << here;
    }
    if (testing::Test::HasFailure()) break;
  }
}

TEST(Sentence, WithoutANumberThereIsNoAnswerButWhatWasNotMeasured) {
  Draws draws("some claims");
  std::set<std::pair<std::string, std::string>> taken_of_all;
  for (const auto& [name, form] : forms()) {
    for (const std::string& taken : taken_by(form)) {
      const auto bar = taken.find('|');
      if (bar != taken.npos) taken_of_all.emplace(taken.substr(0, bar), taken.substr(bar + 1));
    }
  }
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<Answered> some;
    for (const Claim* c : all_claims()) {
      if (draws.uniform() < .7) continue;
      Answered a{c, {}, c->recorded, 0};
      // Every number that any sentence takes of it.
      for (const auto& [from, key] : taken_of_all) {
        if (from == c->id) a.finding.number(key, key, draws.normal());
      }
      some.push_back(std::move(a));
    }
    const auto measured = [&](const std::string& id) {
      return std::any_of(some.begin(), some.end(), [&](const Answered& a) { return a.claim->id == id; });
    };
    for (const Question* q : questions()) {
      std::set<std::string> missing;
      for (const std::string& taken : taken_by(q->text.answer)) {
        const std::string from = taken.substr(0, taken.find('|'));
        const bool of_claim = from.size() == 6 && from[3] == '-';
        if (of_claim && !measured(from)) missing.insert(from);
      }
      const std::string told = pages::interpolated(q->text.answer, some, recorded());
      if (missing.empty()) {
        EXPECT_EQ(told.find("Not measured"), told.npos) << told;
      } else {  // those of alternatives that are not said may be left out
        EXPECT_TRUE(told.rfind("Not measured in this run: ", 0) == 0 || told.find("–") == told.npos) << told;
        if (told.rfind("Not measured in this run: ", 0) == 0) {
          for (const auto& [id, known] : {std::pair{told.substr(26, 6), true}})
            EXPECT_EQ(missing.count(id) > 0, known) << told;
        }
      }
      EXPECT_EQ(told.find("…"), told.npos) << told;
    }
  }
}

TEST(Sentence, ANumberThatIsNotWhatWasAskedForGivesNoAnswer) {
  for (const Claim* c : all_claims()) {
    Finding f;
    f.near("x", "the number x", 2, 1, .1);
    EXPECT_EQ(answer_of(*c, f),
              "No answer: “the number x” came out as 2.0000, which is not what was asked for.")
        << c->id;
  }
}

}  // namespace
}  // namespace gnomon::claims
