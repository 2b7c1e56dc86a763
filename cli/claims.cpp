// gnomon claims: lists what the five texts say, measures it, and writes the page.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/wrapped.h"
#include "gnomon/claims/page/page.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

using namespace gnomon::claims;
using claims::ClaimsConduct;  // and not a study's

constexpr std::size_t kSays = 20, kFound = 8;  // columns where a claim, and what was found, begin

int list_claims(bool json) {
  if (json) {
    fmt::print("{}\n", pages::records_json());
    return 0;
  }
  for (const Question* q : questions()) {
    fmt::print("{}\n", wrapped(std::string(q->text.title)));
    for (const Claim* c : all_claims()) {
      if (c->question == q)
        fmt::print("  {}  {:10}{}\n", c->id, name(c->recorded), wrapped(std::string(c->text.says), kSays));
    }
  }
  fmt::print(
      "\nThese are the recorded verdicts. `gnomon claims all --text FILE` measures them,\n`gnomon claims "
      "004-16` measures one.\n");
  return 0;
}

// What was written down before any run, by question.
void list_rules() {
  constexpr std::size_t kBegins = 10,
                        kName = 10;  // columns: where all begins, and of the name of what is told
  const auto say = [](const char* name, std::string_view words) {
    if (!words.empty())
      fmt::print("{:{}}{:{}}{}\n", "", +kBegins, name, +kName, wrapped(std::string(words), kBegins + kName));
  };
  for (const Question* q : questions()) {
    fmt::print("{}\n", wrapped(std::string(q->text.title)));
    for (const Claim* c : all_claims()) {
      if (c->question != q) continue;
      fmt::print("  {}  {}\n", c->id, wrapped(std::string(c->text.says), kBegins));
      say("method", c->text.method), say("expected", c->text.expects);
      for (const VerdictRule& r : c->verdicts) say("verdict", explained(std::span(&r, 1), {}));
      say("rests on", c->text.because), say("if", c->text.condition), say("settled", c->text.settles);
      say("amended", c->text.amended);
    }
  }
  fmt::print("\n{}\n", wrapped("--json prints the same as JSON, as in docs/claims-rules.json."));
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
  fmt::print("{}  {}\n", a.claim->id,
             wrapped(text(told(*a.claim, a.verdict), ": ", a.claim->text.says), kFound));
  const auto say = [](const std::string& sentence) {
    fmt::print("{}{}\n", std::string(kFound, ' '), wrapped(sentence, kFound));
  };
  say(a.answer);
  for (const FoundNumber& n : a.finding.numbers) {
    if (!n.fits()) say(fmt::format("{}: found {}, required {} to {}", n.name, n.value, n.low, n.high));
  }
  if (!a.as_recorded()) say(text("recorded verdict: ", name(a.claim->recorded)));
  std::fflush(stdout);
}

std::optional<ClaimsSummary> perform(const ClaimsOptions& o, ClaimsConduct& conduct) {
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

void write_pages(const ClaimsFolder& folder, const ClaimsSummary& summary, const pages::MadeBy& how) {
  write_file(folder.page(), pages::claims_page(summary, how));
  write_file(folder.markdown(), pages::claims_markdown(summary, how));
  for (const auto& [name, markdown] : pages::essays(summary)) write_file(folder.essay(name), markdown);
}

// Claims without models, measured now, in the place of what an archive has of them.
std::vector<Answered> measured_since(const ClaimsOptions& o) {
  const ClaimsConfig config{select_claims(o.ids), {}, false};
  for (const Claim* c : config.chosen) {
    if (c->recipes)
      throw Error(Fault::usage,
                  text("--from: claim ", c->id, " trains models, and is measured by a run of its own"));
  }
  ClaimsConduct conduct(config, nullptr, {}, false);
  auto summary = perform(o, conduct);
  return summary ? std::move(summary->answers) : std::vector<Answered>();
}

int tell_again(const ClaimsOptions& o) {
  const auto [summary, how] = pages::claims_again(
      read_file(o.from), o.from, o.ids.empty() ? std::vector<Answered>() : measured_since(o));
  if (interruptions()) return 128 + last_signal();
  if (o.json) {
    fmt::print("{}", pages::claims_json(summary, how));
    return 0;
  }
  const ClaimsFolder folder{o.out.empty() ? Path(o.from).parent_path() : Path(o.out)};
  if (!folder.folder.empty()) make_folders(folder.folder);
  write_pages(folder, summary, how);
  fmt::print("{} written again: {}\n", counted(summary.answers.size(), "claim"),
             std::filesystem::absolute(folder.page()).lexically_normal().string());
  return 0;
}

}  // namespace

int claims(const ClaimsOptions& o) {
  if (o.rules) {
    o.json ? fmt::print("{}", pages::rules_json()) : list_rules();
    return 0;
  }
  if (!o.model.empty()) return real_claims(o);
  if (!o.from.empty()) return tell_again(o);
  if (o.ids.empty()) return list_claims(o.json);
  const ClaimsConfig config{select_claims(o.ids), o.text, o.quick};
  std::optional<Corpus> corpus;
  if (!o.text.empty()) corpus.emplace(o.text, 256, Cut::whole);
  for (const auto& note : corpus ? corpus->notes() : std::vector<std::string>()) tell(note);

  ClaimsConduct conduct(config, corpus ? &*corpus : nullptr, o.out, o.replace);
  const auto summary = perform(o, conduct);
  if (!summary || interruptions()) {
    tell("interrupted; finished models are kept, and the same command continues with them");
    return 128 + last_signal();
  }
  const pages::MadeBy how{o.command, machine()};
  if (const ClaimsFolder* folder = conduct.folder()) {
    write_file(folder->json(), pages::claims_json(*summary, how));
    write_pages(*folder, *summary, how);
  }
  if (o.json) {
    fmt::print("{}", pages::claims_json(*summary, how));
  } else {
    const std::size_t differing = summary->differing;
    const std::string verdicts =
        text(counted(differing, "verdict"), differing == 1 ? " differs" : " differ", " from the record");
    fmt::print("\n{} measured in {:.1f} minutes; {}\n", counted(summary->answers.size(), "claim"),
               summary->minutes, differing == 0 ? "all verdicts as recorded" : verdicts);
    if (const auto family = pages::statistical(summary->answers))
      fmt::print("{}, {} after Holm's correction for their number\n", counted(family, "statistical verdict"),
                 std::count_if(summary->answers.begin(), summary->answers.end(), pages::survives));
    std::string leaning;
    for (const Answered& a : summary->answers) {
      if (pages::leans(a, *summary)) leaning += text(leaning.empty() ? "" : ", ", a.claim->id);
    }
    if (!leaning.empty())
      fmt::print("{}\n", wrapped(text(
                             "leaning, because the correction or another text does not support the verdict: ",
                             leaning)));
    if (conduct.folder())
      fmt::print("page: {}\n",
                 printable(std::filesystem::absolute(conduct.folder()->page()).lexically_normal().string()));
  }
  return summary->differing ? 1 : 0;
}

}  // namespace gnomon::cli
