#include "gnomon/study/data/symbol_text.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

std::vector<std::string_view> training_parts(const Corpus& corpus) {
  std::vector<std::string_view> all;
  for (const auto& [begin, end] : corpus.parts().training)
    all.push_back(corpus.content().substr(std::size_t(begin), std::size_t(end - begin)));
  return all;
}

}  // namespace

SymbolText::SymbolText(const Corpus& corpus, std::int64_t size, std::int64_t longest)
    : text_sha256_(corpus.sha256()),
      described_(corpus.describe()),
      notes_(corpus.notes()),
      reference_(corpus.reference()),
      vocabulary_(Vocabulary::learn(training_parts(corpus), size)) {
  read(corpus, longest);
  described_.push_back(
      text(vocabulary_.size(), " byte-pair symbols, learned on the training text; a symbol has ",
           fixed(double(corpus.content().size()) / double(symbols_.size()), 2), " bytes on average."));
}

void SymbolText::read(const Corpus& corpus, std::int64_t longest) {
  const auto append = [&](std::int64_t begin, std::int64_t end) {
    const auto more =
        vocabulary_.encode(corpus.content().substr(std::size_t(begin), std::size_t(end - begin)));
    symbols_.insert(symbols_.end(), more.begin(), more.end());
    return std::int64_t(symbols_.size());
  };
  std::int64_t at = 0;
  for (std::size_t i = 0; i < corpus.parts().training.size(); ++i) {
    const auto& [begin, end] = corpus.parts().training[i];
    const std::int64_t from = at;
    parts_.training.emplace_back(from, at = append(begin, end));
    if (i == corpus.parts().held_out.size()) break;
    const Parts::HeldOut& held = corpus.parts().held_out[i];
    const std::int64_t third = append(held.begin, held.third), after = append(held.third, held.end);
    parts_.held_out.push_back({at, third, after});
    if (after - third <= longest || third - at <= longest)
      throw Error(Fault::input,
                  text("the text has too few symbols: a held-out part of ", held.end - held.begin,
                       " bytes has ", after - at, " symbols, too few for windows of ", longest,
                       "; shorten model.length or evaluate.lengths, or take a longer text"));
    at = after;
  }
}

std::string SymbolText::print() const {
  return text("text ", text_sha256_, " in symbols ", vocabulary_.sha256().substr(0, 16));
}

Sample SymbolText::training(const StepBatch& batch) const {
  return training_windows(
      parts_, [&](std::int64_t at) { return symbols_[std::size_t(at)]; }, batch);
}

Sample SymbolText::held_out(const Windows& windows) const {
  return held_out_windows(
      parts_, [&](std::int64_t at) { return symbols_[std::size_t(at)]; }, windows);
}

}  // namespace gnomon
