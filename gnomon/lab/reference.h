#pragma once
#include "gnomon/lab/corpus.h"

namespace gnomon {

// What the test text costs whom little of it is known, in nats a byte: a yardstick for what a model has learned. Counted on
// the training text; a pair that it has not is as likely as its letter (Jelinek, Mercer 1980: interpolated with weight
// 1 / (count + 1)).
struct ReferenceLosses {
  double letters;  // who knows how often each byte comes
  double pairs;  // who knows the byte before as well: where a decoder stands before it learns to look further
};
ReferenceLosses reference_losses(const Corpus& corpus);

}  // namespace gnomon
