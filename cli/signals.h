#pragma once

// How the program meets SIGINT, SIGTERM and SIGHUP. No handler ever runs: oneDNN's generated kernels point the stack
// register into the heap for a while, and a handler's frame would be written there (github.com/oneapi-src/oneDNN/issues/4845).
// The signals are blocked in every thread, and a thread of its own waits for them.
namespace gnomon::cli {

// Called once, before any other thread exists. A signal then ends the program at once with 128 + its number, unless
// somebody is Patient. A worker leaves SIGINT and SIGHUP, which reach its whole group, to its parent. SIGHUP that is
// ignored already (nohup) stays so. Throws Error(resource) when the thread cannot be made.
void watch_signals(bool worker);

// While one lives, signals are counted, and the command ends when it is ready.
class Patient {
 public:
  Patient();
  ~Patient();
  Patient(const Patient&) = delete;
  Patient& operator=(const Patient&) = delete;
};
int interruptions();  // signals counted so far
int last_signal();    // 0: none

}  // namespace gnomon::cli
