// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc run: a program on hosts around a node, all on this machine. Reads the arguments, starts the
 * switch (job.c) in namespaces of its own, and passes signals on until it has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"
#include "tool.h"

#define DEFAULT_HOSTS	2
#define DEFAULT_MTU	1500
#define MIN_MTU		256	/* below 248 the node's packets do not get through */
#define MIN_MTU_IPV6	1280
#define MAX_MTU		65535
#define STACK_SIZE	(512 * 1024)
#define SWITCH_NAME	"inc-switch"

static const char usage[] =
	"Usage: inc [-s] run [OPTIONS] [--] PROGRAM [ARGUMENT]...\n"
	"Makes a bridge that is a node, and hosts around it, in network namespaces of this machine, and starts\n"
	"PROGRAM once on each host; rank, size and job are in its environment. Nothing of it is left at the end.\n"
	"OPTIONS: -n, --hosts N     hosts, 1..250, default 2\n"
	"         -l, --label       the rank before each line that is printed\n"
	"         -k, --keep-going  a rank that fails does not end the others\n"
	"         -6, --ipv6        ranks reach node and master by IPv6\n"
	"         --mtu MTU         of all links, 256..65535, with -6 1280..65535, default 1500\n"
	"         --mpi             PROGRAM runs once, and starts those on the hosts with mpirun or mpiexec; so\n"
	"                           does one of this name without the option\n"
	"         --show            prints the commands that do the same by hand, and does nothing\n"
	"-s: at the end what the node has counted, on stderr. Without privilege it uses a user namespace.\n"
	"Exit status: that of the first rank that fails; 128 and the signal if it is killed.\n";

/* One that is ignored, as nohup(1) has it, stays so. */
void run_signals(sigset_t *set)
{
	static const int list[] = {
		SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
	};
	struct sigaction action;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		if (!sigaction(list[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(set, list[i]);
}

/* ---- Arguments ----------------------------------------------------------- */

static int parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
			unsigned int *value)
{
	struct arg arg = { .key = option, .kind = ARG_NUM, .min = min, .max = max };
	int err = parse_value(&arg, text);

	*value = (unsigned int)arg.num;
	return err;
}

enum { OPT_MTU = 256, OPT_MPI, OPT_SHOW };

static const struct option long_options[] = {
	{ "hosts", required_argument, NULL, 'n' },
	{ "label", no_argument, NULL, 'l' },
	{ "keep-going", no_argument, NULL, 'k' },
	{ "ipv6", no_argument, NULL, '6' },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "mpi", no_argument, NULL, OPT_MPI },
	{ "show", no_argument, NULL, OPT_SHOW },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

/* getopt_long() takes abbreviations, this tool does not. */
static bool is_whole(const char *word)
{
	const struct option *o;
	size_t len;

	if (strncmp(word, "--", 2))
		return true;
	len = strcspn(word + 2, "=");
	for (o = long_options; o->name; o++)
		if (strlen(o->name) == len && !strncmp(o->name, word + 2, len))
			return true;
	return false;
}

/* @word is what getopt_long() has not understood. */
static int wrong_option(int opt, const char *word)
{
	if (opt == ':')
		return usage_error("%s: value is missing", word);
	return usage_error("%s: unknown option; `inc run help` lists them", word);
}

static int take_option(struct run *run, int opt, const char *word)
{
	switch (opt) {
	case 'n':
		return parse_number("-n", optarg, 1, RUN_MAX_HOSTS, &run->hosts);
	case OPT_MTU:
		return parse_number("--mtu", optarg, MIN_MTU, MAX_MTU, &run->mtu);
	case 'l':
		run->label = true;
		return 0;
	case 'k':
		run->keep_going = true;
		return 0;
	case '6':
		run->ipv6 = true;
		return 0;
	case OPT_MPI:
		run->mpi = true;
		return 0;
	case OPT_SHOW:
		run->show = true;
		return 0;
	}
	return wrong_option(opt, word);
}

static int check_options(struct run *run)
{
	if (!run->program[0])
		return usage_error("PROGRAM is missing; `inc run help` says more");
	run->mpi |= mpi_launcher(run->program[0]);
	if (run->ipv6 && run->mtu < MIN_MTU_IPV6)
		return usage_error("--mtu %u: expected a number in %d..%d with -6", run->mtu,
				   MIN_MTU_IPV6, MAX_MTU);
	if (run->mpi && run->show)
		return usage_error("--show: not with a launcher of MPI");
	if (run->mpi && run->label)
		return usage_error("--label: not with a launcher of MPI, which has its own option");
	if (run->mpi && run->keep_going)
		return usage_error("--keep-going: not with a launcher of MPI");
	return 0;
}

/* @argv begins with a word that is not looked at. *@help: usage is asked for. */
static int parse_options(struct run *run, int argc, char **argv, bool *help)
{
	int opt, at, err = 0;

	*help = false;
	opterr = 0;
	optind = 0;
	for (;;) {
		at = optind ?: 1;
		opt = getopt_long(argc, argv, "+:n:lk6h", long_options, NULL);
		if (opt < 0 || (opt == 'h' && is_whole(argv[at])))
			break;
		err = is_whole(argv[at]) ? take_option(run, opt, argv[at]) :
					   wrong_option('?', argv[at]);
		if (err)
			return err;
	}
	*help = opt == 'h';
	run->program = argv + optind;
	return *help ? 0 : check_options(run);
}

/* ---- --show -------------------------------------------------------------- */

static void show_variable(const char *name, const char *value)
{
	if (value)
		printf(" %s=%s", name, value);
	else
		printf(" -u %s", name);
}

/* A word as a shell takes it. */
static void show_word(const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

	putchar(' ');
	if (*word && word[strspn(word, plain)] == 0) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

static int show_run(struct run *run)
{
	unsigned int r;
	char **word;

	net_make(run);
	for (r = 0; r < run->hosts; r++) {
		fputs("env", stdout);
		rank_env(run, r, show_variable);
		printf(" ip netns exec inc-h%u", r + 1);
		for (word = run->program; *word; word++)
			show_word(*word);
		puts(r ? " </dev/null &" : " &");
	}
	puts("wait");
	net_show_end(run);
	return 0;
}

/* ---- The switch ---------------------------------------------------------- */

struct switch_start {
	struct run *run;
	int alive[2];	/* a pipe whose write end goes with `inc run` */
	uid_t uid;
	gid_t gid;
	bool user;	/* there is a user namespace */
};

static int map_refused(const char *path, int err)
{
	if (err == EACCES || err == EPERM)
		return refused("%s: %s: user namespaces seem to be restricted here (sysctl kernel.apparmor_restrict_unprivileged_userns): expected root",
			       path, strerror(err));
	return refused("%s: %s", path, strerror(err));
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return map_refused(path, errno);
	err = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return err ? map_refused(path, err) : 0;
}

/* The program keeps its user: it gets no privileges, and files have their owners. */
static int map_user(const struct switch_start *start)
{
	char map[48];
	int status = write_file("/proc/self/setgroups", "deny");

	snprintf(map, sizeof(map), "%u %u 1", start->uid, start->uid);
	if (!status)
		status = write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", start->gid, start->gid);
	return status ?: write_file("/proc/self/gid_map", map);
}

/* Whatever ends `inc run` ends the switch, also before it could say so. */
static bool die_with_parent(int alive)
{
	struct pollfd parent = { .fd = alive };

	return !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) && poll(&parent, 1, 0) == 0;
}

static int switch_main(void *arg)
{
	struct switch_start *start = arg;
	int status = 0;

	close(start->alive[1]);
	if (start->user)
		status = map_user(start);
	if (!die_with_parent(start->alive[0]))
		return EXIT_REFUSED;
	prctl(PR_SET_NAME, SWITCH_NAME, 0, 0, 0);
	if (!status)
		status = job_main(start->run);
	fflush(stdout);
	return status;
}

static pid_t clone_switch(struct switch_start *start)
{
	static _Alignas(16) char stack[STACK_SIZE];
	int flags = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | SIGCHLD;
	pid_t pid = clone(switch_main, stack + sizeof(stack), flags, start);

	if (pid >= 0 || errno != EPERM)
		return pid;
	start->user = true;
	return clone(switch_main, stack + sizeof(stack), flags | CLONE_NEWUSER, start);
}

static int clone_refused(const struct switch_start *start, int err)
{
	if (err == ENOSPC)
		return refused("no namespaces: %s: expected more by sysctl user.max_*_namespaces (user, net, pid, mnt, uts)",
			       strerror(err));
	if (start->user)
		return refused("needs CAP_SYS_ADMIN, or user namespaces, which this machine refuses: %s",
			       strerror(err));
	return refused("no namespaces: %s", strerror(err));
}

static int start_switch(struct run *run, pid_t *pid)
{
	struct switch_start start = { .run = run, .uid = geteuid(), .gid = getegid() };

	if (pipe2(start.alive, O_CLOEXEC))
		return refused("no pipe: %s", strerror(errno));
	run->alive = start.alive[1];
	fflush(stdout);
	*pid = clone_switch(&start);
	if (*pid < 0)
		return clone_refused(&start, errno);
	close(start.alive[0]);
	return 0;
}

/* ---- Waiting ------------------------------------------------------------- */

static int end_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return refused("%s was killed by signal %d (%s)", SWITCH_NAME, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
}

static bool ends_run(int sig)
{
	return sig != SIGCHLD && sig != SIGUSR1 && sig != SIGUSR2;
}

/*
 * What comes from a terminal comes to the switch, too, and to the ranks. *@ended_by: the last
 * signal that ends the run, if there was one.
 */
static int wait_switch(pid_t pid, int *ended_by)
{
	siginfo_t info;
	sigset_t all;
	int status;

	run_signals(&all);
	for (;;) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		if (ends_run(info.si_signo))
			*ended_by = info.si_signo;
		if (info.si_signo != SIGCHLD) {
			if (info.si_code != SI_KERNEL)
				kill(pid, info.si_signo);
		} else if (waitpid(pid, &status, WNOHANG) == pid) {
			return end_status(status);
		}
	}
}

/*
 * Who reads what it writes may take his time, unless a signal has ended the run: then he has the
 * grace, and no more with another such signal. Returns whether it has come to its end.
 */
static bool label_ends(pid_t pid, int *ended_by, int *status)
{
	const struct timespec grace = { .tv_sec = RUN_GRACE_S };
	siginfo_t info;
	sigset_t all;
	int sig;

	run_signals(&all);
	while (!waitpid(pid, status, WNOHANG)) {
		sig = sigtimedwait(&all, &info, *ended_by ? &grace : NULL);
		if (sig < 0 && errno == EAGAIN)
			return false;
		if (sig < 0 || !ends_run(sig))
			continue;
		if (*ended_by)
			return false;
		*ended_by = sig;
	}
	return true;
}

static int wait_label(pid_t pid, int ended_by)
{
	int status = 0;

	if (label_ends(pid, &ended_by, &status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return RUN_SIGNAL_STATUS + ended_by;
}

static void close_outputs(const struct run *run)
{
	unsigned int r, w;

	for (r = 0; r < run->hosts; r++)
		for (w = 0; w < 2; w++)
			close(run->output[r][w]);
}

static int start_and_wait(struct run *run)
{
	pid_t label = -1, pid = -1;
	int ended_by = 0, label_status = 0;
	int status = run->label ? label_start(run, &label) : 0;

	if (!status)
		status = start_switch(run, &pid);
	if (run->label && label > 0)
		close_outputs(run);
	if (!status)
		status = wait_switch(pid, &ended_by);
	if (label > 0)
		label_status = wait_label(label, ended_by);
	close(run->alive);
	return status ?: label_status;
}

static int name_job(struct run *run)
{
	unsigned long long job;

	if (getrandom(&job, sizeof(job), 0) != sizeof(job))
		return refused("no random number for the job: %s", strerror(errno));
	snprintf(run->job, sizeof(run->job), "%llu", job | 1);
	return 0;
}

static int run_program(int argc, char **argv)
{
	static struct run run;
	sigset_t all;
	bool help;
	int status;

	if (argc && !strcmp(argv[0], "--at"))
		return mpi_agent(argc - 1, argv + 1);
	run = (struct run){ .hosts = DEFAULT_HOSTS, .mtu = DEFAULT_MTU, .alive = -1 };
	/* the word before is "run" */
	status = parse_options(&run, argc + 1, argv - 1, &help);
	if (help)
		fputs(usage, stdout);
	if (status || help)
		return status;
	status = name_job(&run);
	if (status)
		return status;
	if (run.show)
		return show_run(&run);
	signal(SIGCHLD, SIG_DFL);
	run_signals(&all);
	sigprocmask(SIG_BLOCK, &all, &run.mask);
	status = start_and_wait(&run);
	sigprocmask(SIG_SETMASK, &run.mask, NULL);
	return status;
}

const struct object object_run = { .name = "run", .run = run_program, .usage = usage };
