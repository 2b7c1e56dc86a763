#include "cli/manual.h"

#include "cli/help.h"
#include "cli/program.h"
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

std::string options_of(const CLI::App& app) {
  std::string out;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : listed_options(app, positional))
      out += paragraph(text("\\fB", roff(usage_of(*option)), "\\fR"), explained(*option));
  }
  return out;
}

std::string synopsis(const CLI::App& app) {
  std::string out = text(".B ", roff(full_name(app)), "\n");
  if (!listed_options(app, false).empty()) out += "[\\fIOPTIONS\\fR]\n";
  for (const CLI::Option* option : listed_options(app, true)) {
    const std::string name = text("\\fI", roff(option->get_name()), "\\fR");
    out += option->get_required() ? name + "\n" : text("[", name, "]\n");
  }
  if (!listed_commands(app).empty())
    out += app.get_require_subcommand_min() ? "\\fICOMMAND\\fR ...\n" : "[\\fICOMMAND\\fR ...]\n";
  return out;
}

std::string notes(const CLI::App& app) {
  std::string out;
  for (const std::string& line : footer_lines(app, false)) out += text(".PP\n", roff(line), "\n");
  return out;
}

std::string examples(const CLI::App& app) {
  std::string out;
  for (const std::string& line : footer_lines(app, true)) out += roff(line) + "\n";
  return out.empty() ? out : text(".PP\n.nf\n", out, ".fi\n");
}

// Those of a command, each with what it takes: `gnomon study status`.
std::string commands_of(const CLI::App& app, bool in_full) {
  std::string out;
  for (const CLI::App* command : listed_commands(app)) {
    if (in_full) {
      out += text(".SS ", roff(full_name(*command)), "\n", roff(command->get_description()), "\n",
                  options_of(*command), examples(*command));
    } else {
      out +=
          paragraph(text("\\fBgnomon\\-", roff(command->get_name()), "\\fR(1)"), command->get_description());
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

std::string page(const CLI::App& command) {
  const bool whole = !command.get_parent();
  std::string name = full_name(command);
  for (char& c : name) c = c == ' ' ? '-' : c;
  std::string title = name;
  for (char& c : title) c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
  std::string description = command.get_description();
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

std::string manual_page(const CLI::App& app, const std::string& command) {
  if (command.empty()) return page(app);
  std::vector<std::string_view> names;
  for (const CLI::App* known : listed_commands(app)) {
    if (known->get_name() == command) return page(*known);
    names.push_back(known->get_name());
  }
  throw unknown("command", command, names);
}

void write_manual_pages(const CLI::App& app, const std::string& folder) {
  make_folders(folder);
  write_file(Path(folder) / "gnomon.1", page(app));
  for (const CLI::App* command : listed_commands(app))
    write_file(Path(folder) / text("gnomon-", command->get_name(), ".1"), page(*command));
}

}  // namespace gnomon::cli
