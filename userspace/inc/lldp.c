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

/* Its output goes to the file that is returned; NULL: an error has been said. */
static FILE *start(const char *const argv[], pid_t *pid)
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
static int finish(FILE *file, pid_t pid)
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
	FILE *file = start(argv, &pid);

	if (!file)
		return EXIT_REFUSED;
	while (fgets(text, sizeof(text), file))
		;
	return finish(file, pid);
}

int lldp_announce(const struct ask_target *at)
{
	static const char *const clear[] = { "lldpcli", "unconfigure", "lldp", "custom-tlv",
					     "oui", OUI, "subtype", SUBTYPE, NULL };
	char info[3 * (4 + 16) + 1];
	const char *const set[] = { "lldpcli", "configure", "lldp", "custom-tlv", "add", "oui",
				    OUI, "subtype", SUBTYPE, "oui-info", info, NULL };
	int err = run_quietly(clear), i, n;

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
	return at->port;
}

static int add_node(struct lldp_node *nodes, int n, const struct lldp_node *node)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(nodes[i].dev, node->dev) && ask_same(&nodes[i].at, &node->at))
			return n;
	if (n == LLDP_MAX_NODES)
		return n;
	nodes[n] = *node;
	return n + 1;
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

/* OUI and subtype of each TLV stand before what it says. */
static int read_neighbours(FILE *file, struct lldp_node *nodes)
{
	bool oui = false, subtype = false;
	struct lldp_node node;
	const char *rest;
	char line[2048];
	int n = 0;

	memset(&node, 0, sizeof(node));
	while (fgets(line, sizeof(line), file)) {
		rest = tlv_line(line, node.dev, sizeof(node.dev));
		if (!rest)
			continue;
		if (!strncmp(rest, ".oui=", 5))
			oui = !strcasecmp(rest + 5, OUI);
		else if (!strncmp(rest, ".subtype=", 9))
			subtype = !strcmp(rest + 9, SUBTYPE);
		else if (*rest == '=' && oui && subtype && read_node(rest + 1, &node.at))
			n = add_node(nodes, n, &node);
	}
	return n;
}

int lldp_find(const char *dev, struct lldp_node *nodes)
{
	const char *const argv[] = { "lldpcli", "-f", "keyvalue", "show", "neighbors",
				     dev ? "ports" : "details", dev, "details", NULL };
	pid_t pid;
	FILE *file = start(argv, &pid);
	int n, i, err;

	if (!file)
		return -EXIT_REFUSED;
	n = read_neighbours(file, nodes);
	err = finish(file, pid);
	if (err)
		return -err;
	for (i = 0; i < n; i++)
		if (addr_link_local(&nodes[i].at.addr))
			nodes[i].at.ifindex = if_nametoindex(nodes[i].dev);
	return n;
}
