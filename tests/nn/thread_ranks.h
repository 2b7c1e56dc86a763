// Ranks that are threads of one process: what MPI is to processes, for the tests of what they do together.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/nn/ranks.h"

namespace gnomon {

class ThreadRank final : public Ranks {
 public:
  using Bytes = std::vector<std::byte>;
  struct Mail {
    explicit Mail(int ranks) : size(ranks) {}
    const int size;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<Bytes>> between;  // from, to
    int lost = -1;                                             // this rank answers no more
    std::size_t bytes = 0;                                     // that were sent
  };
  ThreadRank(Mail& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return mail_.size; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::unique_lock lock(mail_.mutex);
    for (const Outgoing& o : out) {
      mail_.between[{rank_, o.to}].emplace_back(o.bytes.begin(), o.bytes.end());
      mail_.bytes += o.bytes.size();
    }
    mail_.changed.notify_all();
    for (const Incoming& i : in) {
      auto& box = mail_.between[{i.from, rank_}];
      const bool came = mail_.changed.wait_for(lock, std::chrono::seconds(60),
                                               [&] { return mail_.lost >= 0 || !box.empty(); });
      if (!came) throw Error(Fault::bug, "ranks wait for each other");
      if (box.empty()) throw_lost();
      if (box.front().size() != i.bytes.size()) throw Error(Fault::bug, "ranks misunderstand each other");
      std::copy(box.front().begin(), box.front().end(), i.bytes.begin());
      box.pop_front();
    }
  }
  void check() override {
    const std::lock_guard lock(mail_.mutex);
    if (mail_.lost >= 0) throw_lost();
  }
  struct Killed {};
  // Without another word to anybody.
  [[noreturn]] void die() {
    const std::lock_guard lock(mail_.mutex);
    mail_.lost = rank_;
    mail_.changed.notify_all();
    throw Killed{};
  }

 private:
  [[noreturn]] void throw_lost() const { throw Error(Fault::lost, text("rank ", mail_.lost, " is lost")); }

  Mail& mail_;
  const int rank_;
};

// work(rank) on so many threads, of one thread each; what went wrong on each, empty where nothing did. `bytes`: what all of them
// sent.
inline std::vector<std::string> on_ranks(int ranks, const std::function<void(ThreadRank&)>& work,
                                         std::size_t* bytes = nullptr) {
  ThreadRank::Mail mail(ranks);
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        set_thread_count(1);
        ThreadRank rank(mail, r);
        try {
          work(rank);
        } catch (const Error& e) {
          errors[std::size_t(r)] = text(int(e.fault()), ": ", e.what());
        } catch (const ThreadRank::Killed&) {
          errors[std::size_t(r)] = "killed";
        }
      });
    }
  }
  if (bytes) *bytes = mail.bytes;
  return errors;
}

}  // namespace gnomon
