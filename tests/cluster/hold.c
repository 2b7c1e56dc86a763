// Holds a training at its first checkpoint, for tests that do something to it there, however fast the machine is. Preloaded
// (LD_PRELOAD) in every rank, with GNOMON_HOLD=NAME in the environment: whoever has written a checkpoint makes NAME.held and waits
// until there is NAME.go, which a test makes, or the first rank that has received a signal.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* name(const char* ending) {
  static _Thread_local char path[4096];
  const char* const given = getenv("GNOMON_HOLD");
  snprintf(path, sizeof path, "%s.%s", given ? given : "", ending);
  return given ? path : NULL;
}

static void make(const char* path) {
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) close(fd);
}

int rename(const char* from, const char* to) {
  static atomic_flag held = ATOMIC_FLAG_INIT;
  const int code = (int)syscall(SYS_rename, from, to);
  const int reason = errno;
  const char* const file = strrchr(to, '/');
  if (code == 0 && file && strcmp(file, "/checkpoint.safetensors") == 0 && name("held") &&
      !atomic_flag_test_and_set(&held)) {
    make(name("held"));
    while (access(name("go"), F_OK) != 0) usleep(2000);
  }
  errno = reason;
  return code;
}

int sigwait(const sigset_t* set, int* number) {
  const int found = sigwaitinfo(set, NULL);
  if (found < 0) return errno;
  *number = found;
  make(name("go"));
  return 0;
}
