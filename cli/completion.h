#pragma once
#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace gnomon::cli {

// A shell that completes, and the script that teaches it the commands, flags and values of an app.
struct Shell {
  std::string_view name, file;  // where it looks for the script, in a folder `share`
  std::string (*script)(const CLI::App& app);
};
std::span<const Shell> shells();

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

// The script of the shell of this name; throws Error(usage).
std::string completion(const CLI::App& app, std::string_view shell);
// All of them, each in its place in a folder `share`.
void write_completions(const CLI::App& app, const std::string& share);

}  // namespace gnomon::cli
