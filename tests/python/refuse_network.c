// Preloaded (LD_PRELOAD), it refuses every socket of a network and writes a line to the file $NETWORK_LOG for each.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_UNIX) return (int)syscall(SYS_socket, domain, type, protocol);
  const char* path = getenv("NETWORK_LOG");
  const int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
  if (log >= 0) {
    const char line[] = "socket\n";
    const ssize_t written = write(log, line, strlen(line));
    (void)written;
    close(log);
  }
  errno = EACCES;
  return -1;
}
