/* The system calls of the compiled drivers, as plain C: gather, wait. Sockets are non-blocking. */
#ifndef KWIRE_SOCKETS_H
#define KWIRE_SOCKETS_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* Bytes taken, or -1 with errno. A broker that is gone is an error, also where the process has SIGPIPE end it. */
static inline ssize_t kw_send(int fd, struct iovec *spans, int count) {
    struct msghdr message = {0};
    message.msg_iov = spans;
    message.msg_iovlen = count;
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static inline int kw_would_block(int number) { return number == EAGAIN || number == EWOULDBLOCK || number == EINTR; }

/* Whether a mark that falls to what is there wakes who waits: Linux 4.18 and later. Before, nothing but
   further bytes woke epoll, and a mark above what the receive buffer holds was never reached. */
static inline int kw_marks_wake(void) {
#ifdef __linux__
    struct utsname kernel;
    int major, minor;
    return !uname(&kernel) && sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
           (major > 4 || (major == 4 && minor >= 18));
#else
    return 0;
#endif
}

/* The socket is not ready to be read before so many bytes, or the end, are there. The kernel makes room for them, and
   never waits for more than fits. A socket that refuses is woken more often. */
static inline void kw_low_water(int fd, int bytes) {
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

/* poll(2) in seconds; a negative or endless number waits for ever. */
static inline int kw_poll(struct pollfd *watched, nfds_t count, double seconds) {
    int endless = !(seconds >= 0 && seconds < 1e8);
#ifdef __linux__
    struct timespec t;
    if (endless) return ppoll(watched, count, NULL, NULL);
    t.tv_sec = (time_t)seconds;
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    return ppoll(watched, count, &t, NULL);
#else
    double milliseconds = seconds < 1e6 ? seconds * 1e3 : 1e9;
    int rounded = (int)milliseconds;
    if (endless) return poll(watched, count, -1);
    return poll(watched, count, rounded < milliseconds ? rounded + 1 : rounded);
#endif
}

#endif
