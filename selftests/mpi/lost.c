// SPDX-License-Identifier: GPL-2.0-only
/* A rank that is lost: the others get an error, and do not hang. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-coll.h"

/* AF_INC is no number that a header knows: what is neither local nor IP nor netlink. */
static int close_groups(void)
{
	int null = open("/dev/null", O_RDWR), n = 0;

	for (int fd = 3; fd < 1024; fd++) {
		int domain;
		socklen_t len = sizeof(domain);

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
		    domain == AF_UNIX || domain == AF_INET || domain == AF_INET6 ||
		    domain == AF_NETLINK)
			continue;
		dup2(null, fd);
		n++;
	}
	close(null);
	return n;
}

static void expect_error(const char *what, int err)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len;

	if (err)
		MPI_Error_string(err, text, &len);
	if (strncmp(text, "INC: ", 5))
		fail("lost: %s: error %d: %s", what, err, text);
	if (!rank)
		printf("lost: %s: %s\n", what, text);
}

/* A child of a rank that lives on when the rank does not; it was there when the group was. */
static pid_t fork_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (child < 0)
		fail("lost: no child");
	return child;
}

/* The last rank is gone from its group: all others get an error, and do not hang. */
void test_lost(void)
{
	int in = 1, out, any = 0, err;
	MPI_Request request, again;
	MPI_Comm comm, plain;
	pid_t child = 0;
	bool has_again;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	plain = plain_comm(comm);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
	has_again = make_barrier(comm, &again);
	if (has_again) {
		MPI_Start(&again);
		MPI_Wait(&again, MPI_STATUS_IGNORE);
	}
	if (rank != size - 1)
		MPI_Ibarrier(comm, &request);
	if (rank != size - 1 && has_again)
		MPI_Start(&again);
	PMPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1) {
		child = fork_child();
		if (!close_groups())
			fail("lost: there is no group to be lost from");
	}
	if (rank != size - 1)
		expect_error("ibarrier", MPI_Wait(&request, MPI_STATUS_IGNORE));
	if (rank != size - 1 && has_again)
		expect_error("barrier_init", MPI_Wait(&again, MPI_STATUS_IGNORE));
	expect_error("allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm));
	expect_error("iallreduce", MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request));
	err = PMPI_Allreduce(&in, &any, 1, MPI_INT, MPI_SUM, plain);
	if (err || any != size)
		fail("lost: MPI's own allreduce: error %d, the sum is %d", err, any);
	MPI_Comm_free(&comm);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}
