// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of an MPI, whose launcher (mpirun, mpiexec) starts its own processes on the hosts. It
 * runs once, at the switch, and is told in its environment which hosts there are and to take
 * `inc run --at` for ssh: Open MPI by its parameters, MPICH by those of Hydra. Each looks at its
 * own only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"
#include "tool.h"

/* "ADDR=FD ADDR=FD ...", FD being a file of process 1, the switch: a network namespace. */
#define HOSTS_VAR	"INC_RUN_HOSTS"

#define MAX_COMMAND	65536

static const char *const launchers[] = { "mpirun", "mpiexec", "orterun", "prterun" };

/* Names may go on, as mpirun.openmpi and mpiexec.hydra do. */
bool mpi_launcher(const char *program)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(launchers); i++) {
		len = strlen(launchers[i]);
		if (!strncmp(name, launchers[i], len) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

static const struct {
	const char *name, *value;
} settings[] = {
	/* Open MPI */
	{ "OMPI_MCA_plm", "rsh" },
	/* within a job of a resource manager, its hosts are not those of this run */
	{ "OMPI_MCA_ras", "^slurm,tm,lsf,alps,gridengine,loadleveler" },
	{ "OMPI_MCA_plm_rsh_no_tree_spawn", "1" },
	{ "OMPI_MCA_rmaps_base_oversubscribe", "1" },
	{ "OMPI_MCA_hwloc_base_binding_policy", "none" },
	{ "OMPI_MCA_mpi_yield_when_idle", "1" },
	/* hosts have a network between them, no memory */
	{ "OMPI_MCA_pml", "ob1" },
	{ "OMPI_MCA_btl", "tcp,self" },
	{ "OMPI_MCA_btl_tcp_if_include", "10.77.0.0/24" },
	{ "OMPI_MCA_oob_tcp_if_include", "10.77.0.0/24" },
	/* MPICH */
	{ "HYDRA_LAUNCHER", "rsh" },
	{ "HYDRA_LAUNCHER_EXTRA_ARGS", "run --at" },
	{ "UCX_TLS", "tcp,self" },
	{ "UCX_NET_DEVICES", "eth0" },
};

static int set_hosts(const struct run *run)
{
	char text[RUN_MAX_HOSTS * 24] = "", addr[RUN_ADDR_LEN];
	size_t len = 0;
	unsigned int h;

	for (h = 1; h <= run->hosts; h++) {
		host_addr(false, h, addr);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%d", h > 1 ? " " : "",
					addr, run->netns[h - 1]);
	}
	setenv(HOSTS_VAR, text, 1);
	return 0;
}

int mpi_list_hosts(struct run *run)
{
	char addr[RUN_ADDR_LEN];
	unsigned int h;

	run->hostfile = memfd_create("hosts", MFD_CLOEXEC);
	if (run->hostfile < 0)
		return refused("no file for the list of hosts: %s", strerror(errno));
	for (h = 1; h <= run->hosts; h++) {
		host_addr(false, h, addr);
		if (dprintf(run->hostfile, "%s\n", addr) < 0)
			return refused("list of hosts: %s", strerror(errno));
	}
	return 0;
}

/* The switch has it open: a program may close what it inherits before it calls the launcher. */
static void set_hostfile(const struct run *run)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/1/fd/%d", run->hostfile);
	setenv("OMPI_MCA_orte_default_hostfile", path, 1);
	setenv("HYDRA_HOST_FILE", path, 1);
}

static int set_agent(void)
{
	char exe[PATH_MAX], agent[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return refused("/proc/self/exe: %s", strerror(errno));
	exe[n] = 0;
	snprintf(agent, sizeof(agent), "%s run --at", exe);
	setenv("OMPI_MCA_plm_rsh_agent", agent, 1);
	setenv("HYDRA_LAUNCHER_EXEC", exe, 1);
	return 0;
}

/* In a user namespace programs have no capabilities, but `inc run --at` needs two there. */
static int keep_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const int needed[] = { CAP_SYS_ADMIN, CAP_SYS_PTRACE };
	struct __user_cap_data_struct data[2];
	size_t i;

	if (syscall(SYS_capget, &header, data))
		return refused("capabilities: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		data[CAP_TO_INDEX(needed[i])].inheritable |= CAP_TO_MASK(needed[i]);
	if (syscall(SYS_capset, &header, data))
		return refused("capabilities: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0))
			return refused("capability %d: %s", needed[i], strerror(errno));
	return 0;
}

int mpi_prepare(const struct run *run)
{
	char addr[RUN_ADDR_LEN];
	int status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		setenv(settings[i].name, settings[i].value, 1);
	if (!geteuid()) {
		setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
		setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	}
	setenv("INC_JOB", run->job, 1);
	unsetenv("INC_PARENT");
	unsetenv("INC_KEY");
	/* processes on the hosts connect to the name of this one */
	host_addr(false, 0, addr);
	if (sethostname(addr, strlen(addr)))
		return refused("name of the switch: %s", strerror(errno));
	status = set_hosts(run);
	set_hostfile(run);
	if (!status)
		status = set_agent();
	return status || !geteuid() ? status : keep_capabilities();
}

/* Its network namespace, or -1. */
static int find_host(const char *addr)
{
	const char *hosts = getenv(HOSTS_VAR), *at;
	size_t len = strlen(addr);
	char path[48];

	for (at = hosts; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, addr, len) || at[len] != '=')
			continue;
		snprintf(path, sizeof(path), "/proc/1/fd/%d", atoi(at + len + 1));
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	errno = ENOENT;
	return -1;
}

int mpi_agent(int argc, char **argv)
{
	char command[MAX_COMMAND] = "";
	size_t len = 0;
	int i, netns, status;

	if (argc < 2)
		return usage_error("--at: expected HOST COMMAND..., from a launcher of MPI");
	netns = find_host(argv[0]);
	if (netns < 0)
		return refused("--at %s: no such host of an inc run: %s", argv[0], strerror(errno));
	status = enter_host(netns, argv[0]);
	if (status)
		return status;
	for (i = 1; i < argc; i++) {
		len += (size_t)snprintf(command + len, sizeof(command) - len, "%s%s",
					i > 1 ? " " : "", argv[i]);
		if (len >= sizeof(command))
			return refused("--at %s: a command of more than %d characters", argv[0],
				       MAX_COMMAND);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	unsetenv(HOSTS_VAR);
	execl("/bin/sh", "sh", "-c", command, NULL);
	return refused("/bin/sh: %s", strerror(errno));
}
