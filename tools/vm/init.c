// SPDX-License-Identifier: GPL-2.0-only
/*
 * init: the first process of a VM started by tools/vm/run.
 *
 * It runs twice in one life: in the initramfs it loads the modules that reach the host's files and
 * mounts the host's root under an overlay in memory; there, it starts the one command the VM was
 * booted for, copies the command's output to the virtio port that the host reads, writes down the
 * exit status and ends the machine.
 *
 * The two sides talk through /run/inc-vm (a directory of the host, one per run): argv, env (strings
 * with NUL behind each), cwd, out (the directory that the guest may write), lib (what to mount on
 * /lib/modules/RELEASE) and shares (tags and paths of more of the host's directories) are read;
 * status is written, and only when the command has ended and all of its output is on its way. What
 * goes wrong before that goes to the kernel log, with "inc-vm:" in front of it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN "/run/inc-vm"
#define P9 "trans=virtio,version=9p2000.L,msize=512000,"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void say(const char *fmt, ...)
{
	char line[512] = "<5>inc-vm: ";
	size_t n = strlen(line);
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		fprintf(stderr, "%s\n", line + 3);
	if (fd >= 0)
		close(fd);
}

/* The machine was started with -no-reboot: asking for a reboot ends it at once, without ACPI. */
static noreturn void end_machine(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static noreturn void fail(const char *what, const char *name)
{
	say("cannot %s %s: %s", what, name, strerror(errno));
	end_machine();
}

static void make_dirs(const char *path)
{
	char dir[4096];
	char *p;

	snprintf(dir, sizeof(dir), "%s/", path);
	for (p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(dir, 0755) && errno != EEXIST)
			fail("make", dir);
		*p = '/';
	}
}

static void mount_at(const char *source, const char *dir, const char *type, unsigned long flags,
		     const char *data)
{
	make_dirs(dir);
	if (mount(source, dir, type, flags, data))
		fail("mount", dir);
}

/* Reads a whole file into fresh memory, with a NUL behind it. */
static char *slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		fail("open", path);
	do {
		text = realloc(text, n + 65536 + 1);
		if (!text)
			fail("read", path);
		got = read(fd, text + n, 65536);
		if (got < 0)
			fail("read", path);
		n += got;
	} while (got);
	close(fd);
	text[n] = 0;
	if (size)
		*size = n;
	return text;
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("open", path);
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		fail("load", path);
	close(fd);
}

static void load_modules(void)
{
	char *list = slurp("/modules/list", NULL);
	char *name;
	char path[300];

	for (name = strtok(list, "\n"); name; name = strtok(NULL, "\n")) {
		snprintf(path, sizeof(path), "/modules/%s", name);
		load_module(path);
	}
	free(list);
}

static void mount_root(void)
{
	static const struct {
		const char *source, *dir, *type, *data;
	} table[] = {
		{ "proc", "/new/proc", "proc", "" },
		{ "sysfs", "/new/sys", "sysfs", "" },
		{ "devtmpfs", "/new/dev", "devtmpfs", "mode=0755" },
		{ "devpts", "/new/dev/pts", "devpts", "ptmxmode=0666" },
		{ "tmpfs", "/new/dev/shm", "tmpfs", "mode=1777" },
		{ "debugfs", "/new/sys/kernel/debug", "debugfs", "" },
		{ "tracefs", "/new/sys/kernel/tracing", "tracefs", "" },
		{ "cgroup2", "/new/sys/fs/cgroup", "cgroup2", "" },
		{ "tmpfs", "/new/run", "tmpfs", "mode=0755" },
	};
	size_t i;

	mount_at("root", "/lower", "9p", MS_RDONLY, P9 "cache=loose");
	mount_at("over", "/over", "tmpfs", 0, "mode=0755");
	make_dirs("/over/upper");
	make_dirs("/over/work");
	mount_at("root", "/new", "overlay", 0,
		 "lowerdir=/lower,upperdir=/over/upper,workdir=/over/work");
	for (i = 0; i < ARRAY_SIZE(table); i++)
		mount_at(table[i].source, table[i].dir, table[i].type, 0, table[i].data);
	mount_at("run", "/new" RUN, "9p", 0, P9 "cache=none");
	if (symlink("/proc/self/fd", "/new/dev/fd") && errno != EEXIST)
		fail("symlink", "/dev/fd");
}

static void enter_root(void)
{
	if (chdir("/new") || mount("/new", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail("enter", "/new");
}

/* "a\0b\0" -> { "a", "b", NULL } */
static char **strings(const char *path)
{
	size_t size, n = 0;
	char *text = slurp(path, &size);
	char **list = calloc(size + 1, sizeof(*list));
	char *p;

	if (!list)
		fail("read", path);
	for (p = text; p < text + size; p += strlen(p) + 1)
		list[n++] = p;
	return list;
}

static void mount_shares(void)
{
	char *out = slurp(RUN "/out", NULL);
	char *lib = slurp(RUN "/lib", NULL);
	char **more = strings(RUN "/shares");
	char dir[200];
	struct utsname u;

	for (; *more; more += 2)
		mount_at(more[0], more[1], "9p", MS_RDONLY, P9 "cache=loose");
	if (*out)
		mount_at("out", out, "9p", 0, P9 "cache=none");
	if (*lib) {
		uname(&u);
		snprintf(dir, sizeof(dir), "/lib/modules/%s", u.release);
		mount_at(lib, dir, NULL, MS_BIND, NULL);
	}
	free(out);
	free(lib);
}

static void loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req))
		fail("bring up", "lo");
	close(fd);
}

static noreturn void child(int out)
{
	char **argv = strings(RUN "/argv");
	char *cwd = slurp(RUN "/cwd", NULL);
	sigset_t none;
	int null;

	environ = strings(RUN "/env");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	null = open("/dev/null", O_RDONLY);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	close(null);
	if (chdir(cwd)) {
		fprintf(stderr, "vm: cannot enter %s in the guest: %s\n", cwd, strerror(errno));
		_exit(126);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "vm: cannot run %s in the guest: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* The first port; what another one is for is between the command and the host. */
static int open_port(void)
{
	DIR *dir = opendir("/dev");
	struct dirent *e;
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir)))
		if (!strncmp(e->d_name, "vport", 5) && !strcmp(strrchr(e->d_name, 'p'), "p1"))
			fd = openat(dirfd(dir), e->d_name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		fail("open", "the port for the command's output");
	closedir(dir);
	return fd;
}

/* Copies what is there. False when nothing will come any more. */
static int copy_output(int from, int port)
{
	static char buf[65536];
	ssize_t n, done, put;

	for (;;) {
		n = read(from, buf, sizeof(buf));
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		for (done = 0; done < n; done += put) {
			put = write(port, buf + done, n - done);
			if (put < 0)
				fail("write", "the command's output");
		}
	}
}

/* Waits for the command, and for everybody else who became this process's child. */
static int reap(pid_t command, int *status)
{
	int s, found = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &s, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		*status = WIFSIGNALED(s) ? 128 + WTERMSIG(s) : WEXITSTATUS(s);
		found = 1;
	}
	return found;
}

static int run_command(int port)
{
	struct signalfd_siginfo info;
	int pipes[2], status = 125, open_pipe = 1;
	struct pollfd fds[2];
	sigset_t chld;
	pid_t pid;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fds[1] = (struct pollfd){ .fd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC),
				  .events = POLLIN };
	if (fds[1].fd < 0 || pipe2(pipes, O_CLOEXEC))
		fail("make", "a pipe");
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	fds[0] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	pid = fork();
	if (pid < 0)
		fail("start", "the command");
	if (!pid)
		child(pipes[1]);
	close(pipes[1]);
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			fail("wait for", "the command");
		if (open_pipe && fds[0].revents)
			open_pipe = copy_output(pipes[0], port);
		if (!open_pipe)
			fds[0].fd = -1;
		while (read(fds[1].fd, &info, sizeof(info)) > 0)
			;
		if (reap(pid, &status))
			break;
	}
	/* Whoever is left goes, and what was written until then is still delivered. */
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	copy_output(pipes[0], port);
	return status;
}

/* What a module complains about when it goes belongs to the verdict. If it is in use, it stays. */
static void unload(const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (access(path, F_OK))
		return;
	say("unloading %s", name);
	if (syscall(SYS_delete_module, name, O_NONBLOCK))
		say("%s stays loaded: %s", name, strerror(errno));
}

static void write_status(int status)
{
	int fd = open(RUN "/status", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || dprintf(fd, "%d\n", status) < 0 || close(fd))
		fail("write", RUN "/status");
}

int main(void)
{
	int port, status;

	if (getpid() != 1) {
		fprintf(stderr, "init: this is the first process of a VM, see tools/vm/run\n");
		return 2;
	}
	mount_at("proc", "/proc", "proc", 0, "");
	mount_at("devtmpfs", "/dev", "devtmpfs", 0, "mode=0755");
	mount_at("sysfs", "/sys", "sysfs", 0, "");
	while (open("/dev/null", O_RDWR) < 2)
		;
	say("up");
	if (getenv("inc_probe"))
		end_machine();
	load_modules();
	mount_root();
	enter_root();
	mount_shares();
	loopback_up();
	sethostname("inc-vm", 6);
	port = open_port();
	status = run_command(port);
	close(port);
	unload("sch_inc");
	unload("inc");
	write_status(status);
	say("the command ended with status %d", status);
	end_machine();
}
