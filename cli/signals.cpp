#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "gnomon/core/error.h"

namespace gnomon::cli {
namespace {

std::atomic<int> g_patient = 0, g_interruptions = 0, g_signal = 0;

void wait_for(sigset_t watched) {
  for (;;) {
    int signal = 0;
    if (sigwait(&watched, &signal) != 0) continue;
    if (g_patient == 0) _exit(128 + signal);
    g_signal = signal;
    ++g_interruptions;
  }
}

}  // namespace

void watch_signals(bool worker) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that went away is met where output is flushed
  ::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would make waitpid() fail here
  sigset_t blocked, watched;
  sigemptyset(&blocked), sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaddset(&blocked, signal);
    if (!worker || signal == SIGTERM) sigaddset(&watched, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);  // threads made from now on inherit it
  try {
    std::thread(wait_for, watched).detach();
  } catch (const std::system_error& e) {
    throw Error(Fault::resource, text("cannot start the thread that waits for signals: ", e.what()));
  }
}

Patient::Patient() { ++g_patient; }
Patient::~Patient() { --g_patient; }
int interruptions() { return g_interruptions; }
int last_signal() { return g_signal; }

}  // namespace gnomon::cli
