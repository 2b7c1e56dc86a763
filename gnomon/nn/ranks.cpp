#include "gnomon/nn/ranks.h"

#include <vector>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

struct Vote {
  std::uint64_t go, parameters;
};

}  // namespace

bool Ranks::agree(bool go, std::uint64_t parameters) {
  std::vector<Vote> votes(static_cast<std::size_t>(size()));
  votes[std::size_t(rank())] = {go, parameters};
  all_gather(std::span(votes));
  for (std::size_t r = 0; r < votes.size(); ++r) over_ = over_ || !votes[r].go;
  for (std::size_t r = 1; r < votes.size() && !over_; ++r) {
    if (votes[r].parameters == votes[0].parameters) continue;
    over_ = true;
    throw Error(Fault::resource, text("the parameters of rank ", r,
                                      " differ from those of rank 0: numbers changed in memory or in "
                                      "transit; run it again: it continues from its checkpoint"));
  }
  return !over_;
}

int Ranks::close(int word) {
  if (!over_) agree(false, 0);
  over_ = false;
  broadcast(std::as_writable_bytes(std::span(&word, 1)));
  return word;
}

void Ranks::broadcast(std::span<std::byte> bytes) {
  if (rank() > 0) {
    const Incoming in{0, bytes};
    return exchange({}, {&in, 1});
  }
  std::vector<Outgoing> out;
  for (int r = 1; r < size(); ++r) out.push_back({r, bytes});
  exchange(out, {});
}

void Ranks::all_gather(std::span<std::byte> all, std::size_t each) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    out.push_back({r, all.subspan(std::size_t(rank()) * each, each)});
    in.push_back({r, all.subspan(std::size_t(r) * each, each)});
  }
  exchange(out, in);
}

}  // namespace gnomon
