#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace gnomon::cli {

// --help in lines that fit the screen.
std::shared_ptr<CLI::FormatterBase> help_format();
// The help of a command of the program, by its name: {"study", "status"}; throws Error(usage) with what was probably meant.
std::string help_of(const CLI::App& app, const std::vector<std::string>& command);

// What is told of a command line that cannot be parsed.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error);

// Of an option: what stands before its explanation, "--out FILE", and the explanation with the bounds of a number.
std::string usage_of(const CLI::Option& option);
std::string explained(const CLI::Option& option);
// Without those that are hidden. Positionals apart.
std::vector<const CLI::Option*> listed_options(const CLI::App& app, bool positional);
// The lines of a footer: examples begin with two spaces.
std::vector<std::string> footer_lines(const CLI::App& app, bool examples);

}  // namespace gnomon::cli
