// Texts beside the code: what the compiler reads of them, and what it refuses.
#include "gnomon/core/prose.h"

#include <gtest/gtest.h>

namespace gnomon {
namespace {

constexpr Prose kText = GNOMON_PROSE(R"file(# a remark
[$]
llama: {"model_type": "llama",

[first]
title: A thing that goes on
  in a second line,
    and a third: with a colon
fails: $llama "a": 1,
  | "b": [2,
  |  3]}
bare: $llama
empty:
says: from {fast} to {slow}, and {fast} again {{as it is}}

[second]
title: [B] $c
)file");

TEST(Prose, LinesAreJoinedByABlankOrStandAsTheyAre) {
  EXPECT_EQ(kText.at("first", "title"), "A thing that goes on in a second line, and a third: with a colon");
  EXPECT_EQ(kText.at("first", "fails"), "{\"model_type\": \"llama\", \"a\": 1,\n \"b\": [2,\n  3]}");
  EXPECT_EQ(kText.at("first", "bare"), "{\"model_type\": \"llama\",");
  EXPECT_EQ(kText.at("first", "empty"), "");
  EXPECT_EQ(kText.at("second", "title"), "[B] $c");
  EXPECT_EQ(kText.if_any("second", "says"), "");
  EXPECT_EQ(kText.records(), 2u);
}

TEST(Prose, PlacesAreFilled) {
  const std::string fast = "32";
  EXPECT_EQ((said<"fast", "slow">(kText.at("first", "says"), fast, "{slow}")),
            "from 32 to {slow}, and 32 again {as it is}");
  EXPECT_EQ(said<>(std::string_view("nothing to fill")), "nothing to fill");
}

// What the build accepts. A text that it does not accept is no constant expression, which is asked here without an error.
template <PlaceName text>
constexpr bool is_read() {
  return requires {
    typename std::integral_constant<
        std::size_t,
        Prose<prose::most_characters(text.view()), prose::fields_of(text.view())>(text.view()).records()>;
  };
}
template <PlaceName text>
constexpr Prose<prose::most_characters(text.view()), prose::fields_of(text.view())> kFile(text.view());
template <PlaceName text, PlaceName record, PlaceName field>
constexpr bool is_found() {
  return requires {
    typename std::integral_constant<std::size_t, kFile<text>.at(record.view(), field.view()).size()>;
  };
}
template <PlaceName text, PlaceName... names>
constexpr bool fits() {
  return requires { typename std::bool_constant<!Form<names...>(text.view()).text().empty()>; };
}

TEST(Prose, AFileThatIsNotWrittenSoFailsTheBuild) {
  EXPECT_TRUE((is_read<"[a]\nx: y\n">()));
  EXPECT_TRUE((is_read<"# no record\n">()));
  EXPECT_FALSE((is_read<"x: y\n">())) << "a field of no record";
  EXPECT_FALSE((is_read<"[a\nx: y\n">())) << "a record that is not closed";
  EXPECT_FALSE((is_read<"[a]\nno colon\n">()));
  EXPECT_FALSE((is_read<"[a]\nWhat is this: y\n">())) << "no name of a field";
  EXPECT_FALSE((is_read<"[a]\nx: y\nx: z\n">())) << "twice";
  EXPECT_FALSE((is_read<"[a]\n  goes on\nx: y\n">()));
  EXPECT_FALSE((is_read<"[a]\nx: $b y\n">())) << "a beginning that there is not";
  EXPECT_TRUE((is_found<"[a]\nx: y\n", "a", "x">()));
  EXPECT_FALSE((is_found<"[a]\nx: y\n", "a", "z">()));
  EXPECT_FALSE((is_found<"[a]\nx: y\n", "b", "x">()));
}

template <PlaceName text>
constexpr bool has_only_says() {
  return requires { typename std::bool_constant<(kFile<text>.only("a", {"says"}), true)>; };
}
TEST(Prose, AFieldThatNobodyReadsFailsTheBuild) {
  EXPECT_TRUE((has_only_says<"[a]\nsays: y\nsays.zero: z\n[b]\nother: x\n">()));
  EXPECT_FALSE((has_only_says<"[a]\nsays: y\nsay: z\n">()));
}

TEST(Prose, APlaceAndAValueThatDoNotMeetFailTheBuild) {
  EXPECT_TRUE((fits<"{a} and {b}", "a", "b">()));
  EXPECT_TRUE((fits<"{{a}}">()));
  EXPECT_FALSE((fits<"{a} and {c}", "a", "b">()));
  EXPECT_FALSE((fits<"{a}", "a", "b">())) << "a value that is not told";
  EXPECT_FALSE((fits<"{a", "a">()));
  EXPECT_FALSE((fits<"a}", "a">()));
  EXPECT_FALSE((fits<"{}", "a">()));
}

}  // namespace
}  // namespace gnomon
