/* The system calls of the compiled drivers, as plain C: gather, wait. Sockets are non-blocking. */
#ifndef KWIRE_SOCKETS_H
#define KWIRE_SOCKETS_H

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

/* The socket is not ready to be read before so many bytes, or the end, are there. Elsewhere than on Linux nothing changes:
   there the kernel makes room for them, and never waits for more than fits. A socket that refuses is woken more often. */
static inline void kw_low_water(int fd, int bytes) {
#ifdef __linux__
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
#else
    (void)fd, (void)bytes;
#endif
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
