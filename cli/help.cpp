// --help, and the command line as data.
#include <fmt/core.h>

#include "cli/describe.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

// "gnomon study status"
std::string full_name(const CLI::App& command) {
  return (command.get_parent() ? full_name(*command.get_parent()) + " " : "") + command.get_name();
}

// Without those that are hidden.
std::vector<const CLI::Option*> listed_options(const CLI::App& app, bool positional) {
  return app.get_options([&](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames()) all.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

std::string usage_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  std::string out;
  for (const std::string& name : names_of(option)) out += (out.empty() ? "" : ", ") + name;
  if (option.get_expected_max() == 0) return out;  // a flag
  const std::string type = option.get_type_name();
  out += " " + type.substr(0, type.find(':'));
  return option.get_default_str().empty() ? out : out + "=" + option.get_default_str();
}

std::string explained(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto bounds = type.find('[');
  return option.get_description() + (bounds == type.npos ? "" : " " + type.substr(bounds)) +
         (option.get_required() && !option.get_positional() ? " (required)" : "");
}

// Examples begin with two spaces.
std::vector<std::string> footer_lines(const CLI::App& app, bool examples) {
  const std::string footer = app.get_footer();
  std::vector<std::string> lines;
  for (const std::string_view line : split(footer, '\n')) {
    if (line.empty() || line == "Examples:" || (line.substr(0, 2) == "  ") != examples) continue;
    lines.emplace_back(trim(line));
  }
  return lines;
}

std::vector<Option> options_of(const CLI::App& app, bool positional) {
  std::vector<Option> all;
  for (const CLI::Option* o : listed_options(app, positional)) {
    const std::string type = o->get_type_name();
    const bool takes_value = o->get_expected_max() > 0;
    all.push_back({names_of(*o), usage_of(*o), explained(*o),
                   takes_value ? type.substr(0, type.find(':')) : "", o->get_expected_max() > 1,
                   o->get_required()});
  }
  return all;
}

constexpr std::size_t kColumn = 28;  // where explanations begin

std::string row(const std::string& what, const std::string& explanation) {
  const std::string start = "  " + what;
  const bool beside = start.size() + 2 <= kColumn;
  return (beside ? fmt::format("{:<{}}", start, kColumn) : start + "\n" + std::string(kColumn, ' ')) +
         wrapped(explanation, kColumn) + "\n";
}

class Help : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool) const override {
    return row(usage_of(*option), explained(*option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description()) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    std::string out;
    for (const std::string_view line : split(footer, '\n'))
      out += (line.substr(0, 2) == "  " ? std::string(line) : wrapped(std::string(line))) + "\n";
    return footer.empty() ? "" : out;
  }
};

// The word that no command, flag or value was.
std::string first_left(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  return left.empty() ? "" : left.front();
}

const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

Error unknown_command(const CLI::App& app, std::string_view word) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : listed_commands(app)) names.push_back(command->get_name());
  return unknown("command", word, names);
}

Error unknown_option(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : listed_options(app, false)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return unknown("option of " + full_name(app), word.substr(0, word.find('=')), views,
                 "`" + full_name(app) + " --help` lists them");
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() { return std::make_shared<Help>(); }

std::string help_of(const CLI::App& app, const std::vector<std::string>& command) {
  const CLI::App* at = &app;
  for (const std::string& name : command) {
    const auto below = at->get_subcommands([&](const CLI::App* known) { return known->get_name() == name; });
    if (below.empty()) throw unknown_command(*at, name);
    at = below.front();
  }
  return at->get_formatter()->make_help(at, full_name(*at), CLI::AppFormatMode::Normal);
}

void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string word = first_left(app);
  const CLI::App& command = deepest(app);
  if (word.size() > 1 && word[0] == '-') throw unknown_option(command, word);
  if (!word.empty() && &command == &app) throw unknown_command(app, word);
  throw Error(Fault::usage, text(error.what(), "; see `", full_name(command), " --help`"));
}

std::vector<const CLI::App*> listed_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

Command described(const CLI::App& app) {
  Command c{full_name(app),
            app.get_name(),
            app.get_description(),
            footer_lines(app, false),
            footer_lines(app, true),
            options_of(app, true),
            options_of(app, false),
            app.get_require_subcommand_min() > 0,
            {}};
  for (const CLI::App* command : listed_commands(app)) c.commands.push_back(described(*command));
  return c;
}

}  // namespace gnomon::cli
