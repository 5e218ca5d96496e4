// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch of `inc run`: process 1 of the PID namespace. Makes the network, starts a process on
 * each host, and waits for them.
 *
 * When a rank fails, or a signal says that it is over, all processes get a signal, and SIGKILL when
 * they are there RUN_GRACE_S later. The first process that has failed is the one whose status
 * counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nl.h"
#include "run.h"
#include "tool.h"

#define MASTER_PORT	"29500"	/* torchrun's own default */
#define STATUS_NOT_RUN	126
#define STATUS_NOT_FOUND 127

struct job {
	struct run *run;
	unsigned int ranks;	/* 1 for a launcher */
	unsigned int left;
	pid_t pids[RUN_MAX_HOSTS];	/* 0: it has ended */
	int status;		/* of the first that has failed */
	bool ending;
	struct timespec deadline;	/* of RUN_GRACE_S, when ending */
};

static void put_number(env_fn put, const char *name, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	put(name, text);
}

void rank_env(const struct run *run, unsigned int rank, env_fn put)
{
	char addr[RUN_ADDR_LEN];

	put("INC_PARENT", NULL);
	put("INC_KEY", NULL);
	/* it says that a torchrun around all of this has a store at MASTER_ADDR */
	put("TORCHELASTIC_USE_AGENT_STORE", NULL);
	put("INC_JOB", run->job);
	put_number(put, "INC_RANK", rank);
	put_number(put, "INC_SIZE", run->hosts);
	put("INC_LOCAL_RANK", "0");
	put("INC_LOCAL_SIZE", "1");
	put_number(put, "RANK", rank);
	put_number(put, "WORLD_SIZE", run->hosts);
	put("LOCAL_RANK", "0");
	put("LOCAL_WORLD_SIZE", "1");
	host_addr(run->ipv6, 1, addr);
	put("MASTER_ADDR", addr);
	put("MASTER_PORT", MASTER_PORT);
	put("GLOO_SOCKET_IFNAME", "eth0");
}

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/*
 * That of another network namespace has other devices. Where a container forbids it the old one
 * stays.
 */
static void own_sys(void)
{
	mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

int enter_host(int netns, const char *addr)
{
	if (setns(netns, CLONE_NEWNET))
		return refused("%s: cannot enter its network namespace: %s", addr, strerror(errno));
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) || sethostname(addr, strlen(addr)))
		return refused("%s: no namespaces for mounts and the host's name: %s", addr,
			       strerror(errno));
	own_sys();
	return 0;
}

/* stdin is that of rank 0. */
static int redirect_rank(const struct run *run, unsigned int rank)
{
	int null = rank ? open("/dev/null", O_RDWR | O_CLOEXEC) : STDIN_FILENO;

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return refused("/dev/null: %s", strerror(errno));
	if (!run->label)
		return 0;
	if (dup2(run->output[rank][0], STDOUT_FILENO) < 0 ||
	    dup2(run->output[rank][1], STDERR_FILENO) < 0)
		return refused("rank %u: no pipes: %s", rank, strerror(errno));
	return 0;
}

static int prepare_rank(const struct job *job, unsigned int rank)
{
	const struct run *run = job->run;
	char addr[RUN_ADDR_LEN];
	int status;

	if (run->mpi)
		return redirect_rank(run, rank) ?: mpi_prepare(run);
	host_addr(false, rank + 1, addr);
	status = enter_host(run->netns[rank], addr);
	if (status)
		return status;
	rank_env(run, rank, set_variable);
	return redirect_rank(run, rank);
}

/* In the new process. Tells the switch why the program has not begun: an errno, 0: it was said. */
static void exec_rank(const struct job *job, unsigned int rank, int report)
{
	int err = 0;

	if (!prepare_rank(job, rank)) {
		sigprocmask(SIG_SETMASK, &job->run->mask, NULL);
		execvp(job->run->program[0], job->run->program);
		err = errno;
	}
	if (write(report, &err, sizeof(err)) != sizeof(err))
		err = EIO;
	_exit(STATUS_NOT_RUN);
}

static int exec_status(const struct run *run, int err)
{
	if (!err)
		return EXIT_REFUSED;
	refused("%s: %s", run->program[0], strerror(err));
	return err == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

/* Returns when the program has begun, or has not. */
static int start_rank(struct job *job, unsigned int rank)
{
	int report[2], err;
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return refused("rank %u: no pipe: %s", rank, strerror(errno));
	pid = fork();
	if (!pid)
		exec_rank(job, rank, report[1]);
	err = errno;
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return refused("rank %u: no process: %s", rank, strerror(err));
	}
	n = read(report[0], &err, sizeof(err));
	close(report[0]);
	if (n)
		return exec_status(job->run, err);
	job->pids[rank] = pid;
	job->left++;
	return 0;
}

static int start_ranks(struct job *job)
{
	unsigned int r, w;
	int status = 0;

	for (r = 0; !status && r < job->ranks; r++)
		status = start_rank(job, r);
	/* the last writers are the ranks */
	for (r = 0; job->run->label && r < job->run->hosts; r++)
		for (w = 0; w < 2; w++)
			close(job->run->output[r][w]);
	return status;
}

/* All that is in the PID namespace gets the signal @sig, 0: has got it from the terminal. */
static void begin_end(struct job *job, int sig)
{
	if (sig)
		kill(-1, sig);
	if (job->ending)
		return;
	job->ending = true;
	clock_gettime(CLOCK_MONOTONIC, &job->deadline);
	job->deadline.tv_sec += RUN_GRACE_S;
}

static void say_ended(const struct job *job, unsigned int rank, int status)
{
	if (WIFSIGNALED(status))
		refused("rank %u was killed by signal %d (%s)", rank, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (!job->run->mpi)
		refused("rank %u ended with status %d", rank, WEXITSTATUS(status));
}

static void rank_ended(struct job *job, unsigned int rank, int status)
{
	job->pids[rank] = 0;
	job->left--;
	if (!status)
		return;
	if (!job->ending)
		say_ended(job, rank, status);
	if (!job->status)
		job->status = WIFSIGNALED(status) ? RUN_SIGNAL_STATUS + WTERMSIG(status) :
						    WEXITSTATUS(status);
	if (!job->run->keep_going)
		begin_end(job, job->ending ? 0 : SIGTERM);
}

/* Ranks, and what they have left behind: process 1 is the parent of orphans. */
static void reap_children(struct job *job)
{
	unsigned int r;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (r = 0; r < job->ranks; r++)
			if (job->pids[r] == pid)
				rank_ended(job, r, status);
}

static void pass_signal(struct job *job, const siginfo_t *info)
{
	bool from_terminal = info->si_code == SI_KERNEL;
	unsigned int r;

	if (info->si_signo != SIGUSR1 && info->si_signo != SIGUSR2) {
		begin_end(job, from_terminal ? 0 : info->si_signo);
		/* whatever the ranks make of it */
		job->status = RUN_SIGNAL_STATUS + info->si_signo;
		return;
	}
	for (r = 0; r < job->ranks; r++)
		if (job->pids[r])
			kill(job->pids[r], info->si_signo);
}

/* Until the next signal, which may be -1: RUN_GRACE_S have passed. */
static int next_signal(struct job *job, siginfo_t *info)
{
	struct timespec now, left;
	sigset_t all;

	run_signals(&all);
	if (!job->ending)
		return sigwaitinfo(&all, info);
	clock_gettime(CLOCK_MONOTONIC, &now);
	left.tv_sec = job->deadline.tv_sec - now.tv_sec;
	left.tv_nsec = job->deadline.tv_nsec - now.tv_nsec;
	if (left.tv_nsec < 0) {
		left.tv_nsec += 1000000000;
		left.tv_sec--;
	}
	if (left.tv_sec < 0)
		left = (struct timespec){ 0 };
	return sigtimedwait(&all, info, &left);
}

/* What is killed so is waited for, too: it may need a moment in the kernel. */
static void end_now(struct job *job)
{
	kill(-1, SIGKILL);
	job->deadline.tv_sec += RUN_GRACE_S;
}

static void wait_ranks(struct job *job)
{
	siginfo_t info;
	int sig;

	while (job->left) {
		sig = next_signal(job, &info);
		if (sig == SIGCHLD)
			reap_children(job);
		else if (sig > 0)
			pass_signal(job, &info);
		else if (errno == EAGAIN)
			end_now(job);
	}
}

/* The programs that were started find themselves in /proc. */
static int own_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return refused("/: cannot separate mounts: %s", strerror(errno));
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return refused("/proc: cannot mount it for new processes: %s%s", strerror(errno),
			       errno == EPERM ? " (in a container that hides parts of it?)" : "");
	return 0;
}

/* What the node has counted, on stderr: stdout is the program's. */
static int show_counters_at_end(void)
{
	char line[] = "stats show";
	int status;

	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	inc_forget_netns();
	/* the one -s is for this, those that are zero need a second */
	options.stats--;
	status = batch_line(line, run_command);
	fflush(stdout);
	return status;
}

int job_main(struct run *run)
{
	struct job job = { .run = run, .ranks = run->mpi ? 1 : run->hosts };
	int status = own_proc();

	own_sys();
	if (!status)
		status = net_make(run);
	if (!status && run->mpi)
		status = mpi_list_hosts(run);
	if (!status)
		status = start_ranks(&job);
	/* a program that does not start ends those that have */
	if (status)
		return status;
	wait_ranks(&job);
	if (options.stats)
		status = show_counters_at_end();
	return job.status ?: status;
}
