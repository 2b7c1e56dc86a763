#include "gnomon/models/check/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/check/placement.txt.inc"
    ;

constexpr std::int64_t kLatest = 16;  // positions that a document may begin with
constexpr double kJump = 0.01;  // mean square of a step from the usual one, beside 10 times the middle one
constexpr double kAgreement = 0.98;    // of the phases at a restart with those of a position
constexpr double kUnlikely = 1;        // what sections assume that no model has
constexpr std::size_t kMostNamed = 3;  // tokens that are named

// Where the documents begin, the first at 0.
std::vector<std::int64_t> starts_of(const std::vector<double>& documents) {
  std::vector<std::int64_t> starts;
  for (std::size_t t = 0; t < documents.size(); ++t)
    if (t == 0 || documents[t] != documents[t - 1]) starts.push_back(std::int64_t(t));
  return starts;
}
// Positions that begin at `first` at each of the starts.
std::vector<double> counted_from(const std::vector<std::int64_t>& starts, std::int64_t tokens,
                                 const std::vector<std::int64_t>& first) {
  std::vector<double> p(static_cast<std::size_t>(tokens));
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const std::int64_t end = d + 1 < starts.size() ? starts[d + 1] : tokens;
    for (std::int64_t t = starts[d]; t < end; ++t) p[std::size_t(t)] = double(first[d] + t - starts[d]);
  }
  return p;
}
std::vector<double> in_documents(const std::vector<double>& documents, std::int64_t first) {
  const auto starts = starts_of(documents);
  return counted_from(starts, std::int64_t(documents.size()),
                      std::vector<std::int64_t>(starts.size(), first));
}
std::vector<double> row_index(std::int64_t tokens) {
  std::vector<double> p(static_cast<std::size_t>(tokens));
  std::iota(p.begin(), p.end(), 0);
  return p;
}
// Whether the positions differ by more than one number for all.
bool differ(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    if (a[t] - b[t] != a[0] - b[0]) return true;
  return false;
}
std::vector<double> stream_of(const std::vector<double>& positions, std::int64_t streams, std::int64_t s) {
  std::vector<double> p;
  for (std::size_t n = std::size_t(s); n < positions.size(); n += std::size_t(streams))
    p.push_back(positions[n]);
  return p;
}

// "token 137, token 300 and 4 more".
std::string tokens_in_words(const std::vector<std::int64_t>& tokens) {
  std::string words;
  for (std::size_t n = 0; n < std::min(tokens.size(), kMostNamed); ++n)
    words += text(n ? ", " : "", "token ", tokens[n]);
  return tokens.size() > kMostNamed ? text(words, " and ", tokens.size() - kMostNamed, " more") : words;
}

}  // namespace

std::vector<UsedPositions> used_positions(const Asked& asked, std::int64_t T, const std::string& what) {
  if (!asked.documents.empty() && std::int64_t(asked.documents.size()) != T)
    throw Error(Fault::input,
                text("documents: found ", asked.documents.size(), ", but ", what, " has ", T, " tokens"));
  std::vector<UsedPositions> all;
  const bool packed = starts_of(asked.documents).size() > 1;
  if (asked.positions_given || !packed) all.push_back({positions_of(asked, T, what), asked.streams});
  const auto add = [&](std::vector<double> p, std::string apart, bool faulty) {
    if (T == 0 || (!all.empty() && all[0].streams == 1 && !differ(p, all[0].values))) return;
    all.push_back({std::move(p), 1, all.empty() ? "" : std::move(apart), faulty && !all.empty()});
  };
  for (std::int64_t s = 0; asked.streams > 1 && s < asked.streams; ++s)
    add(stream_of(asked.positions, asked.streams, s),
        said<"which", "streams">(kText.at("apart", "stream"), text(s + 1), text(asked.streams)), true);
  if (packed) {
    add(in_documents(asked.documents, 0), std::string(kText.at("apart", "document")), asked.positions_given);
    all.push_back(
        {in_documents(asked.documents, 1), 1, std::string(kText.at("apart", "document.one")), true});
  }
  if (asked.positions_given || packed) add(row_index(T), std::string(kText.at("apart", "row")), true);
  return all;
}

namespace {

double middle(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto at = x.begin() + std::ptrdiff_t(x.size() / 2);
  std::nth_element(x.begin(), at, x.end());
  return *at;
}
Complex direction(const Complex& z) { return std::abs(z) > 0 ? z / std::abs(z) : Complex(0); }

// What the turns do from one token to the next.
struct Steps {
  std::vector<double> frequencies;  // (N): the usual step of each pair
  std::vector<double> off;          // (T − 1): mean square of what a step is from the usual one
};
Steps steps_of(const Turned& turned) {
  const auto N = std::size_t(turned.N), T = std::size_t(turned.T);
  const auto step = [&](std::size_t t, std::size_t n) {
    return direction(turned.z[(t + 1) * N + n] * std::conj(turned.z[t * N + n]));
  };
  Steps s{{}, std::vector<double>(T - 1)};
  for (std::size_t n = 0; n < N; ++n) {
    Complex mean = 0;
    for (std::size_t t = 0; t + 1 < T; ++t) mean += step(t, n);
    std::vector<double> left;
    for (std::size_t t = 0; t + 1 < T; ++t) left.push_back(std::arg(step(t, n) * std::conj(mean)));
    const double usual = std::arg(mean) + middle(left);
    s.frequencies.push_back(usual);
    for (std::size_t t = 0; t + 1 < T; ++t)
      s.off[t] += std::norm(step(t, n) - std::polar(1.0, usual)) / double(N);
  }
  return s;
}

// The position whose phases a token has; −1: none of the first.
std::int64_t position_of(const Turned& turned, const std::vector<double>& frequencies, std::int64_t token) {
  const auto N = std::size_t(turned.N);
  std::int64_t best = -1;
  double most = kAgreement;
  for (std::int64_t p = 0; p <= kLatest; ++p) {
    double sum = 0;
    for (std::size_t n = 0; n < N; ++n)
      sum += (direction(turned.z[std::size_t(token) * N + n]) * std::polar(1.0, -double(p) * frequencies[n]))
                 .real() /
             double(N);
    if (sum > most) most = sum, best = p;
  }
  return best;
}

}  // namespace

std::vector<UsedPositions> restarted(const Turned& turned, const Asked& asked) {
  if (turned.T < 4 || turned.N < 1) return {};
  Steps steps = steps_of(turned);
  const double usual = middle(steps.off);
  std::vector<std::int64_t> starts{0}, firsts;
  for (std::size_t t = 0; t < steps.off.size(); ++t)
    if (steps.off[t] > kJump + 10 * usual) starts.push_back(std::int64_t(t) + 1);
  if (starts.size() < 2 || std::int64_t(starts.size()) > turned.T / 3) return {};
  for (const std::int64_t t : starts) firsts.push_back(position_of(turned, steps.frequencies, t));
  if (std::count(firsts.begin(), firsts.end(), -1)) return {};
  const std::set<std::int64_t> after(firsts.begin() + 1, firsts.end());
  const std::string first = after.size() == 1 ? text(*after.begin()) : "small numbers";
  return {{counted_from(starts, turned.T, firsts), 1,
           said<"first", "tokens">(kText.at("apart", "restart"), first,
                                   tokens_in_words({starts.begin() + 1, starts.end()})),
           asked.positions_given}};
}

namespace {

Asked with_positions(const Asked& asked, const UsedPositions& used) {
  Asked a = asked;
  a.positions_given = asked.positions_given || !asked.documents.empty() || !used.apart.empty();
  if (a.positions_given) a.positions = used.values, a.streams = used.streams;
  return a;
}
void tell_positions(const UsedPositions& used, Checked& c) {
  if (used.apart.empty() || !c.named) return;
  c.best.apart = used.apart + (c.best.apart.empty() ? "" : ", ") + c.best.apart;
  c.best.faulty |= used.faulty;
  c.follows = !c.best.faulty;
  c.words = answer(c);
}
// Where the streams are not one another.
void tell_streams(const Asked& asked, Checked& c) {
  std::int64_t tokens = 0, first = -1;
  const auto S = std::size_t(asked.streams);
  for (std::size_t n = 0; n + S <= asked.positions.size(); n += S) {
    const auto begin = asked.positions.begin() + std::ptrdiff_t(n);
    if (std::count(begin, begin + std::ptrdiff_t(S), *begin) == std::ptrdiff_t(S)) continue;
    if (tokens++ == 0) first = std::int64_t(n / S);
  }
  c.evidence.push_back({"tokens_whose_streams_differ", double(tokens)});
  c.remarks.push_back(said<"tokens", "first">(kText.at("remark", "apart"),
                                              counted(std::size_t(tokens), "token"), text(first)));
}

}  // namespace

Checked check_placed(const Placeable& thing, const Asked& asked) {
  std::optional<Checked> found, first;
  bool done = false;
  const auto settle_with = [&](const UsedPositions& used) {
    // Sections that no model has may fit as well as one stream does. The stream assumes less.
    const bool doubtful = done && asked.streams > 1 && !found->best.expected && found->best.cost >= kUnlikely;
    if (done && !doubtful) return;
    Checked c = thing.look(with_positions(asked, used));
    tell_positions(used, c);
    if (c.named && !used.apart.empty() && asked.streams > 1) tell_streams(asked, c);
    const bool right = c.named && (!c.best.faulty || (used.faulty && c.best.apart == used.apart));
    if (!first) first = c;
    if (doubtful ? !right || c.best.cost >= found->best.cost : !c.named || (!right && found)) return;
    if (doubtful) c.also.insert(c.also.begin(), found->best);
    found = std::move(c), done = right;
  };
  for (const UsedPositions& used : used_positions(asked, thing.tokens, thing.what)) settle_with(used);
  if (!found && asked.streams == 1)
    for (const UsedPositions& used : restarted(thing.turned(), asked)) settle_with(used);
  Checked c = found ? *found : first.value_or(Checked{});
  compare_with_expected(asked, c);
  return c;
}

Checked check_positions(const Asked& asked) {
  const auto T = std::int64_t(asked.positions.size());
  if (asked.documents.size() != asked.positions.size())
    throw Error(Fault::input,
                text("documents: found ", asked.documents.size(), ", but there are ", T, " positions"));
  const auto want = in_documents(asked.documents, 0);
  const std::string documents = counted(starts_of(asked.documents).size(), "document");
  std::int64_t others = 0, first = 0;
  for (std::int64_t t = T - 1; t >= 0; --t)
    if (asked.positions[std::size_t(t)] != want[std::size_t(t)]) ++others, first = t;
  Checked c{.looked_at = "positions", .unit = "tokens"};
  c.best.error = double(others), c.follows = c.named = others == 0;
  if (others == 0) {
    c.words = said<"documents">(kText.at("ids", "right"), documents);
    return c;
  }
  const auto is = [&](const std::vector<double>& p) { return asked.positions == p; };
  c.words = is(in_documents(asked.documents, 1))     ? said<"documents">(kText.at("ids", "one"), documents)
            : !differ(asked.positions, row_index(T)) ? said<"documents">(kText.at("ids", "row"), documents)
                                                     : said<"documents">(kText.at("ids", "none"), documents);
  c.evidence = {{"tokens_that_differ", double(others)}, {"first_token", double(first)}};
  c.remarks.push_back(said<"tokens", "first", "found", "want">(
      kText.at("ids", "differ"), counted(std::size_t(others), "token"), text(first),
      shortest(asked.positions[std::size_t(first)]), shortest(want[std::size_t(first)])));
  return c;
}

}  // namespace gnomon
