#include <algorithm>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/tokenizer.h"
#include "gnomon/files/tokenizer_parts.h"

// A tokenizer.json, component by component. Each has a list of the types that are read; there is no other way in.
namespace gnomon {
namespace {

[[noreturn]] void unsupported(const JsonValue& place, std::string_view what) {
  throw Error(Fault::input, text(place.where(), ": unsupported: ", what, "; pass token ids"));
}
[[noreturn]] void unsupported_type(const JsonValue& component) {
  const std::string& type = component.member("type").text();
  unsupported(component, text("the type ", excerpt(type)));
}
bool is_type(const JsonValue& component, std::string_view type) {
  return component.member("type").text() == type;
}

// The components of a Sequence, one that stands alone, or none.
std::vector<JsonValue> components(const std::optional<JsonValue>& component, std::string_view list) {
  if (!component) return {};
  return is_type(*component, "Sequence") ? component->member(list).list() : std::vector{*component};
}

bool flag(const JsonValue& component, std::string_view key, bool standard) {
  const auto found = component.find(key);
  return found ? found->flag() : standard;
}

Normalizer normalizer_of(const JsonValue& top) {
  const auto all = components(top.find("normalizer"), "normalizers");
  if (all.empty()) return {};
  if (all.size() > 1) unsupported(all[1], "a second normalizer");
  if (is_type(all[0], "NFC")) return FormC{};
  if (!is_type(all[0], "BertNormalizer")) unsupported_type(all[0]);
  const bool lower_case = flag(all[0], "lowercase", true);
  return BertNormalizer{flag(all[0], "clean_text", true), flag(all[0], "handle_chinese_chars", true),
                        flag(all[0], "strip_accents", lower_case), lower_case};
}

Split split_of(const JsonValue& component) {
  const auto pattern = component.member("pattern").find("Regex");
  if (!pattern) unsupported(component, "a pattern that is not a regular expression");
  const std::string& behavior = component.member("behavior").text();
  const bool removes = behavior == "Removed", inverts = flag(component, "invert", false);
  if (!removes && behavior != "Isolated") unsupported(component, text("the behavior ", excerpt(behavior)));
  return {Regex(pattern->text(), pattern->where()), !removes || inverts, !removes || !inverts};
}

// Digits, Split ... and ByteLevel at the end.
void read_splits(const JsonValue& top, BytePairs& model) {
  const auto all = components(top.find("pre_tokenizer"), "pretokenizers");
  if (all.empty() || !is_type(all.back(), "ByteLevel"))
    unsupported(top, "a BPE whose last pre_tokenizer is not ByteLevel");
  for (const JsonValue& c : all) {
    if (&c == &all.back()) {
      model.space_first = flag(c, "add_prefix_space", true);
      if (flag(c, "use_regex", true)) model.last = Split{Regex(kGpt2Words, c.where()), true, true};
    } else if (is_type(c, "Digits")) {
      const bool alone = flag(c, "individual_digits", false);
      model.splits.push_back({Regex(alone ? "\\p{N}" : "\\p{N}+", c.where()), true, true});
    } else if (is_type(c, "Split")) {
      model.splits.push_back(split_of(c));
    } else {
      unsupported_type(c);
    }
  }
}

void read_vocabulary(const JsonValue& model, TokenizerParts& parts) {
  const JsonValue vocabulary = model.member("vocab");
  for (const auto& [name, id] : vocabulary.members())
    parts.add_to_vocabulary(std::string(name), id.whole(0, Tokenizer::kMostTokens - 1), vocabulary.where());
}

// Each is a list of two names or, in older files, both with a space between them.
Merges read_merges(const JsonValue& model, const TokenizerParts& parts) {
  std::vector<NamedMerge> merges;
  const JsonValue list = model.member("merges");
  for (const JsonValue& m : list.list()) {
    if (m.is_text()) {
      const auto words = split(m.text(), ' ');
      if (merges.empty() && m.text().rfind("#version", 0) == 0) continue;
      if (words.size() != 2) m.wrong("two tokens with a space between them");
      merges.push_back({words[0], words[1]});
    } else {
      const auto both = m.list(2);
      merges.push_back({both[0].text(), both[1].text()});
    }
  }
  return merges_of(parts, merges, list.where());
}

std::int32_t id_of(const JsonValue& name, const IdsByText& ids) {
  const auto found = ids.find(name.text());
  if (found == ids.end()) name.wrong("a token of the vocabulary");
  return found->second;
}

BytePairs byte_pairs_of(const JsonValue& top, const JsonValue& model, const TokenizerParts& parts) {
  if (std::holds_alternative<BertNormalizer>(parts.normalizer))
    unsupported(top, "a BPE with a BertNormalizer");
  if (flag(model, "byte_fallback", false)) unsupported(model, "a BPE with byte_fallback");
  if (const auto share = model.find("dropout"); share && share->number() != 0)
    unsupported(model, "a BPE with dropout");
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto affix = model.find(key); affix && !affix->text().empty())
      unsupported(model, text("a BPE with ", key));
  }
  BytePairs pairs;
  read_splits(top, pairs);
  pairs.merges = read_merges(model, parts);
  if (const auto unknown = model.find("unk_token")) pairs.unknown = id_of(*unknown, parts.vocabulary);
  pairs.fuses_unknown = flag(model, "fuse_unk", false);
  fill_bytes(pairs, parts, flag(model, "ignore_merges", false));
  return pairs;
}

WordPieces word_pieces_of(const JsonValue& top, const JsonValue& model, const TokenizerParts& parts) {
  if (std::holds_alternative<FormC>(parts.normalizer))
    unsupported(top, "a WordPiece with the normalizer NFC");
  const auto cutters = components(top.find("pre_tokenizer"), "pretokenizers");
  if (cutters.size() != 1 || !is_type(cutters[0], "BertPreTokenizer"))
    unsupported(top, "a WordPiece whose pre_tokenizer is not BertPreTokenizer");
  WordPieces pieces{model.member("continuing_subword_prefix").text(),
                    model.member("max_input_chars_per_word").whole(0, 1000),
                    id_of(model.member("unk_token"), parts.vocabulary), 0};
  for (const auto& [name, id] : parts.vocabulary)
    pieces.longest_token = std::max(pieces.longest_token, name.size());
  return pieces;
}

void read_model(const JsonValue& top, TokenizerParts& parts) {
  const JsonValue model = top.member("model");
  const auto decoder = top.find("decoder");
  if (is_type(model, "BPE")) {
    if (decoder && !is_type(*decoder, "ByteLevel")) unsupported_type(*decoder);
    parts.model = byte_pairs_of(top, model, parts);
  } else if (is_type(model, "WordPiece")) {
    if (decoder && !is_type(*decoder, "WordPiece")) unsupported_type(*decoder);
    parts.model = word_pieces_of(top, model, parts);
    parts.cleans_up = decoder && flag(*decoder, "cleanup", true);
  } else {
    unsupported_type(model);
  }
}

void read_added(const JsonValue& top, TokenizerParts& parts) {
  const auto list = top.find("added_tokens");
  if (!list) return;
  std::vector<AddedToken> literal, normalized;
  auto next_id = std::int64_t(parts.vocabulary.size());
  for (const JsonValue& t : list->list()) {
    if (flag(t, "single_word", false)) unsupported(t, "an added token that is a single word");
    const std::string& content = t.member("content").text();
    const std::int64_t id = t.member("id").whole(0, Tokenizer::kMostTokens - 1);
    // `tokenizers` numbers them anew (added_vocabulary.rs, add_tokens), and the model was trained with its numbers.
    if (!parts.vocabulary.count(content) && id != next_id++)
      t.member("id").wrong(text(next_id - 1, ", the next number after the vocabulary"));
    const bool is_special = flag(t, "special", false);
    parts.add_token(content, id, is_special, t.where());
    AddedToken token{content, std::int32_t(id), flag(t, "lstrip", false), flag(t, "rstrip", false)};
    if (flag(t, "normalized", !is_special)) {
      token.content = parts.normal(content);
      normalized.push_back(std::move(token));
    } else {
      literal.push_back(std::move(token));
    }
  }
  parts.literal = AddedTokens(std::move(literal), list->where());
  parts.normalized = AddedTokens(std::move(normalized), list->where());
}

// What stands before and after each text, by the template of a single one.
void read_template(const JsonValue& processor, TokenizerParts& parts) {
  bool after = false;
  for (const JsonValue& part : processor.member("single").list()) {
    if (const auto sequence = part.find("Sequence")) {
      if (std::exchange(after, true) || sequence->member("id").text() != "A")
        unsupported(part, "a second text");
      continue;
    }
    const JsonValue token =
        processor.member("special_tokens").member(part.member("SpecialToken").member("id").text());
    for (const JsonValue& id : token.member("ids").list())
      (after ? parts.last : parts.first).push_back(std::int32_t(id.whole(0, Tokenizer::kMostTokens - 1)));
  }
  if (!after) unsupported(processor, "a template without the text");
}

void read_processors(const JsonValue& top, TokenizerParts& parts) {
  for (const JsonValue& p : components(top.find("post_processor"), "processors")) {
    if (is_type(p, "ByteLevel")) continue;  // it moves offsets
    if (!parts.first.empty() || !parts.last.empty()) unsupported(p, "a second processor that adds tokens");
    if (is_type(p, "TemplateProcessing")) {
      read_template(p, parts);
    } else if (is_type(p, "BertProcessing") || is_type(p, "RobertaProcessing")) {
      const auto id = [&p](std::string_view end) {
        return std::int32_t(p.member(end).list(2)[1].whole(0, Tokenizer::kMostTokens - 1));
      };
      parts.first = {id("cls")};
      parts.last = {id("sep")};
    } else {
      unsupported_type(p);
    }
  }
  for (const auto* ids : {&parts.first, &parts.last}) {
    for (const std::int32_t id : *ids) {
      if (!parts.names.count(id))
        unsupported(top, text("a post_processor with the id ", id, ", which no token has"));
    }
  }
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, std::string_view where) {
  const StrictJson document = parse_json(json, where);
  const JsonValue top(document, std::string(where));
  if (top.member("version").text() != "1.0") top.member("version").wrong("\"1.0\"");
  auto parts = std::make_shared<TokenizerParts>();
  read_vocabulary(top.member("model"), *parts);
  parts->normalizer = normalizer_of(top);
  read_model(top, *parts);
  read_added(top, *parts);
  read_processors(top, *parts);
  return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::read(const Path& path) { return parse(read_file(path), path.string()); }

}  // namespace gnomon
