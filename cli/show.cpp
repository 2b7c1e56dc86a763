#include "cli/commands.h"
namespace gnomon::cli { int show(const ShowOptions&) { return 0; } }
