#include "cli/manual.h"

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

// As roff reads it: a backslash, a hyphen that is to be copied, and what would be a request at the start of a line.
std::string roff(std::string_view words) {
  std::string out = !words.empty() && (words[0] == '.' || words[0] == '\'') ? "\\&" : "";
  for (const char c : words) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`' || c == '\'') {
      out += c == '`' ? "\\(ga" : "\\(aq";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '^') {
      out += "\\(ha";
    } else {
      out += c;
    }
  }
  return out;
}

std::string paragraph(const std::string& head, const std::string& body) {
  return text(".TP\n", head, "\n", roff(body), "\n");
}

std::string options_of(const Command& command) {
  std::string out;
  for (const auto* options : {&command.positionals, &command.options}) {
    for (const Option& o : *options) out += paragraph(text("\\fB", roff(o.usage), "\\fR"), o.explained);
  }
  return out;
}

std::string synopsis(const Command& command) {
  std::string out = text(".B ", roff(command.name), "\n");
  if (!command.options.empty()) out += "[\\fIOPTIONS\\fR]\n";
  for (const Option& o : command.positionals) {
    const std::string name = text("\\fI", roff(o.usage), "\\fR");
    out += o.required ? name + "\n" : text("[", name, "]\n");
  }
  if (!command.commands.empty())
    out += command.needs_command ? "\\fICOMMAND\\fR ...\n" : "[\\fICOMMAND\\fR ...]\n";
  return out;
}

std::string notes(const Command& command) {
  std::string out;
  for (const std::string& line : command.notes) out += text(".PP\n", roff(line), "\n");
  return out;
}

std::string examples(const Command& command) {
  std::string out;
  for (const std::string& line : command.examples) out += roff(line) + "\n";
  return out.empty() ? out : text(".PP\n.nf\n", out, ".fi\n");
}

// Those of a command, each with what it takes: `gnomon study status`.
std::string commands_of(const Command& command, bool in_full) {
  std::string out;
  for (const Command& c : command.commands) {
    if (in_full) {
      out += text(".SS ", roff(c.name), "\n", roff(c.description), "\n", options_of(c), examples(c));
    } else {
      out += paragraph(text("\\fBgnomon\\-", roff(c.word), "\\fR(1)"), c.description);
    }
  }
  return out;
}

std::string exit_codes() {
  return paragraph("0", "done") +
         paragraph("1", "done, but something was found to be wrong, or runs failed") +
         paragraph("2", "a wrong command line or configuration") + paragraph("3", "a malformed file") +
         paragraph("4", "an error of the file system, or too little memory") +
         paragraph("5", "another process is writing the study") +
         paragraph("130, 143", "interrupted; the same command continues");
}

std::string page(const Command& command) {
  const bool whole = command.name == command.word;
  std::string name = command.name;
  for (char& c : name) c = c == ' ' ? '-' : c;
  std::string title = name;
  for (char& c : title) c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
  std::string description = command.description;
  if (whole) description = description.substr(description.find(": ") + 2);
  const std::string sections = commands_of(command, !whole), shown = examples(command);
  return text(".TH ", roff(title), " 1 \"\" \"gnomon ", GNOMON_VERSION, "\" \"gnomon\"\n.SH NAME\n",
              roff(name), " \\- ", roff(description), "\n.SH SYNOPSIS\n", synopsis(command),
              notes(command).empty() ? "" : ".SH DESCRIPTION\n", notes(command), ".SH OPTIONS\n",
              options_of(command), sections.empty() ? "" : text(".SH COMMANDS\n", sections),
              shown.empty() ? "" : text(".SH EXAMPLES\n", shown), ".SH EXIT STATUS\n", exit_codes(),
              whole ? "" : ".SH SEE ALSO\n.BR gnomon (1)\n");
}

}  // namespace

std::string manual_page(const Command& program, const std::string& command) {
  if (command.empty()) return page(program);
  std::vector<std::string_view> names;
  for (const Command& known : program.commands) {
    if (known.word == command) return page(known);
    names.push_back(known.word);
  }
  throw unknown("command", command, names);
}

void write_manual_pages(const Command& program, const std::string& folder) {
  make_folders(folder);
  write_file(Path(folder) / "gnomon.1", page(program));
  for (const Command& command : program.commands)
    write_file(Path(folder) / text("gnomon-", command.word, ".1"), page(command));
}

}  // namespace gnomon::cli
