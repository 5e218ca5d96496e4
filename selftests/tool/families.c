// SPDX-License-Identifier: GPL-2.0-only
/*
 * families NAMES COMMAND...: runs it where only sockets of these families can be made, as with
 * RestrictAddressFamilies= of systemd. NAMES: AF_INET, AF_NETLINK and AF_UNIX, with blanks.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)

static const struct {
	const char *name;
	unsigned int number;
} families[] = {
	{ "AF_INET", AF_INET }, { "AF_NETLINK", AF_NETLINK }, { "AF_UNIX", AF_UNIX },
};

static int restrict_to(char *names)
{
	/* the half of an argument that holds a family */
	const unsigned int half = htons(1) == 1 ? 4 : 0;
	struct sock_filter filter[16] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + half),
	};
	struct sock_fprog prog = { .filter = filter, .len = 4 };
	char *name;
	size_t i;

	while ((name = strsep(&names, " "))) {
		for (i = 0; i < ARRAY_SIZE(families) && strcmp(families[i].name, name); i++)
			;
		if (i == ARRAY_SIZE(families) || prog.len + 3U > ARRAY_SIZE(filter)) {
			fprintf(stderr, "families: %s: expected a family\n", name);
			return -1;
		}
		filter[prog.len++] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, families[i].number, 0, 1);
		filter[prog.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	filter[prog.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog)) {
		perror("families: seccomp");
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3 || restrict_to(argv[1]))
		return 2;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 2;
}
