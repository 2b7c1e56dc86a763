#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// What tokenisers ask of characters, by Unicode 14 (Debian's utf8proc). The package `tokenizers` (0.23.3 was asked, for every
// character of Unicode 14) asks older tables for some of it: those of the crates unicode_categories 0.1 (Unicode 8) and
// unicode-normalization-alignments 0.1 (Unicode 9). Where it does so, the answers here are its own.
namespace gnomon {

// The characters of well-formed UTF-8, and back.
std::u32string characters(std::string_view utf8);
void append_utf8(std::string& to, char32_t c);
std::string utf8(std::u32string_view characters);

bool is_blank(char32_t c);            // White_Space, in all versions since 6.3
bool is_hidden(char32_t c);           // Cc, Cf, Co, by unicode_categories
bool is_nonspacing_mark(char32_t c);  // Mn, by unicode_categories
bool is_punctuation(char32_t c);      // P*, by unicode_categories; the ASCII symbols $+<=>^`|~ too
bool is_ideograph(char32_t c);        // as BERT's code takes it: the CJK blocks, Unified and Compatibility
// The lower case of c without its surroundings (SpecialCasing.txt: İ alone becomes two characters).
void append_lower_case(std::u32string& to, char32_t c);

// Normalisation forms D and C (Unicode Standard Annex 15), by unicode-normalization-alignments: some 90 marks that are newer
// than its tables stay where they stand. Linear in the length, but for the sorting of marks.
std::u32string decomposed(std::u32string_view text);
std::u32string composed(std::u32string_view text);

}  // namespace gnomon
