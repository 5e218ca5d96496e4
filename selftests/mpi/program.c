// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs do that INC cannot do as it is asked to: shares that are too large at one rank,
 * which no other rank knows of, and memory that the kernel cannot pin.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-coll.h"

#define LARGE	2000		/* bytes of a share: more than INC_MPI_MAX says */
#define BYTES	(64 << 10)

/* The share that rank @from has for @to, @large: somewhere there is a large one. */
static int share_of(int from, int to, int large)
{
	if (large == 2)
		return LARGE;
	return large && from == 1 && to == size - 1 ? LARGE : (from + to) % 3;
}

static char value(int from, int to, int i)
{
	return (char)(from * 31 + to * 7 + i);
}

struct shares {
	int send_counts[MAX_RANKS], recv_counts[MAX_RANKS];
	int send_displs[MAX_RANKS], recv_displs[MAX_RANKS];
	MPI_Datatype bytes[MAX_RANKS];
	char send[MAX_RANKS * LARGE], recv[MAX_RANKS * LARGE];
};

static void make_shares(struct shares *s, int large)
{
	for (int i = 0; i < size; i++) {
		s->send_counts[i] = share_of(rank, i, large);
		s->recv_counts[i] = share_of(i, rank, large);
		s->send_displs[i] = i * LARGE;
		s->recv_displs[i] = i * LARGE;
		s->bytes[i] = MPI_BYTE;
		for (int k = 0; k < s->send_counts[i]; k++)
			s->send[i * LARGE + k] = value(rank, i, k);
	}
	memset(s->recv, -1, sizeof(s->recv));
}

/* From rank @from there is what it has for @to, and nothing behind it. */
static void check_share(const char *what, const char *at, int from, int to, int n)
{
	for (int i = 0; i < n; i++)
		if (at[i] != value(from, to, i))
			fail("%s: byte %d of %d from %d to %d is %d", what, i, n, from, to, at[i]);
	if (n < LARGE && at[n] != -1)
		fail("%s: a byte behind the share from %d to %d", what, from, to);
}

static void check_alltoall(const char *what, const struct shares *s)
{
	for (int i = 0; i < size; i++)
		check_share(what, s->recv + i * LARGE, i, rank, s->recv_counts[i]);
}

/* Of a gather to the last rank, and of a scatter from rank 1, ranks have other shares. */
static void gather_and_scatter(struct shares *s, int large)
{
	int root = size - 1, from = 1, counts[MAX_RANKS];

	make_shares(s, large);
	MPI_Gatherv(s->send + root * LARGE, s->send_counts[root], MPI_BYTE, s->recv,
		    s->recv_counts, s->recv_displs, MPI_BYTE, root, MPI_COMM_WORLD);
	for (int i = 0; i < size && rank == root; i++)
		check_share("gatherv", s->recv + i * LARGE, i, root, s->recv_counts[i]);
	make_shares(s, large);
	for (int i = 0; i < size; i++)
		counts[i] = share_of(from, i, large);
	MPI_Scatterv(s->send, counts, s->send_displs, MPI_BYTE, s->recv, counts[rank], MPI_BYTE,
		     from, MPI_COMM_WORLD);
	check_share("scatterv", s->recv, from, rank, counts[rank]);
}

static void exchange(struct shares *s, int large)
{
	make_shares(s, large);
	MPI_Alltoallv(s->send, s->send_counts, s->send_displs, MPI_BYTE, s->recv, s->recv_counts,
		      s->recv_displs, MPI_BYTE, MPI_COMM_WORLD);
	check_alltoall("alltoallv", s);
	make_shares(s, large);
	MPI_Alltoallw(s->send, s->send_counts, s->send_displs, s->bytes, s->recv, s->recv_counts,
		      s->recv_displs, s->bytes, MPI_COMM_WORLD);
	check_alltoall("alltoallw", s);
}

static void expect_count(const char *name, uint64_t before, uint64_t n)
{
	uint64_t done = count_of(name) - before;

	if (done != n)
		fail("%s: %llu, expected %llu", name, (unsigned long long)done,
		     (unsigned long long)n);
}

/*
 * Rank 1 expects more of itself than it sends: MPICH does not mind, Open MPI looks for it. All have
 * to leave it to the MPI.
 */
static void expect_more_of_itself(struct shares *s)
{
#ifdef MPICH_VERSION
	uint64_t before = count_of("why.shares"), calls = count_of("alltoallv");

	make_shares(s, 0);
	if (rank == 1)
		s->recv_counts[1] += 3;
	MPI_Alltoallv(s->send, s->send_counts, s->send_displs, MPI_BYTE, s->recv, s->recv_counts,
		      s->recv_displs, MPI_BYTE, MPI_COMM_WORLD);
	if (rank == 1)
		s->recv_counts[1] -= 3;
	check_alltoall("alltoallv with more of its own", s);
	expect_count("why.shares", before, 1);
	make_shares(s, 0);
	MPI_Alltoallv(s->send, s->send_counts, s->send_displs, MPI_BYTE, s->recv, s->recv_counts,
		      s->recv_displs, MPI_BYTE, MPI_COMM_WORLD);
	check_alltoall("alltoallv afterwards", s);
	expect_count("alltoallv", calls, 1);
#else
	(void)s;
#endif
}

/* Calls of which one rank, or all, have too much are the MPI's at all; the others are INC's. */
void test_shares(void)
{
	struct shares *s = malloc(sizeof(*s));
	uint64_t shares, errors = count_of("errors");
	MPI_Request request;

	if (!s)
		fail("no memory");
	MPI_Barrier(MPI_COMM_WORLD);
	for (int large = 0; large < 3; large++) {
		const char *const names[] = { "gatherv", "scatterv", "alltoallv", "alltoallw" };
		uint64_t before[4];

		for (int i = 0; i < 4; i++)
			before[i] = count_of(names[i]);
		shares = count_of("why.shares");
		gather_and_scatter(s, large);
		exchange(s, large);
		expect_count("why.shares", shares, large ? 4 : 0);
		for (int i = 0; i < 4; i++)
			expect_count(names[i], before[i], !large);
	}
	expect_more_of_itself(s);
	shares = count_of("why.unknown_shares");
	make_shares(s, 1);
	MPI_Ialltoallv(s->send, s->send_counts, s->send_displs, MPI_BYTE, s->recv, s->recv_counts,
		       s->recv_displs, MPI_BYTE, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check_alltoall("ialltoallv", s);
	expect_count("why.unknown_shares", shares, 1);
	expect_count("errors", errors, 0);
	free(s);
}

static int *map_file(void)
{
	const char *name = getenv("MPI_COLL_FILE");
	int fd = name ? open(name, O_RDWR) : -1;
	int prot = PROT_READ | PROT_WRITE;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		fail("MPI_COLL_FILE: no file that can be mapped");
	close(fd);
	return at;
}

static void check_sums(const char *what, const int *x, int n, int k)
{
	for (int i = 0; i < n; i++)
		if (x[i] != size * (size + 1) / 2 * (i + k))
			fail("%s: element %d is %d", what, i, x[i]);
}

static void fill(int *x, int n, int k)
{
	for (int i = 0; i < n; i++)
		x[i] = (rank + 1) * (i + k);
}

/* Rank 1 receives into a file that it has mapped, the others into memory of their own. */
void test_mapped(void)
{
	int n = BYTES / (int)sizeof(int) / 2, *own = malloc(BYTES), *x = own, mine = rank == 1;
	uint64_t staged = count_of("staged.memory"), done = count_of("allreduce");
	MPI_Request request;

	if (!own)
		fail("no memory");
	if (mine)
		x = map_file();
	fill(x, n, 1);
	MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	check_sums("allreduce in place", x, n, 1);
	fill(x + n, n, 2);
	MPI_Iallreduce(x + n, x, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check_sums("iallreduce", x, n, 2);
	MPI_Bcast(x, n, MPI_INT, 2, MPI_COMM_WORLD);
	check_sums("bcast", x, n, 2);
	expect_count("staged.memory", staged, mine ? 3 : 0);
	fill(own, n, 3);
	MPI_Allreduce(MPI_IN_PLACE, own, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	check_sums("allreduce", own, n, 3);
	expect_count("staged.memory", staged, mine ? 3 : 0);
	expect_count("allreduce", done, 2);
	expect_count("errors", 0, 0);
	if (mine)
		munmap(x, BYTES);
	free(own);
}
