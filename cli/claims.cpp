// gnomon claims: lists what the five texts say, measures it, and writes the page.
#include "gnomon/pages/claims.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/wrapped.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/claims_words.h"

namespace gnomon::cli {
namespace {

using namespace gnomon::claims;
using claims::Conduct;  // and not a study's

constexpr std::size_t kSays = 20, kFound = 8;  // columns where a claim, and what was found, begin

int list_claims(bool json) {
  if (json) {
    fmt::print("{}\n", pages::records_json());
    return 0;
  }
  for (const Question* q : questions()) {
    fmt::print("{}\n", wrapped(std::string(q->title)));
    for (const Claim* c : all_claims()) {
      if (c->question == q)
        fmt::print("  {}  {:10}{}\n", c->id, name(c->recorded), wrapped(std::string(c->says), kSays));
    }
  }
  fmt::print(
      "\nVerdicts as recorded. `gnomon claims all --text FILE` measures them;\n`gnomon claims 004-16` "
      "one.\n");
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
  fmt::print("{}  {}\n", a.claim->id, wrapped(text(told(*a.claim, a.verdict), ": ", a.claim->says), kFound));
  const auto say = [](const std::string& sentence) {
    fmt::print("{}{}\n", std::string(kFound, ' '), wrapped(sentence, kFound));
  };
  say(a.finding.answer);
  for (const Number& n : a.finding.numbers) {
    if (!n.fits()) say(fmt::format("{}: found {}, asked for {} to {}", n.name, n.value, n.low, n.high));
  }
  if (!a.as_recorded()) say(text("recorded verdict: ", name(a.claim->recorded)));
  std::fflush(stdout);
}

std::optional<ClaimsSummary> perform(const ClaimsOptions& o, Conduct& conduct) {
  Told so_far(o.quiet);
  std::optional<Patient> until_models_are_kept(std::in_place);
  return conduct.perform(
      {.train = {.stop = [] { return interruptions() > 0; },
                 .progress = [&](auto done, auto all,
                                 const std::string& recipe) { so_far.training(done, all, recipe); },
                 .note = tell},
       .trained = [&] { until_models_are_kept.reset(); },
       .measured =
           [&](const Answered& a) {
             if (!o.json) print(a);
           }});
}

}  // namespace

int claims(const ClaimsOptions& o) {
  if (o.rules) {
    fmt::print("{}", pages::rules_json());
    return 0;
  }
  if (!o.model.empty()) return real_claims(o);
  if (o.ids.empty()) return list_claims(o.json);
  const ClaimsConfig config{select_claims(o.ids), o.text, o.quick};
  std::optional<Corpus> corpus;
  if (!o.text.empty()) corpus.emplace(o.text, 256, Cut::whole);
  for (const auto& note : corpus ? corpus->notes() : std::vector<std::string>()) tell(note);

  Conduct conduct(config, corpus ? &*corpus : nullptr, o.out, o.replace);
  const auto summary = perform(o, conduct);
  if (!summary || interruptions()) {
    tell("interrupted; finished models are kept, the same command goes on with them");
    return 128 + last_signal();
  }
  const pages::MadeBy how{o.command, machine()};
  if (const ClaimsFolder* folder = conduct.folder()) {
    write_file(folder->page(), pages::claims_page(*summary, how));
    write_file(folder->json(), pages::claims_json(*summary, how));
    write_file(folder->markdown(), pages::claims_markdown(*summary, how));
    for (const auto& [name, markdown] : pages::essays(*summary)) write_file(folder->essay(name), markdown);
  }
  if (o.json) {
    fmt::print("{}", pages::claims_json(*summary, how));
  } else {
    fmt::print("\n{}, {} with another verdict than recorded, {:.1f} minutes\n",
               counted(summary->answers.size(), "claim"), summary->differing, summary->minutes);
    if (const auto family = pages::statistical(summary->answers))
      fmt::print("{}, of which {} survive Holm's correction for their number\n",
                 counted(family, "statistical verdict"),
                 std::count_if(summary->answers.begin(), summary->answers.end(), pages::survives));
    if (conduct.folder())
      fmt::print("page: {}\n",
                 std::filesystem::absolute(conduct.folder()->page()).lexically_normal().string());
  }
  return summary->differing ? 1 : 0;
}

}  // namespace gnomon::cli
