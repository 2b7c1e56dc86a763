// gnomon claims: lists what the five texts say, measures it, and writes the page.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/signals.h"
#include "gnomon/checkpoint/json-inl.h"
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
                   {"question", c->question->key},
                   {"says", c->says},
                   {"method", c->method},
                   {"expects", c->expects},
                   {"advice", c->advice},
                   {"recorded", name(c->recorded)},
                   {"rests_on", name(c->rests_on.kind)},
                   {"because", c->rests_on.because},
                   {"decides", explained(c->verdicts, {})},
                   {"trains_models", c->recipes != nullptr}});
  }
  fmt::print("{}\n", all.dump(1));
  return 0;
}

int list_claims() {
  for (const Question* q : questions()) {
    fmt::print("{}\n", q->title);
    for (const Claim* c : all_claims()) {
      if (c->question == q) fmt::print("  {}  {:31}{}\n", c->id, name(c->recorded), c->says);
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
  fmt::print("{}  {:31}{}\n         {}\n", a.claim->id, name(a.verdict), a.claim->says, a.finding.answer);
  for (const Number& n : a.finding.numbers) {
    if (!n.fits()) fmt::print("         {}: found {}, asked for {} to {}\n", n.name, n.value, n.low, n.high);
  }
  if (!a.as_expected()) fmt::print("         recorded verdict: {}\n", name(a.claim->recorded));
  std::fflush(stdout);
}

// The page that stands in a folder is replaced by one that has all of its claims, measured on the same text in the same
// way, or by none.
void respect(const Path& folder, const std::vector<const Claim*>& chosen, const std::string& text_sha256,
             bool quick) {
  const Path shown = folder / "claims.json";
  if (!std::filesystem::exists(shown)) return;
  const std::string bytes = read_file(shown);
  std::string why;
  try {
    const StrictJson json = parse_json(bytes, shown.string());
    if (json.at("quick") != quick) why = quick ? "of a full run" : "of a quick run";
    if (json.value("text_sha256", "?") != text_sha256) why = "of another text";
    std::size_t lost = 0;
    for (const auto& claim : json.at("claims")) {
      const std::string id = claim.at("id");
      if (std::any_of(chosen.begin(), chosen.end(), [&](const Claim* c) { return c->id == id; })) continue;
      if (!lost++) why = text(id, why.empty() ? "" : " " + why);
    }
    if (lost > 1) why += text(" and ", lost - 1, " more");
  } catch (const StrictJson::exception&) {
    return;  // it says nothing
  } catch (const Error&) {
    return;
  }
  if (!why.empty())
    throw Error(Fault::usage,
                text((folder / "claims.html").string(), " shows claims that this command would lose (", why,
                     "): name them too, give another folder with --out, or --replace"));
}

bool trains(const Desk& desk, const std::vector<const Claim*>& chosen) {
  return std::any_of(chosen.begin(), chosen.end(),
                     [&](const Claim* c) { return c->recipes && !c->recipes(desk).empty(); });
}

}  // namespace

int claims(const ClaimsOptions& o) {
  if (o.ids.empty()) return o.json ? list_json() : list_claims();
  const auto start = std::chrono::steady_clock::now();
  const auto chosen = select_claims(o.ids);
  std::optional<Corpus> corpus;
  if (!o.text.empty()) corpus.emplace(o.text, 256);
  for (const auto& note : corpus ? corpus->notes() : std::vector<std::string>())
    fmt::print(stderr, "gnomon: {}\n", note);
  const Path folder = o.out.empty() ? "claims" : o.out;
  Desk desk(corpus ? &*corpus : nullptr, o.quick, folder / "models");
  // What trains nothing is printed and writes nothing, unless a folder is named.
  const bool writes = !o.out.empty() || trains(desk, chosen);
  std::optional<FileLock> lock;
  if (writes) {
    make_folders(folder);
    lock.emplace(folder / "lock", text("the folder of claims ", folder.string()));
    if (!o.replace) respect(folder, chosen, corpus ? corpus->sha256() : "", o.quick);
  }
  Told told_so_far(o.quiet);
  std::optional<Patient> until_models_are_kept(std::in_place);
  const auto answers = answer(
      desk, chosen,
      {.train = {.stop = [] { return interruptions() > 0; },
                 .progress = [&](auto done, auto all,
                                 const std::string& recipe) { told_so_far.training(done, all, recipe); },
                 .note = [](const std::string& sentence) { fmt::print(stderr, "gnomon: {}\n", sentence); }},
       .trained = [&] { until_models_are_kept.reset(); },
       .measured =
           [&](const Answered& a) {
             if (!o.json) print(a);
           }});
  if (!answers || interruptions()) {
    fmt::print(stderr, "gnomon: interrupted; finished models are kept, the same command goes on with them\n");
    return 128 + last_signal();
  }
  const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
  const Circumstances how{o.command,
                          machine(),
                          o.text.empty() ? "no text" : Path(o.text).filename().string(),
                          corpus ? corpus->sha256() : "",
                          text("gnomon ", GNOMON_VERSION),
                          o.quick,
                          desk.seeds(),
                          minutes,
                          desk.trained(),
                          desk.diverged()};
  if (writes) {
    write_file(folder / "claims.html", page(*answers, how));
    write_file(folder / "claims.json", json(*answers, how));
    write_file(folder / "claims.md", markdown(*answers, how));
  }
  const auto differing =
      std::count_if(answers->begin(), answers->end(), [](const Answered& a) { return !a.as_expected(); });
  if (o.json) {
    fmt::print("{}", json(*answers, how));
  } else {
    fmt::print("\n{}, {} with another verdict than recorded, {:.1f} minutes\n",
               counted(answers->size(), "claim"), differing, minutes);
    if (writes)
      fmt::print("page: {}\n", std::filesystem::absolute(folder / "claims.html").lexically_normal().string());
  }
  return differing ? 1 : 0;
}

}  // namespace gnomon::cli
