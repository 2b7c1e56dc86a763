#include "cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace gnomon::cli {

void tell(const std::string& sentence) { fmt::print(stderr, "gnomon: {}\n", sentence); }

Progress::Progress(bool quiet, std::size_t workers, std::size_t runs, std::size_t already_done)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO)),
      colour_(!std::getenv("NO_COLOR")),
      runs_(runs),
      already_done_(already_done),
      done_(already_done),
      start_(Clock::now()),
      last_(start_),
      lines_(workers),
      share_(workers) {
  if (!quiet_ && already_done) note(fmt::format("{} of {} runs are finished already", already_done, runs));
}
Progress::~Progress() { erase(); }

std::string Progress::time_left() const {
  double shares = double(done_ - already_done_);
  for (const double s : share_) shares += s;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (shares < 0.02) return "";
  const auto seconds =
      long(elapsed / shares * (double(runs_ - done_) - (shares - double(done_ - already_done_))));
  return seconds < 60 ? fmt::format(", {} s left", seconds)
                      : fmt::format(", {} min {:02} s left", seconds / 60, seconds % 60);
}
std::string Progress::summary() const { return fmt::format("{} of {} runs{}", done_, runs_, time_left()); }

void Progress::erase() {
  if (drawn_) std::fprintf(stderr, "\033[%dA\033[J", drawn_);
  drawn_ = 0;
}

void Progress::draw() {
  if (quiet_) return;
  if (!terminal_) {
    if (Clock::now() - last_ < std::chrono::seconds(5)) return;
    last_ = Clock::now();
    fmt::print(stderr, "{}\n", summary());
    for (const auto& line : lines_) {
      if (!line.empty()) fmt::print(stderr, "  {}\n", line);
    }
    return;
  }
  if (Clock::now() - last_ < std::chrono::milliseconds(100)) return;
  last_ = Clock::now();
  struct winsize size {};
  const std::size_t columns =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col - 1u : 79u;
  erase();
  std::fprintf(stderr, colour_ ? "\033[1m%s\033[0m\n" : "%s\n", summary().substr(0, columns).c_str());
  for (const auto& line : lines_) std::fprintf(stderr, "  %s\n", line.substr(0, columns - 2).c_str());
  drawn_ = 1 + int(lines_.size());
}

void Progress::update(std::size_t slot, const RunPlan& plan, const RunProgress& p) {
  share_[slot] = double(p.step) / double(p.steps);
  lines_[slot] = fmt::format("{}, seed {}: step {}/{}, {:.3f} nats/byte, {:.0f} tokens/s", plan.arm,
                             plan.seed, p.step, p.steps, p.nats, p.tokens_per_second);
  draw();
}

void Progress::finished(std::size_t slot, const RunPlan&) {
  ++done_;
  share_[slot] = 0;
  lines_[slot].clear();
  draw();
}

void Progress::note(const std::string& sentence) {
  if (terminal_) erase();
  tell(sentence);
}

}  // namespace gnomon::cli
