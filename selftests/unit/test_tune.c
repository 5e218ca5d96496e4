// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuning tables of libinc-mpi: which line is found for a call, and why the MPI does it; whatever is
 * in a file is read, or refused at one of its lines. Their errors one by one: selftests/tool/run.
 */
#include "../../userspace/mpi/names.c"
#include "../../userspace/mpi/tune.c"
#include "ktap.h"

static char path[32] = "/tmp/inc-tune-XXXXXX";

/* NULL: refused, and @why says why. */
static struct incmpi_tune *read_text(const char *text, size_t len, char *why, size_t room)
{
	struct incmpi_tune *tune = NULL;
	FILE *file = fopen(path, "w");
	int err;

	if (!expect(file && fwrite(text, 1, len, file) == len, "%s cannot be written", path)) {
		if (file)
			fclose(file);
		return NULL;
	}
	fclose(file);
	tune = incmpi_tune_read(path, &err, why, room);
	if (!tune)
		expect(err == -EINVAL, "error %d, not EINVAL", err);
	return tune;
}

/* As rank 0 of a communicator of this size gives it to the others. */
static struct incmpi_tune *table_for(const char *text, uint32_t ranks)
{
	char why[256] = "";
	struct incmpi_tune *tune = read_text(text, strlen(text), why, sizeof(why));

	if (expect(tune, "%s", why))
		incmpi_tune_filter(tune, tune, ranks);
	return tune;
}

/* Who does it: "inc", "mpi", "-": no line says it. */
static void expect_who(const struct incmpi_tune *tune, enum incmpi_fn fn, enum incmpi_class class,
		       uint64_t bytes, const char *want)
{
	const struct incmpi_tune_line *line = incmpi_tune_find(tune, fn, class, bytes);
	const char *who = !line ? "-" : line->by_inc ? "inc" : "mpi";

	expect(!strcmp(who, want), "%s of %s, %llu bytes: %s, not %s", incmpi_fn_name(fn),
	       incmpi_class_name(class), (unsigned long long)bytes, who, want);
}

static void test_first_line(void)
{
	struct incmpi_tune *tune = table_for("bcast any  any  any inc\n"
					     "allreduce pair any  any mpi\n"
					     "allreduce any 2-4 0-99 mpi\n"
					     "bcast any  any 8 mpi\n"
					     "allreduce any 5- any mpi\n"
					     "allreduce float any 50-100 inc\n", 4);

	if (!tune)
		return;
	expect(tune->nr == 5, "%u lines of 5", tune->nr);
	expect_who(tune, INCMPI_BCAST, INCMPI_CLASS_ANY, 8, "inc");
	expect_who(tune, INCMPI_ALLREDUCE, INCMPI_CLASS_PAIR, UINT64_MAX, "mpi");
	expect_who(tune, INCMPI_ALLREDUCE, INCMPI_CLASS_FLOAT, 99, "mpi");
	expect_who(tune, INCMPI_ALLREDUCE, INCMPI_CLASS_FLOAT, 100, "inc");
	expect_who(tune, INCMPI_ALLREDUCE, INCMPI_CLASS_FLOAT, 101, "-");
	expect_who(tune, INCMPI_ALLREDUCE, INCMPI_CLASS_INTEGER, 100, "-");
	expect_who(tune, INCMPI_REDUCE, INCMPI_CLASS_FLOAT, 99, "-");
	expect_who(tune, INCMPI_BARRIER, INCMPI_CLASS_ANY, 0, "-");
	expect_who(tune, INCMPI_ALLTOALLW, INCMPI_CLASS_ANY, 0, "-");
	free(tune);
}

static void expect_why(const struct incmpi_tune *tune, enum incmpi_class class, uint64_t bytes,
		       enum incmpi_why want)
{
	const struct incmpi_tune_line *line = incmpi_tune_find(tune, INCMPI_SCAN, class, bytes);
	enum incmpi_why why = line ? incmpi_tune_why(tune, line, class) : INCMPI_WHY_NONE;

	expect(why == want, "%s, %llu bytes: reason %d, not %d", incmpi_class_name(class),
	       (unsigned long long)bytes, why, want);
}

static void test_why(void)
{
	struct incmpi_tune *tune = table_for("scan float any 0-9 mpi\n"
					     "scan float any 10-19 inc\n"
					     "scan float any 20-29 mpi\n"
					     "scan float any 30-39 inc\n"
					     "scan any  any  any mpi\n"
					     "reduce any  any  any inc\n", 2);

	if (!tune)
		return;
	expect_why(tune, INCMPI_CLASS_FLOAT, 9, INCMPI_WHY_TABLE_MIN);
	expect_why(tune, INCMPI_CLASS_FLOAT, 20, INCMPI_WHY_TABLE_MIN);
	/* of a line that is for all sizes none is larger, and none smaller */
	expect_why(tune, INCMPI_CLASS_FLOAT, 40, INCMPI_WHY_TABLE);
	expect_why(tune, INCMPI_CLASS_INTEGER, 9, INCMPI_WHY_TABLE);
	free(tune);
	tune = table_for("scan any  any 0-9 inc\nscan any  any 10- mpi\n", 2);
	if (tune)
		expect_why(tune, INCMPI_CLASS_INTEGER, 10, INCMPI_WHY_TABLE_MAX);
	free(tune);
}

static void test_times(void)
{
	struct incmpi_tune *tune = table_for("barrier any  any  any inc 7 1000000000000\n"
					     "scan any  any 0 mpi", 1024);
	const struct incmpi_tune_line *line;

	if (!tune)
		return;
	line = incmpi_tune_find(tune, INCMPI_BARRIER, INCMPI_CLASS_ANY, 0);
	expect(line && line->inc_ns == 7 && line->mpi_ns == MAX_NS, "times of the barrier");
	line = incmpi_tune_find(tune, INCMPI_SCAN, INCMPI_CLASS_FLOAT, 0);
	expect(line && !line->inc_ns && !line->mpi_ns, "a line without times");
	free(tune);
}

/* Words of tables, and what is nearly one. */
static const char *const words[] = {
	"allreduce", "bcast", "barrier", "gatherv", "any", "float", "pair", "0-", "4", "2-9", "-",
	"18446744073709551615", "18446744073709551616", "inc", "mpi", "1000", "#", "\n", "\n", "\n",
	"\r", "\t", "\377", "allreduce any  any  any inc\n", "scan float 4 0-9 mpi 10 20\n",
};

static void expect_whole(const struct incmpi_tune *tune)
{
	for (uint32_t i = 0; i < tune->nr; i++) {
		const struct incmpi_tune_line *line = &tune->lines[i];

		expect(line->fn < INCMPI_NR_FNS && line->class < INCMPI_NR_CLASSES &&
		       line->from <= line->to && line->ranks_from <= line->ranks_to &&
		       !line->inc_ns == !line->mpi_ns, "line %u of %u", i, tune->nr);
		expect(i >= tune->first[line->fn] && i < tune->first[line->fn + 1],
		       "line %u is not where its function is", i);
	}
	expect(!tune->first[0] && tune->first[INCMPI_NR_FNS] == tune->nr, "its ends");
}

static void test_any_text(void)
{
	char text[512], why[256];
	unsigned int read = 0;

	for (int i = 0; i < 500; i++) {
		struct incmpi_tune *tune;
		size_t len = 0;

		for (int n = (int)(ktap_random() % 12); n >= 0; n--)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
				words[ktap_random() % (sizeof(words) / sizeof(words[0]))]);
		if (ktap_random() % 4 == 0)
			text[ktap_random() % len] = (char)ktap_random();
		why[0] = '\0';
		tune = read_text(text, len, why, sizeof(why));
		if (tune)
			expect_whole(tune);
		else
			expect(strstr(why, "expected "), "\"%s\"", why);
		read += !!tune;
		free(tune);
	}
	expect(read && read < 500, "%u of 500 were read", read);
}

static const struct ktap_test tests[] = {
	KTAP(test_first_line), KTAP(test_why), KTAP(test_times), KTAP(test_any_text),
};

int main(int argc, char **argv)
{
	int fd = mkstemp(path), ret;

	if (fd < 0)
		return 1;
	close(fd);
	ret = ktap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	unlink(path);
	return ret;
}
