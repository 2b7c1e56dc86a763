// gnomon claims: lists what the five texts say, measures it, and writes the page.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/machine.h"
#include "gnomon/claims/answer.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

using namespace gnomon::claims;

int list_json() {
  auto all = nlohmann::ordered_json::array();
  for (const Claim* c : all_claims()) {
    all.push_back({{"id", c->id},
                   {"question", c->question},
                   {"says", c->says},
                   {"method", c->method},
                   {"expects", c->expects},
                   {"advice", c->advice},
                   {"recorded", name(c->expected)},
                   {"trains_models", c->recipes != nullptr}});
  }
  fmt::print("{}\n", all.dump(1));
  return 0;
}

int list_claims() {
  for (const Question& q : questions()) {
    fmt::print("{}\n", q.title);
    for (const Claim* c : all_claims()) {
      if (c->question == q.key) fmt::print("  {}  {:31}{}\n", c->id, name(c->expected), c->says);
    }
  }
  fmt::print(
      "\nVerdicts as recorded. `gnomon claims all --text FILE` measures them; `gnomon claims 004-16` one.\n");
  return 0;
}

class Told {
 public:
  explicit Told(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}
  void training(std::size_t done, std::size_t all, const std::string& recipe) {
    if (quiet_) return;
    if (terminal_) {
      fmt::print(stderr, "\r\033[Ktrained {} of {}: {}", done, all, recipe), std::fflush(stderr);
      if (done == all) fmt::print(stderr, "\n");
    } else if (done == all || done % 20 == 0) {
      fmt::print(stderr, "trained {} of {}\n", done, all);
    }
  }

 private:
  const bool quiet_, terminal_;
};

void print(const Answered& a) {
  fmt::print("{}  {:31}{}\n         {}\n", a.claim->id, name(a.finding.verdict), a.claim->says,
             a.finding.answer);
  for (const Number& n : a.finding.numbers) {
    if (!n.fits()) fmt::print("         {}: found {}, asked for {} to {}\n", n.name, n.value, n.low, n.high);
  }
  if (!a.as_expected()) fmt::print("         recorded verdict: {}\n", name(a.claim->expected));
  std::fflush(stdout);
}

}  // namespace

int claims(const ClaimsOptions& o) {
  if (o.ids.empty()) return o.json ? list_json() : list_claims();
  const auto start = std::chrono::steady_clock::now();
  const auto chosen = select_claims(o.ids);
  std::optional<Corpus> corpus;
  if (!o.text.empty()) corpus.emplace(o.text, 256);
  Desk desk(corpus ? &*corpus : nullptr, o.quick, Path(o.out) / "models");
  Told told_so_far(o.quiet);
  const auto answers = answer(
      desk, chosen,
      {.train = {.stop = [] { return interruptions() > 0; },
                 .progress = [&](auto done, auto all,
                                 const std::string& recipe) { told_so_far.training(done, all, recipe); }},
       .measured = [&](const Answered& a) {
         if (!o.json) print(a);
       }});
  if (!answers) {
    fmt::print(stderr, "gnomon: interrupted; finished models are kept, the same command goes on with them\n");
    return 128 + last_signal();
  }
  const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
  const Circumstances how{o.command,
                          machine(),
                          o.text.empty() ? "no text" : Path(o.text).filename().string(),
                          text("gnomon ", GNOMON_VERSION),
                          o.quick,
                          desk.seeds(),
                          minutes,
                          desk.trained(),
                          desk.diverged()};
  const Path folder = o.out;
  write_file(folder / "claims.html", page(*answers, how));
  write_file(folder / "claims.json", json(*answers, how));
  write_file(folder / "claims.md", markdown(*answers, how));
  const auto differing =
      std::count_if(answers->begin(), answers->end(), [](const Answered& a) { return !a.as_expected(); });
  if (o.json) {
    fmt::print("{}", json(*answers, how));
  } else {
    fmt::print("\n{}, {} with another verdict than recorded, {:.1f} minutes\npage: {}\n",
               counted(answers->size(), "claim"), differing, minutes,
               std::filesystem::absolute(folder / "claims.html").lexically_normal().string());
  }
  return differing ? 1 : 0;
}

}  // namespace gnomon::cli
