#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gnomon/models/check/parts.h"
#include "gnomon/models/check/turned.h"

namespace gnomon {

// Positions that a program may have used: the right ones, and others that are often seen in their place.
struct UsedPositions {
  std::vector<double> values;  // (tokens, streams)
  std::int64_t streams = 1;
  std::string apart = {};  // from the right ones, in words; empty: these are they
  bool faulty = false;
};
// The right ones first: those of `asked`; with documents and no positions, from 0 on in each; otherwise 0, 1, 2 ... Then single
// streams, the index in the row, a restart in each document. Throws as positions_of() does.
std::vector<UsedPositions> used_positions(const Asked& asked, std::int64_t tokens, const std::string& what);

// Positions that start again somewhere, by the turns of all tokens alone (`turned` in the order of the row); none where they
// do not.
std::vector<UsedPositions> restarted(const Turned& turned, const Asked& asked);

// A thing in a dump whose numbers follow positions.
struct Placeable {
  std::int64_t tokens;
  std::string what;
  std::function<Checked(const Asked&)> look;  // with these positions
  std::function<Turned()> turned;             // of all tokens
};
// The answer with the first positions under which a convention fits: without a fault, or otherwise with one.
Checked check_placed(const Placeable& thing, const Asked& asked);

// Whether the positions themselves restart in each document; for asked.documents and asked.positions of one stream.
Checked check_positions(const Asked& asked);

}  // namespace gnomon
