#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// One of the two stacks of layers of a model with an encoder and a decoder.
struct Stack {
  std::string_view component;  // "encoder", "decoder"
  Family row;                  // as of a model of its own
  std::string part;            // the object that configures it; empty: that of the whole
};
// The encoder, then the decoder; the decoder alone, where the encoder reads no text, or where the file says is_decoder, as the classes
// of a decoder alone write it (BartForCausalLM). Throws Error(input) where an object is of a type that gnomon has no row for.
std::vector<Stack> stacks_of(FileReading& file, const Family& family);

// Takes over what was found of a stack: its layers, and of input and lengths those of the later one, in which the model writes.
// Throws Error(input) for tables of two kinds beside the words.
void join(const FileReading& file, Resolved& answer, const Resolved& stack, std::string_view component);

}  // namespace gnomon
