#pragma once
#include <string>
#include <vector>

// The command line as data: what its help, manual pages and completions say of it.
namespace gnomon::cli {

struct Option {
  std::vector<std::string> names;  // "-h", "--help"; none of a positional
  std::string usage;               // "--out FILE", "PATH"
  std::string explained;           // with the bounds of a number
  std::string kind;                // of its values (cli/values.h); empty: it takes none
  bool many = false, required = false;
};

struct Command {
  std::string name, word;  // "gnomon study status", "status"
  std::string description;
  std::vector<std::string> notes, examples;  // the lines of its footer
  std::vector<Option> positionals, options;  // without those that are hidden
  bool needs_command = false;
  std::vector<Command> commands;
};

}  // namespace gnomon::cli
