#include "gnomon/study/plan/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"

extern char** environ;

namespace gnomon {
namespace {

using Json = StrictJson;
constexpr std::size_t kLongestLine = 1 << 20;  // of a worker; a longer one is none of ours

struct Worker {
  RunPlan plan;
  pid_t pid = -1;
  int pipe = -1;
  std::string pending;  // bytes of an unfinished line
  std::string error;    // what it reported before it ended
  Fault fault = Fault::bug;
};

Worker start(const RunPlan& plan, const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(Fault::resource, text("cannot create a pipe: ", std::strerror(errno)));
  std::vector<std::string> words = command;
  for (const std::string& word :
       {std::string("--arm"), plan.arm, std::string("--seed"), text(plan.seed), std::string("--steps"),
        text(plan.steps), std::string("--rate"), shortest(plan.learning_rate), plan.key})
    words.push_back(word);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // What this process blocks is its own affair. These the worker blocks from its birth, not from when it can
  // watch them: Ctrl-C reaches the whole group, and would end a worker that is being loaded.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    throw Error(Fault::resource, text("cannot start ", words[0], ": ", std::strerror(error)));
  }
  return {plan, pid, ends[0], "", "", Fault::bug};
}

class Pool {
 public:
  Pool(Agenda& agenda, const StudyFolder& folder, std::size_t workers,
       const std::vector<std::string>& command, const WorkerHooks& hooks)
      : agenda_(agenda), folder_(folder), command_(command), hooks_(hooks), slots_(workers) {}
  ~Pool() {
    for (auto& slot : slots_) {
      if (!slot) continue;
      ::kill(slot->pid, SIGKILL);
      ::waitpid(slot->pid, nullptr, 0);
      ::close(slot->pipe);
    }
  }

  std::size_t perform() {
    for (;;) {
      const int interruptions = hooks_.interruptions();
      if (interruptions > signalled_) ask_to_stop(interruptions);
      const bool going_on = signalled_ == 0 && !fatal_;
      bool busy = false, more = going_on;
      for (auto& slot : slots_) {
        if (!slot && more) try_to([&] { more = fill(slot); });
        busy |= slot.has_value();
      }
      if (!busy && !(more && !fatal_)) break;
      listen();
    }
    if (fatal_) throw *fatal_;
    return crashed_;
  }

 private:
  // Whether a run was begun, or may be later.
  bool fill(std::optional<Worker>& slot) {
    const Agenda::Next next = agenda_.next();
    if (next.run) slot = start(*next.run, command_);
    return next.run || next.wait;
  }
  void ask_to_stop(int interruptions) {
    signalled_ = interruptions;
    for (auto& slot : slots_) {
      if (slot) ::kill(slot->pid, interruptions > 1 ? SIGKILL : SIGTERM);
    }
  }
  // An error ends the study, but the other runs are saved first.
  void give_up(const Error& e) {
    if (!fatal_) fatal_ = e;
    if (!signalled_) ask_to_stop(1);
  }
  template <class F>
  void try_to(const F& f) {
    try {
      f();
    } catch (const Error& e) {
      give_up(e);
    }
  }
  void listen() {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> slot_of;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i]) continue;
      waiting.push_back({slots_[i]->pipe, POLLIN, 0});
      slot_of.push_back(i);
    }
    if (::poll(waiting.data(), waiting.size(), 100) <= 0) return;  // a signal or nothing: ask again
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      if (waiting[w].revents) hear(slot_of[w]);
    }
  }
  void hear(std::size_t i) {
    char block[4096];
    const ssize_t n = ::read(slots_[i]->pipe, block, sizeof block);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return end(i);
    Worker& worker = *slots_[i];
    worker.pending.append(block, std::size_t(n));
    for (std::size_t at; (at = worker.pending.find('\n')) != std::string::npos;
         worker.pending.erase(0, at + 1)) {
      understand(i, std::string_view(worker.pending).substr(0, at));
    }
    if (worker.pending.size() > kLongestLine) worker.pending.clear();
  }
  // A library may write to the worker's standard output too: what is no line of ours says nothing.
  void understand(std::size_t i, std::string_view line) {
    Worker& worker = *slots_[i];
    std::optional<WorkerLine> said;
    try {
      said = read_worker_line(line);
    } catch (const Error&) {
      return;
    }
    if (said->progress) hooks_.progress(i, worker.plan, *said->progress);
    if (!said->note.empty())
      hooks_.note(text(worker.plan.arm, ", seed ", worker.plan.seed, ": ", said->note));
    if (!said->error.empty()) worker.error = said->error, worker.fault = said->fault;
  }
  // The pipe is closed: the worker is ending.
  void end(std::size_t i) {
    Worker worker = *slots_[i];
    slots_[i].reset();
    ::close(worker.pipe);
    int status = 0;
    pid_t waited = 0;
    while ((waited = ::waitpid(worker.pid, &status, 0)) < 0 && errno == EINTR) {
    }
    if (waited < 0) throw Error(Fault::resource, text("cannot wait for a worker: ", std::strerror(errno)));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      return try_to([&] { hooks_.finished(i, result_of(worker.plan, folder_.run(worker.plan))); });
    if (!worker.error.empty() && worker.fault == Fault::busy) return agenda_.give_back(worker.plan);
    if (!worker.error.empty()) return give_up(Error(worker.fault, worker.error));
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (signalled_ > 0 && (code == 128 + SIGTERM || code == 128 + SIGKILL)) return;  // it was asked to
    ++crashed_;
    hooks_.note(text(worker.plan.arm, ", seed ", worker.plan.seed, ": the worker ended ",
                     WIFSIGNALED(status)
                         ? text("by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")
                         : text("with code ", WEXITSTATUS(status))));
  }

  Agenda& agenda_;
  const StudyFolder& folder_;
  const std::vector<std::string>& command_;
  const WorkerHooks& hooks_;
  std::vector<std::optional<Worker>> slots_;
  std::size_t crashed_ = 0;
  int signalled_ = 0;
  std::optional<Error> fatal_;
};

Fault fault_of(const JsonValue& number) {
  const auto code = int(number.whole(0, 255));
  for (const Fault f : {Fault::usage, Fault::input, Fault::resource, Fault::busy}) {
    if (code == int(f)) return f;
  }
  return Fault::bug;
}

// With what is not UTF-8, as in a path, replaced.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

WorkerLine read_worker_line(std::string_view line) {
  const Json json = parse_json(line, "a worker's line");
  const JsonValue said(json, "a worker's line");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  WorkerLine out;
  if (json.contains("step")) {
    out.progress = {said.member("step").whole(0, kMost), said.member("steps").whole(0, kMost),
                    said.member("nats").number_or_nan(), said.member("tokens_per_second").number_or_nan()};
  } else if (json.contains("note")) {
    out.note = said.member("note").text();
  } else {
    out.error = said.member("error").text(), out.fault = fault_of(said.member("fault"));
  }
  return out;
}

std::size_t perform_all(Agenda& agenda, const StudyFolder& folder, std::size_t workers,
                        const std::vector<std::string>& command, const WorkerHooks& hooks) {
  return Pool(agenda, folder, workers, command, hooks).perform();
}

std::string tell_progress(const RunProgress& p) {
  return line_of(
      {{"step", p.step}, {"steps", p.steps}, {"nats", p.nats}, {"tokens_per_second", p.tokens_per_second}});
}
std::string tell_note(const std::string& note) { return line_of({{"note", note}}); }
std::string tell_error(int fault, const std::string& message) {
  return line_of({{"fault", fault}, {"error", message}});
}

}  // namespace gnomon
