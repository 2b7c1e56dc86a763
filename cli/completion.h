#pragma once
#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace gnomon::cli {

// A shell that completes, and the script that teaches it the commands, flags and values of an app.
struct Shell {
  std::string_view name;
  std::string (*script)(const CLI::App& app);
};
std::span<const Shell> shells();

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

// The script of the shell of this name; throws Error(usage).
std::string completion(const CLI::App& app, std::string_view shell);

}  // namespace gnomon::cli
