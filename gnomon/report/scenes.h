#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gnomon::report {

// One clock for a position: a hand for each frequency, sine on x and cosine on y, so it points up at angle 0 and turns
// clockwise. A slider moves the position and a button runs it; without scripts the page shows position 20.
struct Dial {
  std::string title, note;
  std::vector<double> frequencies;  // radians a token
  std::int64_t positions;           // the slider's end
};
std::string draw(const Dial& dial);

// Points of a plane with the circle of radius 1 that the positions describe around each. Points nearer to a drawn one
// than half a unit are left out.
struct Orbits {
  std::string title, note;
  struct Word {
    std::string name;
    double x, y;
  };
  std::vector<Word> words;
  std::int64_t marks;  // positions marked on every circle
  double frequency;
};
std::string draw(const Orbits& orbits);

// Square matrices of one size side by side, all on one colour scale; row 0 at the top.
struct Maps {
  std::string title, note, x_label, y_label;
  std::size_t size;
  struct Map {
    std::string name;
    std::vector<double> values;  // (size, size)
  };
  std::vector<Map> maps;
};
std::string draw(const Maps& maps);

}  // namespace gnomon::report
