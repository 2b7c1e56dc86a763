// Ranks over MPI, and the door to it. Its twin without MPI is ranks_none.cpp: a build has one of them.
//
// But for its start and its end nothing here waits inside MPI: messages are begun, and then asked about, so that whoever waits
// for a lost rank finds out. MPI is asked for MPI_THREAD_SERIALIZED: two threads call it, one at a time.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/study/run/ranks.h"

namespace gnomon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kBeat = 1s, kSilence = 20s;
constexpr std::size_t kLongest = std::size_t{1} << 30;  // bytes of a message: MPI counts in int
constexpr int kData = 0, kLife = 1;                     // tags
constexpr int kNobody = -1, kStarter = -2;              // who is lost, beside ranks
constexpr std::string_view kAgain =
    "; start the run again, on any number of ranks: it continues from its checkpoint";

// A thread that sends every other rank a sign of life each second, and listens for theirs.
class Life {
 public:
  Life(std::mutex& mpi, int rank, int size) : mpi_(mpi), rank_(rank), others_(std::size_t(size)) {
    if (size > 1) thread_ = std::thread([this] { live(); });
  }
  ~Life() { end(false); }
  int lost() const { return lost_; }
  // With a farewell: when everyone has said it, or is lost.
  void end(bool farewell) {
    (farewell ? leaving_ : ended_) = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  enum Sign : unsigned char { alive, leaving };
  struct Other {
    Clock::time_point heard = Clock::now();
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    Sign received = alive, sent = alive;
    bool gone = false, told = false;  // it has said farewell; it was said to it
  };

  void live() {
    const pid_t starter = getppid();
    for (Clock::time_point beat{}; !ended_; std::this_thread::sleep_for(50ms)) {
      const bool due = leaving_ || Clock::now() - beat >= kBeat;
      if (due) beat = Clock::now();
      bool all_gone = leaving_;
      for (int r = 0; r < int(others_.size()); ++r) {
        if (r == rank_) continue;
        Other& other = others_[std::size_t(r)];
        const std::lock_guard lock(mpi_);
        hear(r, other);
        if (due) tell(r, other);
        all_gone = all_gone && other.gone && other.told;
        if (Clock::now() - other.heard > kSilence) lost_ = r;
      }
      if (getppid() != starter) lost_ = kStarter;
      if (all_gone || lost_ != kNobody) return;
    }
  }
  void hear(int r, Other& other) {
    for (int there = 1; there && !other.gone;) {
      if (other.in == MPI_REQUEST_NULL)
        MPI_Irecv(&other.received, 1, MPI_BYTE, r, kLife, MPI_COMM_WORLD, &other.in);
      if (MPI_Test(&other.in, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) lost_ = r, there = 0;
      if (there) other.heard = Clock::now(), other.gone = other.received == leaving;
    }
  }
  // Unless the sign before is still on its way.
  void tell(int r, Other& other) {
    int sent = 0;
    if (MPI_Test(&other.out, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS) lost_ = r;
    if (!sent) return;
    other.told = other.sent == leaving;
    if (other.told) return;
    other.sent = leaving_ ? leaving : alive;
    MPI_Isend(&other.sent, 1, MPI_BYTE, r, kLife, MPI_COMM_WORLD, &other.out);
  }

  std::mutex& mpi_;
  const int rank_;
  std::vector<Other> others_;
  std::atomic<bool> leaving_ = false, ended_ = false;
  std::atomic<int> lost_ = kNobody;
  std::thread thread_;
};

int start_mpi() {
  int provided = MPI_THREAD_SINGLE, rank = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);  // ends the process where it fails
  if (provided < MPI_THREAD_SERIALIZED)
    throw Error(Fault::resource, "this MPI has no MPI_THREAD_SERIALIZED: it was built for one thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int count_ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks()
      : rank_(start_mpi()), size_(count_ranks()), hosts_(std::size_t(size_)), life_(mpi_, rank_, size_) {
    int length = 0;
    {
      const std::lock_guard lock(mpi_);
      MPI_Get_processor_name(hosts_[std::size_t(rank_)].data(), &length);
    }
    all_gather(std::span(hosts_));
  }
  ~MpiRanks() override {
    const bool orderly = std::uncaught_exceptions() == 0;
    life_.end(orderly);
    if (orderly && life_.lost() == kNobody) MPI_Finalize();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::vector<MPI_Request> messages = begin(out, in);
    const auto started = Clock::now();
    for (;;) {
      if (arrived(messages)) return;
      check();
      // At most a sixteenth of the time that it takes anyway; shared cores are left to those who compute.
      const auto pause = std::min<Clock::duration>((Clock::now() - started) / 16, 100us);
      pause < 50us ? std::this_thread::yield() : std::this_thread::sleep_for(pause);
    }
  }

  void check() override {
    const int lost = life_.lost();
    if (lost == kNobody) return;
    if (lost == kStarter)
      throw Error(Fault::lost, text("the process that started rank ", rank_, " has ended", kAgain));
    throw Error(Fault::lost, text("rank ", lost, " on ", hosts_[std::size_t(lost)].data(),
                                  " is lost: it was silent for ", kSilence.count(), " seconds", kAgain));
  }

 private:
  std::vector<MPI_Request> begin(std::span<const Outgoing> out, std::span<const Incoming> in) {
    std::vector<MPI_Request> messages;
    const auto pieces = [&](auto bytes, const auto& begin_one) {
      for (; !bytes.empty(); bytes = bytes.subspan(std::min(kLongest, bytes.size())))
        begin_one(bytes.data(), int(std::min(kLongest, bytes.size())), &messages.emplace_back());
    };
    const std::lock_guard lock(mpi_);
    for (const Incoming& i : in) {
      pieces(i.bytes, [&](std::byte* to, int bytes, MPI_Request* message) {
        MPI_Irecv(to, bytes, MPI_BYTE, i.from, kData, MPI_COMM_WORLD, message);
      });
    }
    for (const Outgoing& o : out) {
      pieces(o.bytes, [&](const std::byte* from, int bytes, MPI_Request* message) {
        MPI_Isend(from, bytes, MPI_BYTE, o.to, kData, MPI_COMM_WORLD, message);
      });
    }
    return messages;
  }
  bool arrived(std::vector<MPI_Request>& messages) {
    int all = 0;
    const std::lock_guard lock(mpi_);
    const int error = MPI_Testall(int(messages.size()), messages.data(), &all, MPI_STATUSES_IGNORE);
    if (error == MPI_SUCCESS) return all;
    char why[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, why, &length);
    throw Error(Fault::lost, text("rank ", rank_, " cannot reach the others: ", why, kAgain));
  }

  using Host = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  const int rank_, size_;
  std::vector<Host> hosts_;
  std::mutex mpi_;
  Life life_;
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() { return std::make_unique<MpiRanks>(); }

}  // namespace gnomon
