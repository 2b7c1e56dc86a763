#pragma once
#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {

// Input encodings without parameters: a vector that depends on where the token stands alone.
class FixedInput : public Encoding, public InputPart {
 public:
  using Encoding::Encoding;
  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return at(s.positions, t, c);
  }
  Floats tables(const Positions& positions) const override;
  void input(const Batch& b, float* e) const override;

 protected:
  virtual double at(const Positions& positions, std::int64_t t, std::int64_t c) const = 0;
};

// Sines or cosines alone, one frequency for each channel: wave(p·base^(−c/C)).
class OneWave : public FixedInput {
 public:
  OneWave(const Options& options, const Shape& shape, double (*wave)(const Angle&));
  std::vector<double> frequencies() const override { return frequencies_; }
  static std::vector<OptionSpec> options();

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    return wave_({p[t], frequencies_[c]});
  }

 private:
  double (*const wave_)(const Angle&);
  std::vector<double> frequencies_;
};

// Sines and cosines of a vector of `channels`: pair i of the pairs, sin then cos; an odd last channel is 0.
struct Sines {
  bool halves;         // [sin sin cos cos], else [sin cos sin cos]
  bool cosines_first;  // of halves: [cos cos sin sin]
  std::vector<double> frequencies;
  double at(double position, std::int64_t channel) const;
};
// The options of the three conventions, and what they mean for a vector of `channels`.
std::vector<OptionSpec> sine_options(std::vector<OptionSpec> more = {});
Sines make_sines(const Options& options, std::int64_t channels);

}  // namespace gnomon
