#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gnomon {

// Bytes for another rank, and room for what another rank sends.
struct Outgoing {
  int to;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int from;
  std::span<std::byte> bytes;
};

// The processes that train one model together, each with all of its parameters; this one is number rank() of size(). What is
// called of a training is called on all ranks, in the same order and from one thread each. This says what they talk about;
// how they reach each other is the derived class (study/run/ranks.h: over MPI).
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Sends and receives all of this at once; between two ranks, in the order in which both name it. Returns when everything has
  // arrived here and the outgoing bytes may change. Throws Error(lost) when a rank does not answer any more.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  // Throws Error(lost) likewise. For whoever computes long between two exchanges.
  virtual void check() = 0;

  // Before the result of a step is used: does everyone go on? false on all ranks as soon as one says no; after that the
  // training is only closed. `parameters` is a fingerprint of them, 0: not said. Throws Error(resource) on all ranks when
  // two of them are different.
  bool agree(bool go, std::uint64_t parameters);
  // Ends a training: returns rank 0's word, on all ranks, when rank 0 has said it.
  int close(int word);
  // Rank 0's bytes for everyone.
  void broadcast(std::span<std::byte> bytes);
  // Everyone's things for everyone: all[rank()] is what this rank says.
  template <class T>
  void all_gather(std::span<T> all) {
    all_gather(std::as_writable_bytes(all), sizeof(T));
  }

 private:
  void all_gather(std::span<std::byte> all, std::size_t each);

  bool over_ = false;  // somebody does not go on
};

}  // namespace gnomon
