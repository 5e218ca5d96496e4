// SPDX-License-Identifier: GPL-2.0-only
/*
 * --label: a process that reads what the ranks write, and passes it on line by line with the rank
 * before each. It is not in the PID namespace of the ranks, so that their last lines are read when
 * all of that is killed; it ends when nobody is left who could write.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run.h"
#include "tool.h"

#define LINE_LEN	4096	/* a longer line becomes several */
#define LABEL_LEN	16	/* "249: " */

struct stream {
	int fd, to;
	char label[LABEL_LEN];
	size_t len;
	char line[LINE_LEN];
};

/* Others who have the same file may have made it non-blocking. */
static void wait_writable(int fd)
{
	struct pollfd writable = { .fd = fd, .events = POLLOUT };

	poll(&writable, 1, -1);
}

/*
 * Where nobody listens SIGPIPE ends this process, and then those that write to it. An error ends it
 * in the same way.
 */
static void write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EAGAIN)
			wait_writable(fd);
		else if (n < 0 && errno != EINTR)
			_exit(refused("--label: %s: %s",
				      fd == STDOUT_FILENO ? "stdout" : "stderr", strerror(errno)));
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

/* In one piece, because stdout and stderr of all ranks may be the same file. */
static void pass_line(const struct stream *s, const char *line, size_t len)
{
	char buf[LABEL_LEN + LINE_LEN + 1];
	size_t at = strlen(s->label);

	memcpy(buf, s->label, at);
	memcpy(buf + at, line, len);
	buf[at + len] = '\n';
	write_all(s->to, buf, at + len + 1);
}

static void pass_lines(struct stream *s)
{
	char *line = s->line, *end = s->line + s->len, *stop;

	while ((stop = memchr(line, '\n', (size_t)(end - line)))) {
		pass_line(s, line, (size_t)(stop - line));
		line = stop + 1;
	}
	s->len = (size_t)(end - line);
	memmove(s->line, line, s->len);
	if (s->len == LINE_LEN) {
		pass_line(s, s->line, s->len);
		s->len = 0;
	}
}

/* False at the end. */
static bool read_stream(struct stream *s)
{
	ssize_t n = read(s->fd, s->line + s->len, LINE_LEN - s->len);

	if (n < 0 && errno == EINTR)
		return true;
	if (n > 0) {
		s->len += (size_t)n;
		pass_lines(s);
		return true;
	}
	if (s->len)
		pass_line(s, s->line, s->len);
	return false;
}

static void label_main(struct stream *streams, struct pollfd *polls, nfds_t n)
{
	nfds_t i, left = n;

	while (left) {
		if (poll(polls, n, -1) < 0 && errno != EINTR)
			return;
		for (i = 0; i < n; i++) {
			if (polls[i].fd < 0 || !polls[i].revents || read_stream(&streams[i]))
				continue;
			polls[i].fd = -1;
			left--;
		}
	}
}

static int make_pipe(struct run *run, unsigned int rank, int which, struct stream *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return refused("--label: no pipe for rank %u: %s (ulimit -n)", rank,
			       strerror(errno));
	run->output[rank][which] = ends[1];
	s->fd = ends[0];
	s->to = which ? STDERR_FILENO : STDOUT_FILENO;
	snprintf(s->label, sizeof(s->label), "%u: ", rank);
	return 0;
}

/*
 * Signals stay blocked: after one that ends the ranks their last lines are passed on. Where nobody
 * reads them @parent kills this process, or somebody kills @parent, and this one with it.
 */
static bool die_with_run(pid_t parent)
{
	return !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) && getppid() == parent;
}

static int fork_label(struct run *run, struct stream *streams, struct pollfd *polls, nfds_t n,
		      pid_t *pid)
{
	pid_t parent = getpid();
	nfds_t i;

	fflush(stdout);
	*pid = fork();
	if (*pid < 0)
		return refused("--label: no process: %s", strerror(errno));
	if (!*pid) {
		if (!die_with_run(parent))
			_exit(EXIT_REFUSED);
		for (i = 0; i < n; i++)
			close(run->output[i / 2][i % 2]);
		label_main(streams, polls, n);
		_exit(0);
	}
	for (i = 0; i < n; i++)
		close(streams[i].fd);
	return 0;
}

int label_start(struct run *run, pid_t *pid)
{
	nfds_t i, n = 2 * (nfds_t)run->hosts;
	struct stream *streams = calloc(n, sizeof(*streams));
	struct pollfd *polls = calloc(n, sizeof(*polls));
	int status = streams && polls ? 0 : refused("out of memory");

	*pid = -1;
	for (i = 0; !status && i < n; i++) {
		status = make_pipe(run, (unsigned int)(i / 2), (int)(i % 2), &streams[i]);
		polls[i] = (struct pollfd){ .fd = streams[i].fd, .events = POLLIN };
	}
	if (!status)
		status = fork_label(run, streams, polls, n, pid);
	free(streams);
	free(polls);
	return status;
}
