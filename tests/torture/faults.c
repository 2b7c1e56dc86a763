// Makes one call of the system fail, for tests. Preloaded (LD_PRELOAD), it reads from the environment
//
//   GNOMON_FAULT=FUNCTION:N:WHAT[:persistent][:min=BYTES][:in=WORD]      such as write:7:ENOSPC, malloc:200:ENOMEM:min=4096
//   GNOMON_FAULT_LOG=FILE                                                gains a line in each process that it struck
//
// FUNCTION is one of kNames, with its sisters (open: openat, creat; malloc: calloc, realloc, posix_memalign, aligned_alloc).
// The N-th call in each process fails, or with `persistent` that one and all later ones. WHAT is the name of an errno, or
// `partial`: half of what was to be read or written. `min`: only memory from that size on counts. `in`: only in processes
// whose first argument is WORD.
//
// Calls count from main on: before, no program could answer. Files are reached by system calls and memory by glibc's
// own names, so nothing here looks up a symbol at a time when that would ask for memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum Function {
  kNone,
  kWrite,
  kPwrite,
  kFsync,
  kRename,
  kOpen,
  kRead,
  kClose,
  kUnlink,
  kMkdir,
  kFlock,
  kMalloc,
  kThread,
  kFunctions
};
static const char* const kNames[kFunctions] = {"",      "write",  "pwrite",        "fsync",  "rename",
                                               "open",  "read",   "close",         "unlink", "mkdir",
                                               "flock", "malloc", "pthread_create"};
static const struct {
  const char* name;
  int number;
} kErrors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},
               {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EMFILE", EMFILE},
               {"EACCES", EACCES}, {"ENOLCK", ENOLCK}, {"EROFS", EROFS}};

enum { kPartial = -1 };
static struct {
  enum Function function;
  long first;
  int error;  // or kPartial
  int persistent;
  size_t least;
  char text[128];
  const char* log;
} plan;
static atomic_long calls;

static void refuse(const char* why) {
  fprintf(stderr, "faults: GNOMON_FAULT=%s: %s\n", getenv("GNOMON_FAULT"), why);
  _exit(99);
}

static void read_plan(const char* word) {
  const char* given = getenv("GNOMON_FAULT");
  if (!given) return;
  if (strlen(given) >= sizeof plan.text) refuse("too long");
  char pieces[sizeof plan.text], *rest = pieces;
  strcpy(pieces, given);
  strcpy(plan.text, given);
  const char* name = strsep(&rest, ":");
  const char* first = strsep(&rest, ":");
  const char* what = strsep(&rest, ":");
  enum Function function = kNone;
  for (int i = 1; i < kFunctions; ++i) {
    if (strcmp(name, kNames[i]) == 0) function = (enum Function)i;
  }
  plan.first = first ? atol(first) : 0;
  for (size_t i = 0; what && i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (strcmp(what, kErrors[i].name) == 0) plan.error = kErrors[i].number;
  }
  if (what && strcmp(what, "partial") == 0) plan.error = kPartial;
  if (function == kNone || plan.first < 1 || plan.error == 0)
    refuse("FUNCTION:N:WHAT[:persistent][:min=BYTES][:in=WORD]");
  for (const char* more; (more = strsep(&rest, ":"));) {
    if (strcmp(more, "persistent") == 0) {
      plan.persistent = 1;
    } else if (strncmp(more, "min=", 4) == 0) {
      plan.least = (size_t)atol(more + 4);
    } else if (strncmp(more, "in=", 3) == 0) {
      if (!word || strcmp(word, more + 3) != 0) return;
    } else {
      refuse(more);
    }
  }
  plan.log = getenv("GNOMON_FAULT_LOG");
  plan.function = function;
}

// What was struck, for the reader of the log: a path, or what a descriptor leads to.
static void tell(const char* path, int fd) {
  if (!plan.log) return;
  char link[32], target[512] = "", line[1024];
  if (!path && fd >= 0) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1) >= 0) path = target;
  }
  const int size = snprintf(line, sizeof line, "%s pid %d %.500s\n", plan.text, getpid(), path ? path : "");
  const int log =
      (int)syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return;
  if (syscall(SYS_write, log, line, (size_t)size) < 0) _exit(99);
  syscall(SYS_close, log);
}

// 0: this call goes on. Otherwise how it fails.
static int struck(enum Function function, const char* path, int fd, size_t size) {
  if (function != plan.function || size < plan.least) return 0;
  const long call = atomic_fetch_add(&calls, 1) + 1;
  if (call < plan.first || (call > plan.first && !plan.persistent)) return 0;
  if (call == plan.first) tell(path, fd);
  if (plan.error != kPartial) errno = plan.error;
  return plan.error;
}
static int path_struck(enum Function function, const char* path) {
  return struck(function, path, -1, SIZE_MAX);
}
static int file_struck(enum Function function, int fd) { return struck(function, NULL, fd, SIZE_MAX); }

// What to pass on of `size` bytes; -1: fail.
static ssize_t passed(enum Function function, int fd, size_t size) {
  const int how = file_struck(function, fd);
  if (how == 0) return (ssize_t)size;
  return how == kPartial ? (ssize_t)(size > 1 ? size / 2 : size) : -1;
}

// --- Files

ssize_t write(int fd, const void* bytes, size_t size) {
  const ssize_t n = passed(kWrite, fd, size);
  return n < 0 ? -1 : syscall(SYS_write, fd, bytes, n);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  const ssize_t n = passed(kPwrite, fd, size);
  return n < 0 ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }
ssize_t read(int fd, void* bytes, size_t size) {
  const ssize_t n = passed(kRead, fd, size);
  return n < 0 ? -1 : syscall(SYS_read, fd, bytes, n);
}
ssize_t pread64(int fd, void* bytes, size_t size, off64_t at) {
  const ssize_t n = passed(kRead, fd, size);
  return n < 0 ? -1 : syscall(SYS_pread64, fd, bytes, n, at);
}
ssize_t pread(int fd, void* bytes, size_t size, off_t at) { return pread64(fd, bytes, size, at); }

static int open_or_fail(int folder, const char* path, int flags, mode_t mode) {
  return path_struck(kOpen, path) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
static mode_t mode_of(int flags, va_list more) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_or_fail(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_or_fail(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_or_fail(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_or_fail(folder, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return open_or_fail(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int fsync(int fd) { return file_struck(kFsync, fd) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return file_struck(kFsync, fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int flock(int fd, int operation) {
  return file_struck(kFlock, fd) ? -1 : (int)syscall(SYS_flock, fd, operation);
}
int close(int fd) {
  const int how = file_struck(kClose, fd);
  const int result =
      (int)syscall(SYS_close, fd);  // Linux gives the descriptor up even when it reports an error
  if (how) errno = how;
  return how ? -1 : result;
}
int rename(const char* from, const char* to) {
  return path_struck(kRename, to) ? -1 : (int)syscall(SYS_rename, from, to);
}
int unlink(const char* path) { return path_struck(kUnlink, path) ? -1 : (int)syscall(SYS_unlink, path); }
int remove(const char* path) {
  if (path_struck(kUnlink, path)) return -1;
  const int result = (int)syscall(SYS_unlink, path);
  return result < 0 && errno == EISDIR ? (int)syscall(SYS_rmdir, path) : result;
}
int mkdir(const char* path, mode_t mode) {
  return path_struck(kMkdir, path) ? -1 : (int)syscall(SYS_mkdir, path, mode);
}

// --- Memory

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
static int no_memory(size_t size) { return struck(kMalloc, "memory", -1, size); }

void* malloc(size_t size) { return no_memory(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return no_memory(count * size) ? NULL : __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) { return no_memory(size) ? NULL : __libc_realloc(block, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return no_memory(size) ? NULL : __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  return no_memory(size) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  if (no_memory(size)) return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

// --- Threads, and the beginning

typedef int Create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
typedef int Main(int, char**, char**);
typedef int Start(Main*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
static Create* real_create;
static Main* real_main;

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  const int error = path_struck(kThread, "thread");
  if (error) return error;
  if (!real_create)
    real_create = (Create*)dlsym(RTLD_NEXT, "pthread_create");  // asked before main: by a constructor
  return real_create(thread, attributes, run, argument);
}

static int counted_main(int argc, char** argv, char** environment) {
  real_create = (Create*)dlsym(RTLD_NEXT, "pthread_create");
  read_plan(argc > 1 ? argv[1] : NULL);
  return real_main(argc, argv, environment);
}
int __libc_start_main(Main* program, int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  real_main = program;
  Start* start = (Start*)dlsym(RTLD_NEXT, "__libc_start_main");
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
