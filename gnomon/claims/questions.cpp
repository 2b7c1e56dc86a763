#include "gnomon/claims/claim.h"

namespace gnomon::claims {

std::span<const Question> questions() {
  static const Question all[] = {
      {"add", "Why add, and not concatenate?", "001-01",
       "Because nothing is lost by it: a concatenation that is projected back is a sum of two mapped "
       "vectors, exactly. It is not because the sum trains best: at the size measured here concat differs "
       "from it by {001-01|loss of concat(sinusoidal), less the sum's (nats)} nats a byte, concat with a "
       "projection by {001-01|loss of project(sinusoidal), less the sum's (nats)}."},
      {"meaning", "Does the sum mess up the meaning?", "002-03",
       "Not from 64 channels on: the nearest word to word + position is the right one in {002-03|word found, "
       "d = 64} of cases at d = 64, and in all at 128. In small spaces it does: {002-03|word found, d = 16} "
       "at d = 16."},
      {"orthogonal", "Are words and positions orthogonal?", "000-08",
       "Single vectors nearly are, by chance; subspaces are not: a random pair overlaps by the larger "
       "dimension over d. Training moves them a little further apart, to a mean cos² of {000-08|mean cos² "
       "trained, r = 16} for 16 directions each, against {000-08|chance, r = 16} by chance, and Q'K still "
       "links them."},
      {"terms", "What does attention make of the four terms?", "000-02",
       "They add up to the logits exactly. In trained models words asking words have {000-02|share of word "
       "asks word} of the variance and positions asking positions {000-02|share of position asks position}, "
       "but the loss rises by {000-02|loss without word asks word, more than intact (nats)} nats without the "
       "former and by {000-02|loss without position asks position, more than intact (nats)} without the "
       "latter: variance is not importance."},
      {"amplitude", "How loud should the position be?", "002-09",
       "About as loud as the words: at a tenth of the amplitude the loss is {002-09|loss at A = 0.1, less A "
       "= 1 (nats)} nats higher, at three times it is {002-09|loss at A = 3} against {002-09|loss at A = 1}. "
       "Training hardly moves the ratio of the lengths, except where the position is far too loud."},
      {"waves", "Why both sine and cosine?", "002-05",
       "With both, a shift by k is one fixed rotation of the code, the same at every position; with one of "
       "them no linear map does it. A model of this size does not need that: with sines alone its loss "
       "differs by {002-05|loss with sine, less both (nats)} nats."},
      {"clock", "What is the clock with many hands?", "003-10",
       "Every pair of channels is the end of a hand on the unit circle, clockwise with the sine on x; each "
       "later hand is slower. No two of the first 20,000 positions show nearly the same time: the nearest "
       "are neighbours."},
      {"index", "Why not the index itself, or an index from 0 to 1?", "003-03",
       "A raw index grows until the word vanishes behind it in a LayerNorm; an index from 0 to 1 gives "
       "neighbours another distance in every text. Logits linear in the position can also put no more than a "
       "quarter of the attention on the token before: ALiBi's best head reaches {004-09|alibi: weight on the "
       "previous token, best head}, RoPE's {004-09|rope: weight on the previous token, best head}."},
      {"order", "Where does order come from?", "003-01",
       "Attention alone has none: permuting the input permutes the output. A causal mask gives it from the "
       "second layer on; an encoding gives it at once and saves training, {004-07|causal, loss without "
       "positions, less the sinusoid's (nats)} nats at two layers and {004-07|causal, 8 layers, loss without "
       "positions, less the sinusoid's (nats)} at eight."},
      {"depth", "How do positions survive through many layers?", "003-15",
       "The residual stream carries what was added at the bottom, and every layer writes it again: after "
       "eight layers a linear probe reads the position with R² {003-15|8 layers, sinusoidal, causal: R² "
       "after the last}, and still {003-15|8 layers, sinusoidal, causal: R² at the end, cut} when the stream "
       "is cut after the first layer. Under a causal mask models without positions make their own, R² "
       "{003-15|8 layers, none, causal: highest R² of any layer} in their best layer; encoders without "
       "positions cannot."}};
  return all;
}

}  // namespace gnomon::claims
