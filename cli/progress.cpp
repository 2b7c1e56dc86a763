#include "cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {
constexpr std::int64_t kMostSeeds = 5;  // columns of the grid; later ones share the last
}  // namespace

void tell(const std::string& sentence) { fmt::print(stderr, "gnomon: {}\n", printable(sentence)); }

Progress::Progress(bool quiet, const StudyConfig& config, const StudyConduct& conduct)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO)),
      colour_(!std::getenv("NO_COLOR")),
      config_(config),
      conduct_(conduct),
      steps_before_(conduct.done().steps),
      runs_done_(conduct.done().runs),
      start_(Clock::now()),
      last_(start_),
      lines_(std::size_t(config.workers)),
      steps_(std::size_t(config.workers)) {
  for (const auto& arm : config.arms)
    cells_[arm.print()].resize(std::size_t(std::min(config.seeds, kMostSeeds)) + 1);
  if (!quiet_ && runs_done_)
    note(fmt::format("already finished: {} of {} runs", runs_done_, conduct.planned().runs));
}
Progress::~Progress() { erase(); }

// A step costs about the same in every arm.
std::string Progress::time_left() const {
  double steps = steps_since_;
  for (const double s : steps_) steps += s;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count(),
               left = conduct_.planned().steps - steps_before_ - steps;
  if (elapsed < 3 || steps <= 0) return "";
  const auto seconds = long(elapsed / steps * std::max(left, 0.0));
  return seconds < 60 ? fmt::format(", {} s left", seconds)
                      : fmt::format(", {} min {:02} s left", seconds / 60, seconds % 60);
}
std::string Progress::summary() const {
  return fmt::format("{} of {} runs{}", runs_done_, conduct_.planned().runs, time_left());
}

std::vector<std::string> Progress::grid() const {
  std::size_t width = 3;
  for (const auto& arm : config_.arms) width = std::max(width, arm.print().size());
  std::string head = fmt::format("{:<{}}  {:<16}", "arm", width, "tuning");
  for (std::size_t seed = 1; seed < cells_.begin()->second.size(); ++seed)
    head += fmt::format("  {:<12}", fmt::format("seed {}", seed));
  std::vector<std::string> all{head};
  for (const auto& arm : config_.arms) {
    const auto& cells = cells_.at(arm.print());
    std::string row = fmt::format("{:<{}}  {:<16}", arm.print(), width, cells[0]);
    for (std::size_t seed = 1; seed < cells.size(); ++seed) row += fmt::format("  {:<12}", cells[seed]);
    all.push_back(row);
  }
  return all;
}

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
  if (Clock::now() - last_ < std::chrono::milliseconds(200)) return;
  last_ = Clock::now();
  struct winsize size {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 && size.ws_row > 3;
  const std::size_t columns = known ? size.ws_col - 1u : 79u, rows = known ? size.ws_row - 2u : 22u;
  erase();
  std::fprintf(stderr, colour_ ? "\033[1m%s\033[0m\n" : "%s\n", summary().substr(0, columns).c_str());
  std::vector<std::string> shown = grid();
  if (shown.size() > rows) shown = lines_;  // what does not fit cannot be redrawn in place
  for (const auto& line : shown) std::fprintf(stderr, "  %s\n", line.substr(0, columns - 2).c_str());
  drawn_ = 1 + int(shown.size());
}

std::size_t Progress::column(const RunPlan& plan) const {
  return tunes(plan) ? 0 : std::min(std::size_t(plan.seed), cells_.at(plan.arm).size() - 1);
}

void Progress::update(std::size_t slot, const RunPlan& plan, const RunProgress& p) {
  steps_[slot] = double(p.step);
  const auto percent = 100 * p.step / std::max<std::int64_t>(p.steps, 1);
  cells_.at(plan.arm)[column(plan)] =
      tunes(plan) ? fmt::format("{} {:.2f} {}%", shortest(plan.learning_rate), p.nats, percent)
                  : fmt::format("{:.3f} {}%", p.nats, percent);
  lines_[slot] =
      fmt::format("{}, seed {}, rate {}: step {}/{}, {:.3f} nats/byte, {:.0f} tokens/s", plan.arm, plan.seed,
                  shortest(plan.learning_rate), p.step, p.steps, p.nats, p.tokens_per_second);
  draw();
}

void Progress::finished(std::size_t slot, const RunResult& result) {
  const RunPlan& plan = result.plan;
  ++runs_done_;
  steps_since_ += double(plan.steps);
  steps_[slot] = 0;
  lines_[slot].clear();
  const std::string nats = result.failure.empty() ? fixed(result.nats, 3) : "failed";
  std::string& cell = cells_.at(plan.arm)[column(plan)];
  const bool largest = plan.steps == steps_at(config_, Arm(plan.arm), 1);
  if (tunes(plan)) {
    cell = fmt::format("{} {}", shortest(plan.learning_rate), nats);
  } else if (largest) {
    ends_[{plan.arm, plan.seed}] = nats;
  }
  if (!tunes(plan)) cell = ends_.count({plan.arm, plan.seed}) ? ends_[{plan.arm, plan.seed}] : nats;
  draw();
}

void Progress::note(const std::string& sentence) {
  if (terminal_) erase();
  tell(sentence);
}

}  // namespace gnomon::cli
