// Specs: the text form round-trips, and a wrong one is answered with what exists.
#include <gtest/gtest.h>

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

TEST(Spec, PrintsItsShortestForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"none", "none"},
      {" sinusoidal ( layout = interleaved ) ", "sinusoidal"},
      {"sinusoidal(layout=halves,frequencies=tensor2tensor)",
       "sinusoidal(layout=halves, frequencies=tensor2tensor)"},
      {"add(sinusoidal)", "sinusoidal"},
      {"add(sinusoidal, scale=off)", "add(sinusoidal, scale=off)"},
      {"add(none)", "none"},
      {"add(none, scale=off)+rope", "add(none, scale=off)+rope"},
      {"concat(sinusoidal, width=16)", "concat(sinusoidal)"},
      {"concat(sinusoidal(base=100), width=8)", "concat(sinusoidal(base=100), width=8)"},
      {"concat(sinusoidal, share=0.5)", "concat(sinusoidal, share=0.5)"},
      {"project(learned)", "project(learned)"},
      {"rope(theta=1e4, pairing=halves)", "rope"},
      {"rope(pairing=adjacent)", "rope(pairing=adjacent)"},
      {"rope+alibi", "rope+alibi"},
      {"sinusoidal+t5(buckets=8)", "sinusoidal+t5(buckets=8)"},
      {"rope(theta=1e+05)", "rope(theta=100000)"},
      {"[ rope + window(size=64), none ]", "[rope+window(size=64), none]"},
      {"sinusoidal+[rope,none]+alibi", "sinusoidal+alibi+[rope, none]"},
      {"rope+randomised(most=2048)", "rope+randomised(most=2048)"},
      {"gate(learned, kind=scalar)+[fox]", "gate(learned, kind=scalar)+[fox]"},
      {"longrope(short=1/1.10/1.2, long=4)", "longrope(short=1/1.1/1.2)"},
      {"mrope(sections=16/24/24)", "mrope(sections=16/24/24)"},
  };
  for (const auto& [text, printed] : cases) {
    const Spec spec = Spec::parse(text);
    EXPECT_EQ(spec.print(), printed);
    EXPECT_EQ(Spec::parse(spec.print()), spec) << text;
  }
}

TEST(Spec, EveryEncodingAndCombinationRoundTrips) {
  for (const Entry* entry : encodings()) {
    EXPECT_EQ(Spec::parse(entry->name).print(), entry->name);
    if (!(entry->acts & kInput)) continue;
    for (const CombinationEntry* combination : combinations()) {
      const Spec spec = Spec::parse(std::string(combination->name) + "(" + std::string(entry->name) + ")");
      EXPECT_EQ(Spec::parse(spec.print()), spec);
    }
  }
}

std::string why(const std::string& text) {
  try {
    make_scheme(Spec::parse(text), {128, 4, 32, 128, true});
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << text;
    return e.what();
  }
  return "no error";
}

TEST(Spec, WrongOnesAreAnswered) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "found the end"},
      {"rop", "did you mean 'rope'?"},
      {"rop", "`gnomon encodings` lists them."},
      {"quaternions_everywhere", "`gnomon encodings` lists them."},
      {"sinusoidal(layuot=halves)", "did you mean 'layout'?"},
      {"sinusoidal(layout=half)", "did you mean 'halves'?"},
      {"none(x=1)", "has no options"},
      {"rope(theta=0)", "allowed is a number from"},
      {"rope(theta=-1)", "allowed is a number from"},
      {"rope(theta=nan)", "allowed is a number from"},
      {"rope(theta=ten)", "is not a number"},
      {"rope(theta=10, theta=20)", "given twice"},
      {"rope(fraction=0.1)", "allowed are even numbers from 2 to 32"},
      {"rope(theta)", "expected '='"},
      {"rope(theta=1", "expected ',' or ')'"},
      {"rope)", "expected '+' or the end"},
      {"sinusoidal+learned", "second input encoding"},
      {"concat(rope)", "acts on qk, not on the input"},
      {"concat", "expected '('"},
      {"concat(none)", "needs an encoding"},
      {"concat(sinusoidal, width=128)", "allowed are 1 to 127"},
      {"concat(sinusoidal, width=0)", "allowed is a whole number from 1"},
      {"concat(sinusoidal, share=1)", "leaves no channel"},
      {"concat(sinusoidal)+project(learned)", "a second way to join"},
      {"t5(buckets=3)", "must be even"},
      {"t5(distance=8)", "distance must exceed 16"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(why(text).find(part), std::string::npos) << text << " -> " << why(text);
}

TEST(Spec, ALearnedAmplitudeStartsWhereItIsTold) {
  const auto start = [](std::string_view spec) {
    return make_encoding(spec, {.C = 64, .H = 4, .D = 16, .length = 8, .causal = true})
        ->params()
        .front()
        .mean;
  };
  EXPECT_EQ(start("scaled_sinusoidal"), 0.125);
  EXPECT_EQ(start("scaled_sinusoidal(start=1)"), 1);
  EXPECT_EQ(start("scaled_sinusoidal(start=3)"), 3);
}

ErrorDetails details(const std::string& spec) {
  try {
    Spec::parse(spec);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(e.details().place), std::string::npos) << e.what();
    EXPECT_LT(std::string(e.what()).size(), 250u) << e.what();
    return e.details();
  }
  ADD_FAILURE() << spec << ": no error";
  return {};
}

TEST(Spec, SuggestsWhatTheFieldMayMean) {
  using Suggested = std::vector<std::string>;
  const std::pair<const char*, Suggested> cases[] = {
      {"RoPE", {"rope"}},
      {"ROPE", {"rope"}},
      {"rotary", {"rope"}},
      {"rop", {"rope"}},
      {"rpoe", {"rope"}},
      {"nope", {"none"}},
      {"absolute", {"sinusoidal", "learned"}},
      {"rpe", {"shaw", "relative_key", "t5"}},
      {"kerple", {"kerple_log", "kerple_power"}},
      {"transformer-xl", {"transformer_xl"}},
      {"DeBERTa-v2", {"deberta_v2"}},
      {"su", {"longrope"}},
      {"llama-3", {"llama3"}},
      {"dynamic", {"dynamic_ntk"}},
      {"default", {"rope"}},
      {"concatenate(sinusoidal)", {"concat"}},
      {"rope(pairing=interleaved)", {"adjacent"}},
      {"rope(pairing=neox)", {"halves"}},
      {"rope(pairing=GPT-J)", {}},
      {"rope(pairing=gptj)", {"adjacent"}},
      {"rope(Theta=5)", {"theta"}},
      {"rope(base=5)", {"theta"}},
      {"rope(rope_theta=5)", {"theta"}},
      {"sinusoidal(layout=adjacent)", {"interleaved"}},
      {"add(sinusoidal, scale=true)", {"on"}},
      {"xyzzy", {}},
  };
  for (const auto& [spec, suggested] : cases) EXPECT_EQ(details(spec).suggestions, suggested) << spec;
}

// An alias that is a name would never be reached, and a name is canonical.
TEST(Spec, AnAliasIsNoName) {
  std::vector<Name> all = encoding_names();
  for (Name& name : combination_names()) all.push_back(std::move(name));
  for (const Name& one : all) {
    for (const std::string_view alias : one.aliases) {
      for (const Name& other : all) EXPECT_NE(alias, other.name) << one.name;
    }
  }
  for (const Entry* entry : encodings()) {
    for (const OptionSpec& option : entry->options) {
      for (const auto& [alias, word] : option.word_aliases) {
        EXPECT_EQ(std::count(option.words.begin(), option.words.end(), alias), 0) << alias;
        EXPECT_EQ(std::count(option.words.begin(), option.words.end(), word), 1) << word;
      }
    }
  }
}

TEST(Spec, AnErrorSaysItsPartsApart) {
  const ErrorDetails name = details("rope+alibye");
  EXPECT_EQ(name.place, "spec 'rope+alibye', column 6");
  EXPECT_EQ(name.found, "alibye");
  EXPECT_EQ(name.allowed, "`gnomon encodings` lists them");
  EXPECT_EQ(name.suggestions, std::vector<std::string>{"alibi"});
  const ErrorDetails word = details("rope(pairing=both)");
  EXPECT_EQ(word.place, "rope: option 'pairing'");
  EXPECT_EQ(word.found, "both");
  EXPECT_EQ(word.allowed, "adjacent, halves");
  const ErrorDetails bounds = details("rope(theta=0)");
  EXPECT_EQ(bounds.place, "rope: option 'theta'");
  EXPECT_EQ(bounds.found, "0");
  EXPECT_EQ(bounds.allowed, "a number from 1e-06 to 1e+15");
  EXPECT_EQ(details("rope(theta=x)").allowed, "a number");
  const ErrorDetails sign = details("rope(theta:5)");
  EXPECT_EQ(sign.place, "spec 'rope(theta:5)', column 11");
  EXPECT_EQ(sign.found, "':'");
  EXPECT_EQ(sign.allowed, "'=' after 'theta'");
  EXPECT_EQ(details("[rope").found, "the end");
  EXPECT_EQ(details("none(x=1)").allowed, "no option");
  EXPECT_EQ(details("concat(add)").place, "spec 'concat(add)', column 11");
}

}  // namespace
}  // namespace gnomon
