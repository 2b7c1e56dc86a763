#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace gnomon::cli {

// A shell that completes, and the script that teaches it the commands, flags and values of the program.
struct Shell {
  std::string_view name, file;  // where it looks for the script, in a folder `share`
  std::string (*script)(const Command& program);
};
std::span<const Shell> shells();

std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

// The script of the shell of this name; throws Error(usage).
std::string completion(const Command& program, std::string_view shell);
// All of them, each in its place in a folder `share`.
void write_completions(const Command& program, const std::string& share);

}  // namespace gnomon::cli
