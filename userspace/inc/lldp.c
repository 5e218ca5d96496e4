// SPDX-License-Identifier: GPL-2.0-only
/* LLDP by lldpd, which is told and asked with lldpcli. Whoever is on a link says what he likes. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/inc.h>

#include "lldp.h"

#define OUI	"02,49,4e"
#define SUBTYPE	"1"
#define TLV	".unknown-tlvs.unknown-tlv"
#define MAX_DEVS	256	/* by which any TLVs come that lldpd does not know */

/* Its output goes to the file that is returned; NULL: an error has been said. */
static FILE *start_program(const char *const argv[], pid_t *pid)
{
	int fd[2];

	if (pipe(fd)) {
		refused("pipe: %s", strerror(errno));
		return NULL;
	}
	*pid = fork();
	if (!*pid) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fd[1]);
	if (*pid > 0)
		return fdopen(fd[0], "r");
	refused("fork: %s", strerror(errno));
	close(fd[0]);
	return NULL;
}

/* 0, or the exit status. */
static int finish_program(FILE *file, pid_t pid)
{
	int status = 0;

	fclose(file);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return refused("lldpcli: not found; expected the package lldpd");
	return status ? refused("lldpcli has failed; is lldpd running?") : 0;
}

static int run_quietly(const char *const argv[])
{
	char text[256];
	pid_t pid;
	FILE *file = start_program(argv, &pid);

	if (!file)
		return EXIT_REFUSED;
	while (fgets(text, sizeof(text), file))
		;
	return finish_program(file, pid);
}

/*
 * lldpcli finds lldpd by a Unix socket in the file system, which is the same in all network
 * namespaces. 0, or the exit status.
 */
static int check_netns(void)
{
	if (!options.netns)
		return 0;
	return usage_error("-n %s: expected without it: lldpd has the links of the network namespace in which it was started",
			   options.netns);
}

int lldp_announce(const struct ask_target *at)
{
	static const char *const clear[] = { "lldpcli", "unconfigure", "lldp", "custom-tlv",
					     "oui", OUI, "subtype", SUBTYPE, NULL };
	char info[3 * (4 + 16) + 1];
	const char *const set[] = { "lldpcli", "configure", "lldp", "custom-tlv", "add", "oui",
				    OUI, "subtype", SUBTYPE, "oui-info", info, NULL };
	int err = check_netns() ?: run_quietly(clear), i, n;

	if (err || !at)
		return err;
	n = snprintf(info, sizeof(info), "01,%02x,%02x,%02x", at->addr.len == 4 ? 4 : 6,
		     at->port >> 8, at->port & 255);
	for (i = 0; i < at->addr.len; i++)
		n += snprintf(info + n, sizeof(info) - (size_t)n, ",%02x", at->addr.bytes[i]);
	return run_quietly(set);
}

/* "01,04,..." as bytes; how many, -1: it is something else. */
static int read_bytes(const char *text, unsigned char *bytes, int most)
{
	unsigned int byte;
	int n, used;

	for (n = 0; n < most; n++) {
		if (sscanf(text, "%2x%n", &byte, &used) != 1 || used != 2)
			return -1;
		bytes[n] = (unsigned char)byte;
		text += used;
		if (!*text)
			return n + 1;
		if (*text++ != ',')
			return -1;
	}
	return -1;
}

/* What the TLV says; false: nothing that is understood here. */
static bool read_node(const char *text, struct ask_target *at)
{
	unsigned char b[4 + 16];
	int n = read_bytes(text, b, (int)sizeof(b));

	if (n < 8 || b[0] != 1 || n != 4 + (b[1] == 4 ? 4 : 16) || (b[1] != 4 && b[1] != 6))
		return false;
	*at = (struct ask_target){ .port = (uint16_t)(b[2] << 8 | b[3]) };
	at->addr.len = n - 4;
	memcpy(at->addr.bytes, b + 4, (size_t)at->addr.len);
	return at->port && addr_unicast(&at->addr) && !addr_loopback(&at->addr);
}

struct list {
	struct lldp_node *node;
	int n, most;		/* n > most: there was no room for all */
};

static void add_node(struct list *list, const struct lldp_node *node)
{
	int i;

	if (list->n > list->most)
		return;
	for (i = 0; i < list->n; i++)
		if (!strcmp(list->node[i].dev, node->dev) &&
		    ask_same(&list->node[i].at, &node->at))
			return;
	if (list->n < list->most)
		list->node[list->n] = *node;
	list->n++;
}

/* Can a device be called so, and will lldpcli take it for one name, and for no option? */
static bool is_device(const char *name)
{
	if (*name == '-')
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == ',' || *name == '/')
			return false;
	return true;
}

/* The device of a line of a TLV, and what is behind the names; NULL: it is another line. */
static const char *tlv_line(char *line, char *dev, size_t size)
{
	char *tlv = strstr(line, TLV);

	line[strcspn(line, "\n")] = 0;
	if (!tlv || strncmp(line, "lldp.", 5) || tlv - line < 6 || (size_t)(tlv - line - 5) >= size)
		return NULL;
	snprintf(dev, size, "%.*s", (int)(tlv - line - 5), line + 5);
	return tlv + strlen(TLV);
}

/*
 * Nodes that are announced by @dev; NULL: devices by which TLVs come, without nodes. OUI and
 * subtype of each TLV stand before what it says.
 */
static void read_neighbours(FILE *file, const char *dev, struct list *list)
{
	bool oui = false, subtype = false;
	struct lldp_node node;
	const char *rest;
	char line[2048];

	memset(&node, 0, sizeof(node));
	while (fgets(line, sizeof(line), file)) {
		rest = tlv_line(line, node.dev, sizeof(node.dev));
		if (!rest || (dev ? strcmp(node.dev, dev) : !is_device(node.dev)))
			continue;
		if (!dev)
			add_node(list, &node);
		else if (!strncmp(rest, ".oui=", 5))
			oui = !strcasecmp(rest + 5, OUI);
		else if (!strncmp(rest, ".subtype=", 9))
			subtype = !strcmp(rest + 9, SUBTYPE);
		else if (*rest == '=' && oui && subtype && read_node(rest + 1, &node.at))
			add_node(list, &node);
	}
}

/* 0, or the exit status. */
static int ask_lldpd(const char *dev, struct list *list)
{
	const char *const argv[] = { "lldpcli", "-f", "keyvalue", "show", "neighbors",
				     dev ? "ports" : "details", dev, "details", NULL };
	pid_t pid;
	FILE *file = start_program(argv, &pid);
	int err;

	if (!file)
		return EXIT_REFUSED;
	read_neighbours(file, dev, list);
	err = finish_program(file, pid);
	if (err || list->n <= list->most)
		return err;
	return refused("neighbours announce more than %d %s; expected dev DEV, or parent set",
		       list->most, dev ? "nodes" : "devices");
}

/*
 * What a neighbour says of himself may have line breaks in it, and what follows them looks as if it
 * came by whatever device he likes. By a device comes what lldpd says when it is asked for that
 * one.
 */
static int ask_by_device(struct list *nodes)
{
	struct lldp_node dev[MAX_DEVS];
	struct list devs = { .node = dev, .most = MAX_DEVS };
	int err = ask_lldpd(NULL, &devs), i;

	for (i = 0; i < devs.n && !err; i++)
		err = ask_lldpd(dev[i].dev, nodes);
	return err;
}

int lldp_find(const char *dev, struct lldp_node *nodes)
{
	struct list list = { .node = nodes, .most = LLDP_MAX_NODES };
	int err = check_netns(), i;

	if (!err)
		err = dev ? ask_lldpd(dev, &list) : ask_by_device(&list);
	if (err)
		return -err;
	for (i = 0; i < list.n; i++)
		if (addr_link_local(&nodes[i].at.addr))
			nodes[i].at.ifindex = if_nametoindex(nodes[i].dev);
	return list.n;
}
