#pragma once

namespace gnomon::cli {

// Does what the command line asks; the exit code. Throws Error(usage) for what cannot be, with what was probably meant.
int run_program(int argc, char** argv);

}  // namespace gnomon::cli
