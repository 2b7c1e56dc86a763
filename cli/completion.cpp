// Scripts that complete, from the description of the command line. What each shell does with it is in a frame of that
// shell's language, cli/completion/; here are the lists that fill it.
#include "cli/completion.h"

#include <algorithm>

#include "cli/values.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

struct Frame {
  std::string_view name, content;
};
constexpr Frame kFrames[] = {
#include "completion.inc"
};

// The program and all its commands, those of commands as well.
std::vector<const Command*> all_commands(const Command& program) {
  std::vector<const Command*> all{&program};
  for (const Command& command : program.commands) {
    const auto below = all_commands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string words_of(const Command& program, const ValueKind& kind) {
  std::vector<std::string> words;
  if (kind.offered == Offered::words) words = kind.words();
  for (const Command& command : program.commands)
    if (kind.offered == Offered::commands) words.push_back(command.word);
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// The frame of a shell, with what stands in it for the line %%NAME.
std::string filled(std::string_view shell,
                   std::initializer_list<std::pair<std::string_view, std::string>> parts) {
  const auto frame =
      std::find_if(std::begin(kFrames), std::end(kFrames), [&](const Frame& f) { return f.name == shell; });
  std::string out(frame->content);
  for (const auto& [name, content] : parts) {
    const std::string mark = text("%%", name, "\n");
    out.replace(out.find(mark), mark.size(), content);
  }
  return out;
}

// Within single quotes of a shell that has no escapes there.
std::string in_quotes(std::string_view words) {
  std::string out = "'";
  for (const char c : words) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The branches of a `case` of bash and zsh: what is offered of each kind.
std::string offers(const Command& program, std::string_view files, std::string_view folders,
                   std::string_view words) {
  std::string out;
  for (const ValueKind& kind : value_kinds()) {
    const std::string all = words_of(program, kind);
    const std::string head = text("    ", kind.name, ") ");
    if (kind.offered == Offered::files) out += text(head, files, " ;;\n");
    if (kind.offered == Offered::folders) out += text(head, folders, " ;;\n");
    if (!all.empty()) out += text(head, words, " ", in_quotes(kind.goes_on), " ", in_quotes(all), " ;;\n");
  }
  return out;
}

std::string branch(const std::vector<std::string>& patterns, const std::string& does) {
  std::string out;
  for (const std::string& pattern : patterns) out += (out.empty() ? "    " : " | ") + in_quotes(pattern);
  return out.empty() ? out : text(out, ") ", does, " ;;\n");
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::vector<std::string> paths;
  std::string values, commands;
  for (const Command* command : all_commands(program)) {
    const std::string& path = command->name;
    if (command != &program) paths.push_back(path);
    std::string flags, first, kinds;
    for (const Option& option : command->options) {
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        flags += (flags.empty() ? "" : " ") + name;
        patterns.push_back(path + " " + name);
      }
      if (!option.kind.empty()) values += branch(patterns, text("kind=", kind_of(option).name));
    }
    for (const Command& below : command->commands) first += (first.empty() ? "" : " ") + below.word;
    for (const Option& option : command->positionals) kinds += text(" ", kind_of(option).name);
    commands += branch({path}, text("flags=", in_quotes(flags), " commands=", in_quotes(first), " kinds=(",
                                    trim(kinds), ")"));
  }
  return filled("bash", {{"OFFERS", offers(program, "_gnomon_files -f", "_gnomon_files -d", "_gnomon_words")},
                         {"PATHS", branch(paths, "path+=\" ${COMP_WORDS[i]}\"")},
                         {"VALUES", values},
                         {"COMMANDS", commands}});
}

namespace {

// A description within _arguments and _describe, whose signs are brackets and colons.
std::string zsh_escaped(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const Option& option) {
  const std::string value =
      option.kind.empty() ? "" : text(":", kind_of(option).name, ":_gnomon_offer ", kind_of(option).name);
  std::string out;
  for (const std::string& name : option.names)
    out += text("    ",
                in_quotes(text(option.many ? "*" : "", name, "[", zsh_escaped(option.explained), "]", value)),
                " \\\n");
  return out;
}

std::string zsh_function(const Command& command) {
  std::string name = "_" + command.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string out = text(name, "() {\n");
  std::string options, below, rest, first;
  for (const Option& option : command.options) options += zsh_option(option);
  for (const Command& sub : command.commands) {
    below += text("    ", in_quotes(zsh_escaped(sub.word) + ":" + zsh_escaped(sub.description)), "\n");
    rest += text("      ", sub.word, ") ", name, "_", sub.word, " ;;\n");
  }
  for (const Option& option : command.positionals)
    first += text("    ",
                  in_quotes(text(option.many ? "*" : "", ":", zsh_escaped(option.usage), ":_gnomon_offer ",
                                 kind_of(option).name)),
                  " \\\n");
  if (below.empty()) return text(out, "  _arguments -S \\\n", options, first, "    && return\n}\n");
  std::string positional;
  for (const Option& option : command.positionals)
    positional += text("      _gnomon_offer ", kind_of(option).name, "\n");
  return text(out, "  local context state state_descr line\n  typeset -A opt_args\n  local -a commands=(\n",
              below, "  )\n  _arguments -C \\\n", options,
              "    '1: :->first' \\\n    '*:: :->rest' && return\n  case $state in\n    first)\n"
              "      _describe -t commands command commands\n",
              positional, "      ;;\n    rest)\n      case $words[1] in\n", rest,
              "      esac\n      ;;\n  esac\n}\n");
}

}  // namespace

std::string zsh_completion(const Command& program) {
  std::string functions;
  for (const Command* command : all_commands(program)) functions += zsh_function(*command);
  return filled(
      "zsh", {{"OFFERS", offers(program, "_files", "_files -/", "_gnomon_words")}, {"FUNCTIONS", functions}});
}

namespace {

// Single quotes of fish know \' and \\.
std::string fish_quoted(std::string_view words) {
  std::string out = "'";
  for (const char c : words) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_offer(const Command& program, const ValueKind& kind) {
  const std::string all = words_of(program, kind);
  if (kind.offered == Offered::files) return " -F";
  if (kind.offered == Offered::folders) return " -a '(__fish_complete_directories)'";
  if (all.empty()) return "";
  return " -a " + fish_quoted(kind.goes_on.empty() ? all : text("(__gnomon_goes_on \"", all, "\")"));
}

std::string fish_value(const Command& program, const ValueKind& kind) {
  return (kind.offered == Offered::files ? " -r" : " -x") + fish_offer(program, kind);
}

std::string fish_command(const Command& program, const Command& command) {
  const std::string start = text("complete -c gnomon -n ", fish_quoted(text("__gnomon_at ", command.name)));
  std::string out;
  for (const Option& option : command.options) {
    out += start;
    for (const std::string& name : option.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    out += text(" -d ", fish_quoted(option.explained),
                option.kind.empty() ? "" : fish_value(program, kind_of(option)), "\n");
  }
  for (const Command& below : command.commands)
    out += text(start, " -a ", below.word, " -d ", fish_quoted(below.description), "\n");
  for (const Option& option : command.positionals) {
    const std::string offer = fish_offer(program, kind_of(option));
    if (!offer.empty()) out += text(start, offer, "\n");
  }
  return out;
}

}  // namespace

std::string fish_completion(const Command& program) {
  std::string paths, commands;
  for (const Command* command : all_commands(program)) {
    if (command != &program) paths += " " + fish_quoted(command->name);
    commands += fish_command(program, *command);
  }
  return filled("fish", {{"PATHS", text("      case", paths, "\n")}, {"COMMANDS", commands}});
}

std::span<const Shell> shells() {
  static constexpr Shell all[] = {{"bash", "bash-completion/completions/gnomon", bash_completion},
                                  {"zsh", "zsh/site-functions/_gnomon", zsh_completion},
                                  {"fish", "fish/vendor_completions.d/gnomon.fish", fish_completion}};
  return all;
}

std::string completion(const Command& program, std::string_view shell) {
  std::vector<std::string_view> names;
  for (const Shell& known : shells()) {
    if (known.name == shell) return known.script(program);
    names.push_back(known.name);
  }
  throw unknown("shell", shell, names);
}

void write_completions(const Command& program, const std::string& share) {
  for (const Shell& shell : shells()) {
    const Path path = Path(share) / shell.file;
    make_folders(path.parent_path());
    write_file(path, shell.script(program));
  }
}

}  // namespace gnomon::cli
