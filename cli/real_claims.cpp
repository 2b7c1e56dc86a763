// gnomon claims --model: what a model of the reader's says of the questions of the texts.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/model.h"
#include "cli/signals.h"
#include "cli/wrapped.h"
#include "gnomon/claims/claim.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/claims/real.h"
#include "gnomon/core/error.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/pages/inspect.h"

namespace gnomon::cli {
namespace {

using claims::FoundNumber;
using claims::RealNumbers;
using Json = nlohmann::ordered_json;

Json json_of(const FoundNumber& n) {
  return {{"key", n.key},     {"name", n.name},
          {"value", n.value}, {"half_width", std::isnan(n.half_width) ? Json() : Json(n.half_width)},
          {"n", n.n},         {"digits", n.digits}};
}

void print_json(const Inspected& in, const std::vector<RealNumbers>& all) {
  Json j{{"schema", 1},
         {"model", in.model},
         {"family", in.family},
         {"spec", in.spec},
         {"text", in.text},
         {"window", in.found.window},
         {"windows", in.found.windows},
         {"questions", Json::array()},
         {"left_out", Json::array()}};
  if (const auto& m = in.found.masking)
    j["masking"] = {{"says", pages::how_masked(in.found)}, {"seed", m->seed}, {"mask_token", m->mask}};
  for (const RealNumbers& r : all) {
    Json numbers = Json::array();
    for (const FoundNumber& n : r.numbers) numbers.push_back(json_of(n));
    j["questions"].push_back({{"question", r.question}, {"numbers", numbers}});
  }
  for (const auto& l : in.found.left_out) j["left_out"].push_back({{"part", l.part}, {"why", l.why}});
  fmt::print("{}\n", without_unprintables(j.dump(1)));
}

void print(const Inspected& in, const std::vector<RealNumbers>& all) {
  fmt::print("{}: {}, {}, {}, {}\n", printable(in.model), printable(in.family),
             counted(std::size_t(in.layers), "layer"), counted(std::size_t(in.heads), "head"), in.spec);
  for (const RealNumbers& r : all) {
    for (const claims::Question* q : claims::questions())
      if (q->key == r.question) fmt::print("\n{}\n", q->text.title);
    for (const FoundNumber& n : r.numbers) fmt::print("  {:>20}  {}\n", shown(n), n.name);
  }
  if (in.found.masking) fmt::print("\n{}\n", wrapped(pages::how_masked(in.found)));
  if (!in.found.left_out.empty()) fmt::print("\n");
  for (const auto& l : in.found.left_out)
    fmt::print("{}\n", wrapped(text("Left out: ", l.part, ": ", l.why)));
}

}  // namespace

int real_claims(const ClaimsOptions& o) {
  if (!o.ids.empty() || !o.out.empty() || o.quick || o.replace || o.text.empty())
    throw Error(Fault::usage, "claims: --model needs --text; besides it only --json and --quiet are allowed");
  const std::string path = model_path(o.model, HubPart::weights);
  const Patient until_it_stops;
  auto in = inspect_or_stop({path, o.text}, {}, o.quiet);
  if (!in) return 128 + last_signal();
  in->model = o.model;  // as typed
  const auto all = claims::real_numbers(in->found);
  o.json ? print_json(*in, all) : print(*in, all);
  return 0;
}

}  // namespace gnomon::cli
