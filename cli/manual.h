#pragma once
#include <string>

#include "cli/command.h"

// Manual pages of section 1, from the description of the command line.
namespace gnomon::cli {

// gnomon(1), or gnomon-COMMAND(1) with the commands of that command; throws Error(usage).
std::string manual_page(const Command& program, const std::string& command);
void write_manual_pages(const Command& program, const std::string& folder);

}  // namespace gnomon::cli
