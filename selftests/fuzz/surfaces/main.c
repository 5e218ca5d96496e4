// SPDX-License-Identifier: GPL-2.0-only
/*
 * Usage: inc-surfaces netlink|socket|packet [--seed N] [--seconds N] [--workers N]
 *                     [--as root|nobody|userns] [--steady] [--keep DEV] [--parent ADDR]
 *                     [--episode N] [--liars NETNS]
 *                                           [--honest NETNS[,NETNS...]] [--least N] [--nodes]
 *
 * --as userns: root of a user namespace of its own, which this network namespace does not belong
 * to. --nodes: some of those that lie join as a node, for which the node must be willing. The same
 * seed makes the same requests and calls; --episode, as printed with a failure of "socket" or
 * "packet", only those of one process.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "surfaces.h"

#define NOBODY	65534

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void become(const char *who)
{
	if (!strcmp(who, "root"))
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY)) {
		perror("inc-surfaces: nobody");
		exit(2);
	}
	if (!strcmp(who, "userns") && unshare(CLONE_NEWUSER)) {
		perror("inc-surfaces: user namespace");
		exit(2);
	}
}

static const struct option long_options[] = {
	{ "seed", required_argument, NULL, 's' }, { "seconds", required_argument, NULL, 't' },
	{ "workers", required_argument, NULL, 'w' }, { "as", required_argument, NULL, 'a' },
	{ "parent", required_argument, NULL, 'p' }, { "episode", required_argument, NULL, 'e' },
	{ "keep", required_argument, NULL, 'k' }, { "steady", no_argument, NULL, 'y' },
	{ "liars", required_argument, NULL, 'l' }, { "honest", required_argument, NULL, 'h' },
	{ "least", required_argument, NULL, 'm' }, { "nodes", no_argument, NULL, 'n' }, { }
};

static const char *parse(int argc, char **argv, struct plan *plan)
{
	const char *who = "root";
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 's':
			plan->seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			plan->seconds = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'w':
			plan->workers = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'a':
			who = optarg;
			break;
		case 'p':
			plan->parent = inet_addr(optarg);
			break;
		case 'e':
			plan->episode = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			plan->keep = optarg;
			break;
		case 'l':
			plan->liars = optarg;
			break;
		case 'h':
			plan->honest = optarg;
			break;
		case 'm':
			plan->least = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			plan->nodes = true;
			break;
		case 'y':
			plan->steady = true;
			break;
		default:
			exit(2);
		}
	}
	return who;
}

/*
 * One user of time stamps that stays: calls at random would turn them on and off all the time, and
 * each time the kernel changes its own code, which an emulated processor may miss while another one
 * runs it.
 */
static void hold_timestamps(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)))
		perror("inc-surfaces: SO_TIMESTAMP");
}

int main(int argc, char **argv)
{
	struct plan plan = { .seed = 1, .seconds = 8, .workers = 2 };
	const char *who = parse(argc, argv, &plan);
	const char *what = optind < argc ? argv[optind] : "";
	int failures;

	plan.privileged = !strcmp(who, "root");
	become(who);
	setlinebuf(stdout);
	hold_timestamps();
	printf("%s as %s: seed %llu\n", what, who, (unsigned long long)plan.seed);
	if (!strcmp(what, "netlink")) {
		failures = fuzz_netlink(&plan);
	} else if (!strcmp(what, "socket")) {
		failures = fuzz_sockets(&plan);
	} else if (!strcmp(what, "packet") && plan.liars && plan.honest) {
		failures = fuzz_packets(&plan);
	} else {
		fprintf(stderr,
			"inc-surfaces: netlink, socket, or packet with --liars and --honest?\n");
		return 2;
	}
	return failures ? 1 : 0;
}
