/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of `inc run` share: a switch and hosts on this machine, and a program on the
 * hosts.
 *
 *	inc run			arguments, signals; waits for the switch	run.c
 *	  switch		process 1 of a PID namespace, in the network	net.c, job.c
 *				namespace of bridge and node; makes the hosts,
 *				starts the ranks
 *	    rank 0 .. N - 1	the program, in the network namespace of its	job.c
 *				host; with MPI its launcher, at the switch	mpi.c
 *	  label			with --label: puts the rank before each line	label.c
 *
 * Nothing has a name outside: when the switch ends, whatever the reason, the kernel kills what is
 * in its PID namespace, and network namespaces go with the processes that hold them.
 */
#ifndef INC_RUN_H
#define INC_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define RUN_MAX_HOSTS	250
#define RUN_ADDR_LEN	48
#define RUN_GRACE_S	5	/* from a signal that ends the run to SIGKILL */
#define RUN_SIGNAL_STATUS 128 /* added to the number of a signal, as shells do */

struct run {
	/* what the command line says */
	unsigned int hosts, mtu;
	bool ipv6, label, keep_going, show, mpi;
	char **program;		/* ends with NULL */
	/* the same at all ranks, and in no other run */
	char job[24];
	/* the signals that were blocked when `inc run` began, and are for the program */
	sigset_t mask;
	/* as long as `inc run` has this open the switch goes on */
	int alive;
	/* write ends of the pipes to label, for stdout and stderr */
	int output[RUN_MAX_HOSTS][2];
	/* the network namespaces of the hosts; host h is the entry h - 1, and has rank h - 1 */
	int netns[RUN_MAX_HOSTS];
	/* with MPI: the addresses of the hosts, one on each line; in no directory */
	int hostfile;
};

/* The address of a host, or (0) of the switch. */
void host_addr(bool ipv6, unsigned int host, char addr[static RUN_ADDR_LEN]);

/*
 * Called in the network namespace that becomes the switch, and returns there: makes bridge, node,
 * links and hosts, and waits until the bridge forwards. With @run->show it prints the commands that
 * do the same, and does nothing. Returns the exit status, as all functions here do.
 */
int net_make(struct run *run);
/* The commands that take away what those of net_make() have made. */
void net_show_end(const struct run *run);

/* Tells each variable of a rank's environment to @put; a NULL value: it is not to be set. */
typedef void (*env_fn)(const char *name, const char *value);
void rank_env(const struct run *run, unsigned int rank, env_fn put);
/* The signals that are looked at, which are blocked. */
void run_signals(sigset_t *set);
/* All that the switch does, with signals blocked. */
int job_main(struct run *run);
/* Takes the process to a host, with a /sys and a host's name that fit. */
int enter_host(int netns, const char *addr);

/* Makes the pipes, and the process that reads them; -1 in *@pid if there is none. */
int label_start(struct run *run, pid_t *pid);

/* Is this the name of a program that starts those of an MPI? */
bool mpi_launcher(const char *program);
/* For such a program, in the switch: the list of hosts that it is given. */
int mpi_list_hosts(struct run *run);
/* In its process: environment and privileges by which it reaches the hosts. */
int mpi_prepare(const struct run *run);
/* `inc run --at HOST COMMAND...`, which it calls for ssh: does not return if all is well. */
int mpi_agent(int argc, char **argv);

#endif
