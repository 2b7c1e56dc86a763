#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// A window of an image, whose tokens have a row and a column: biases by the distance down and across.
struct ImageWindow {
  std::string_view owner;  // named in errors
  std::int64_t rows;
  Grid grid;                  // 2 axes, and the window's columns
  bool class_tokens = false;  // tokens with the row −1 stand nowhere

  std::int64_t stride() const { return 2 * grid.columns - 1; }
  // Differences of two places, −most()..most() where each place is one number, y·stride + x.
  std::int64_t places() const { return (2 * rows - 1) * stride(); }
  std::int64_t most() const { return (places() - 1) / 2; }

  bool is_class(const Positions& p, std::int64_t t) const;
  // The farthest that two tokens of a sequence are apart on an axis. Throws as add_codes() does.
  std::int64_t span(const Positions& sequence, std::int64_t axis) const;
  // Rows down and columns across from key j to query i.
  double down(const Positions& p, std::int64_t i, std::int64_t j) const;
  double across(const Positions& p, std::int64_t i, std::int64_t j) const;
  // The code of each token of a sequence: its place from the least row and column of the sequence on; of class tokens, those
  // given. Throws Error(usage) for coordinates that are not whole, and for tokens farther apart than the window.
  struct ClassCodes {
    double as_query, as_key;
  };
  void add_codes(const Positions& sequence, const ClassCodes& of_class, Terms& terms) const;

 private:
  struct Ends {
    double least, last;
  };
  Ends ends(const Positions& p, std::int64_t axis) const;
};

// Options `rows` and `columns` of a window.
std::vector<OptionSpec> image_window_options(std::vector<OptionSpec> more);

}  // namespace gnomon
