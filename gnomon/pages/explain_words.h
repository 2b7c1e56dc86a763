#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/explain/explain.h"

namespace gnomon::pages {

// An explanation in words, a sentence or a few for each thing told. For terminals and pages alike.

std::string layers_text(const std::vector<std::int64_t>& of);  // "0 to 4, 6"
// With " (guess)" behind it, where it is one (explain/guesses.h).
std::string marked(std::string says, bool guess);
// The command that shows the encoding of the layers by itself; empty: they have no attention.
std::string show_command(const LayerGroup& group);

// What transformers refuses the file for, a sentence each; none: it reads and runs it.
std::vector<std::string> refusal_sentences(const Resolved& model);
std::string remark_sentence(const Remark& remark);
// What the model does with position: the answer.
std::vector<std::string> explain_answers(const Explanation& e);
// One thing about a group of layers, under a short name: "frequencies", "1 to 2.14e-07 radians a token, 64 of them".
struct Line {
  std::string name, says;
};
// A number's value, with the key and the rule that it comes from.
std::string source_text(const Explanation& e, const Because& because);
// `full`: every frequency and slope.
std::vector<Line> group_lines(const Explanation& e, const LayerGroup& group, bool full);
// What the file says of e.trained(): a length that was trained on, or one that was extended, nobody says how.
std::string_view first_length(const Explanation& e);
// What becomes of the model in a context of the n-th of e.lengths, by group; the first is the reference.
std::vector<std::string> at_length(const Explanation& e, std::size_t n);
std::string cache_text(const Explanation& e);

}  // namespace gnomon::pages
