// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of libinc that need no kernel: what inc_join() is told, names, the texts of errors.
 * They are compiled into this program, because the library hides them.
 */
#define _GNU_SOURCE
#include <netdb.h>
#include "../../userspace/libinc/text.c"
#include "../../userspace/libinc/launcher.c"
#include "../../userspace/libinc/format.c"
#include "../../userspace/libinc/key.c"
/* Names have these addresses: opts.c asks only for what is a name. */
static int fake_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
			    struct addrinfo **found);

#define getaddrinfo fake_getaddrinfo
#include "../../userspace/libinc/opts.c"
#undef getaddrinfo
#include "../../userspace/libinc/shape.c"
#include "ktap.h"

/* Of a group that is not striped. */
static int parse_opts(struct inc_target *to, const struct inc_join_opts *opts)
{
	struct inc_target stripes[INC_MAX_STRIPES];
	int ret = inc_parse_stripes(stripes, opts);

	if (ret < 0)
		return ret;
	expect(ret == 1 && !(stripes[0].addr.sinc_flags & INC_SA_STRIPE), "%d stripes", ret);
	*to = stripes[0];
	return 0;
}

static void clear_env(void)
{
	clearenv();
}

static int parse(struct sockaddr_inc *addr, const char *parent)
{
	struct inc_join_opts opts = { .group = 7, .rank = 1, .size = 3, .parent = parent };
	struct inc_target to = { .nplaces = 0 };
	int ret = parse_opts(&to, &opts);

	*addr = to.addr;
	return ret;
}

/* Each stripe has the number and the parent that it goes to, in turn. */
static void test_stripes(void)
{
	struct inc_join_opts opts = { .size = 2, .stripes = 3,
				      .parent = "10.0.0.1,[fe80::1%lo]:77,10.0.0.3,10.0.0.4" };
	struct inc_target to[INC_MAX_STRIPES];
	static const char *const bad[] = { "9", "-1", "x", "2x" };
	static const char *const empty[] = {
		"10.0.0.1,,10.0.0.2", "10.0.0.1,", ",10.0.0.1", ",", "10.0.0.1,10.0.0.2,",
	};
	size_t i;

	clear_env();
	expect(inc_parse_stripes(to, &opts) == 3, "%s", inc_errmsg(NULL));
	for (i = 0; i < 3; i++)
		expect(to[i].addr.sinc_flags >> INC_SA_STRIPE_SHIFT == INC_STRIPE(i, 3) &&
		       to[i].addr.sinc_size == 2, "stripe %zu: flags 0x%x", i,
		       to[i].addr.sinc_flags);
	expect(to[0].addr.sinc_parent[3] == 1 && to[2].addr.sinc_parent[3] == 3 &&
	       to[1].addr.sinc_parent_family == AF_INET6 && to[1].addr.sinc_scope_id == 1 &&
	       to[1].addr.sinc_parent_port == htons(77), "parents");
	opts.parent = "10.0.0.1,10.0.0.2";
	opts.stripes = 0;
	setenv("INC_STRIPES", "8", 1);
	expect(inc_parse_stripes(to, &opts) == 8, "%s", inc_errmsg(NULL));
	for (i = 0; i < 8; i++)
		expect(to[i].addr.sinc_parent[3] == 1 + i % 2, "stripe %zu", i);
	opts.parent = NULL;
	opts.stripes = 2;
	expect(inc_parse_stripes(to, &opts) == 2 && !to[1].addr.sinc_parent_family, "no parent");
	opts.stripes = INC_MAX_STRIPES + 1;
	expect(inc_parse_stripes(to, &opts) == -EINVAL, "9 stripes");
	opts.stripes = 0;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("INC_STRIPES", bad[i], 1);
		expect(inc_parse_stripes(to, &opts) == -EINVAL &&
		       strstr(inc_errmsg(NULL), "INC_STRIPES"), "%s: %s", bad[i], inc_errmsg(NULL));
	}
	setenv("INC_STRIPES", "2", 1);
	for (i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		opts.parent = empty[i];
		setenv("INC_STRIPES", i % 2 ? "1" : "2", 1);
		expect(inc_parse_stripes(to, &opts) == -EINVAL &&
		       strstr(inc_errmsg(NULL), "expected an address on both sides of each comma"),
		       "%s: %s", empty[i], inc_errmsg(NULL));
	}
	clear_env();
}

/* What nodes have to reduce, for each stripe; and how it is said that one does not. */
static void test_reduces(void)
{
	static const char *const bad[] = {
		"f33", "f32,", ",f32", "f32,,sum", "f32 sum", "none", ",",
	};
	struct inc_submit op = { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32,
				 .wire = INC_TYPE_BF16, .op = INC_OP_WSUM };
	struct inc_info info = { .lacks = { .types = 1 << INC_TYPE_BF16 | 1 << INC_TYPE_I8,
					    .ops = 1 << INC_OP_SUM } };
	struct inc_join_opts opts = { .size = 2, .stripes = 2 };
	struct inc_target to[INC_MAX_STRIPES];
	char text[200];

	clear_env();
	expect(inc_parse_stripes(to, &opts) == 2 && !to[1].reduces.types && !to[1].reduces.ops,
	       "nothing");
	setenv("INC_REDUCES", "bf16,sum,i8,prod", 1);
	expect(inc_parse_stripes(to, &opts) == 2 &&
	       to[1].reduces.types == (1 << INC_TYPE_BF16 | 1 << INC_TYPE_I8) &&
	       to[1].reduces.ops == (1 << INC_OP_SUM | 1 << INC_OP_PROD), "%s", inc_errmsg(NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("INC_REDUCES", bad[i], 1);
		expect(inc_parse_stripes(to, &opts) == -EINVAL &&
		       strstr(inc_errmsg(NULL), "INC_REDUCES"), "%s: %s", bad[i],
		       inc_errmsg(NULL));
	}
	unsetenv("INC_REDUCES");
	inc_why_unsupported(text, sizeof(text), &op, &info);
	expect(strstr(text, "a node of the group does not reduce bf16, sum (there") == text, "%s",
	       text);
	op.coll = INC_COLL_SCAN;
	expect(!inc_is_lacking(&op, &info.lacks), "ranks fold it");
	op = (struct inc_submit){ .coll = INC_COLL_BROADCAST, .type = INC_TYPE_I8 };
	expect(!inc_is_lacking(&op, &info.lacks), "nobody folds it");
}

/* What the caller cannot have meant is not passed over. */
static void test_bad_opts(void)
{
	static const uint8_t zeros[INC_KEY_LEN];
	struct inc_join_opts opts = { .rank = 3 };
	struct inc_target to;

	clear_env();
	setenv("INC_RANK", "2", 1);
	setenv("INC_SIZE", "4", 1);
	expect(parse_opts(&to, &opts) == -EINVAL &&
	       strstr(inc_errmsg(NULL), "rank 3 with size 0: expected both, or none"), "%s",
	       inc_errmsg(NULL));
	opts = (struct inc_join_opts){ .size = 4, .key = zeros };
	expect(parse_opts(&to, &opts) == -EINVAL &&
	       strstr(inc_errmsg(NULL), "expected a key that is not all zeros, or NULL"), "%s",
	       inc_errmsg(NULL));
	clear_env();
}

static void test_parent(void)
{
	static const struct {
		const char *text;
		int family;
		const char *addr;
		unsigned int port;
	} good[] = {
		{ "10.0.0.254", AF_INET, "10.0.0.254", 0 },
		{ "10.0.0.254:1", AF_INET, "10.0.0.254", 1 },
		{ "[10.0.0.254]:65535", AF_INET, "10.0.0.254", 65535 },
		{ "fd00::1", AF_INET6, "fd00::1", 0 },
		{ "[fd00::1]", AF_INET6, "fd00::1", 0 },
		{ "[fd00::1]:5227", AF_INET6, "fd00::1", 5227 },
		{ "fe80::1%lo", AF_INET6, "fe80::1", 0 },
	};
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_inc addr;

	clear_env();
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		expect(!parse(&addr, good[i].text), "%s: %s", good[i].text, inc_errmsg(NULL));
		expect(addr.sinc_parent_family == good[i].family, "%s: family %d", good[i].text,
		       addr.sinc_parent_family);
		inet_ntop(good[i].family, addr.sinc_parent, text, sizeof(text));
		expect(!strcmp(text, good[i].addr), "%s: %s", good[i].text, text);
		expect(ntohs(addr.sinc_parent_port) == good[i].port, "%s: port %u", good[i].text,
		       ntohs(addr.sinc_parent_port));
	}
	expect(addr.sinc_scope_id == if_nametoindex("lo"), "scope %u", addr.sinc_scope_id);
}

static const char *const *names_addresses;

static int fake_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
			    struct addrinfo **found)
{
	const struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM };
	struct addrinfo **last = found;

	if (!strcmp(name, "later.example"))
		return EAI_AGAIN;
	if (strcmp(name, "switch.example"))
		return getaddrinfo(name, service, hints, found);
	for (int i = 0; names_addresses[i]; i++) {
		if (getaddrinfo(names_addresses[i], NULL, &numeric, last))
			return EAI_NONAME;
		last = &(*last)->ai_next;
	}
	return 0;
}

/* All addresses of a name are kept, once, as far as they can be a parent's. */
static void test_places(void)
{
	static const struct {
		const char *parent, *addresses[12], *want[9];
		unsigned int scope;
	} cases[] = {
		{ "switch.example", { "192.0.2.1", "2001:db8::1", "192.0.2.1", "192.0.2.2" },
		  { "192.0.2.1", "2001:db8::1", "192.0.2.2" }, 0 },
		{ "switch.example:77", { "fe80::1", "192.0.2.1", "fe80::1%lo" },
		  { "192.0.2.1", "fe80::1" }, 0 },
		{ "switch.example%lo", { "192.0.2.1", "fe80::2", "2001:db8::1" },
		  { "fe80::2" }, 1 },
		{ "edge:switch.example", { "192.0.2.1", "192.0.2.2" }, { "192.0.2.1" }, 0 },
		{ "switch.example",
		  { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6",
		    "192.0.2.7", "192.0.2.8", "192.0.2.9" },
		  { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6",
		    "192.0.2.7", "192.0.2.8" }, 0 },
	};
	struct inc_join_opts opts = { .group = 7, .rank = 1, .size = 3 };
	char text[INET6_ADDRSTRLEN];
	struct inc_target to;
	unsigned int n, lo = if_nametoindex("lo");

	clear_env();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		names_addresses = cases[i].addresses;
		opts.parent = cases[i].parent;
		expect(!parse_opts(&to, &opts), "%zu: %s", i, inc_errmsg(NULL));
		for (n = 0; cases[i].want[n]; n++) {
			inet_ntop(to.places[n].family, to.places[n].addr, text, sizeof(text));
			expect(n < to.nplaces && !strcmp(text, cases[i].want[n]),
			       "%zu: %u is %s", i, n, text);
		}
		expect(to.nplaces == n, "%zu: %u places, expected %u", i, to.nplaces, n);
		expect(to.addr.sinc_parent_family == to.places[0].family &&
		       !memcmp(to.addr.sinc_parent, to.places[0].addr, 16), "%zu: first place", i);
		expect(to.addr.sinc_scope_id == cases[i].scope * lo,
		       "%zu: scope %u", i, to.addr.sinc_scope_id);
	}
	opts.parent = "192.0.2.1";
	expect(!parse_opts(&to, &opts) && !to.nplaces, "an address is no name");
}

/* The host of rank 0 instead of a node: as it is told, or as the launcher says. */
static void test_meeting(void)
{
	struct sockaddr_inc addr;

	clear_env();
	expect(!parse(&addr, "10.0.0.254") && !addr.sinc_flags, "a node");
	expect(!parse(&addr, "edge:[10.0.0.1]:99"), "%s", inc_errmsg(NULL));
	expect(addr.sinc_flags == INC_SA_EDGE && addr.sinc_parent[3] == 1 &&
	       ntohs(addr.sinc_parent_port) == 99, "flags %u", addr.sinc_flags);
	expect(parse(&addr, "edge:") < 0 && parse(&addr, "edge:host") < 0, "no address");
	memset(&addr, 0, sizeof(addr));
	unsetenv("MASTER_ADDR");
	expect(!inc_meet_at_master(&addr) && !addr.sinc_flags, "nobody has said where");
	setenv("MASTER_ADDR", "192.0.2.7", 1);
	expect(inc_meet_at_master(&addr), "192.0.2.7 was not taken");
	expect(addr.sinc_flags == INC_SA_EDGE && addr.sinc_parent_family == AF_INET &&
	       addr.sinc_parent[0] == 192 && addr.sinc_parent[3] == 7, "flags %u", addr.sinc_flags);
	setenv("MASTER_ADDR", "2001:db8::7", 1);
	expect(inc_meet_at_master(&addr) && addr.sinc_parent_family == AF_INET6 &&
	       addr.sinc_parent[0] == 0x20 && addr.sinc_parent[15] == 7, "IPv6");
	unsetenv("MASTER_ADDR");
}

static void test_bad_parent(void)
{
	static const char *const bad[] = {
		"10.0.0", "10.0.0.254:", "10.0.0.254:0", "10.0.0.254:65536", "10.0.0.254:x",
		"10.0.0.254:-1", "host", "[fd00::1", "[fd00::1]x", "[fd00::1]:", "fd00::1::2",
		"fe80::1%none", "1.2.3.4.5", " 10.0.0.1", ":", "[]", "%", "[", "]:1",
	};
	struct sockaddr_inc addr;
	char text[300];

	clear_env();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect(parse(&addr, bad[i]) < 0, "\"%s\" was taken", bad[i]);
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	expect(parse(&addr, text) == -EINVAL, "299 digits were taken");
	parse(&addr, "10.0.0.254:65536");
	expect(strstr(inc_errmsg(NULL), "65536") && strstr(inc_errmsg(NULL), "in 1..65535"), "%s",
	       inc_errmsg(NULL));
	parse(&addr, "10.0.0.254:0");
	expect(strstr(inc_errmsg(NULL), "port \"0\": expected a number in 1..65535"), "%s",
	       inc_errmsg(NULL));
	expect(parse(&addr, "later.example") == -ENONET &&
	       strstr(inc_errmsg(NULL), "later.example"), "%s", inc_errmsg(NULL));
}

/* What connect() would refuse is refused here, with a text that says why. */
static void test_impossible_parent(void)
{
	static const struct {
		const char *parent, *text;
	} bad[] = {
		{ "0.0.0.0", "expected a unicast address" },
		{ "224.0.0.1", "expected a unicast address" },
		{ "239.1.2.3:99", "expected a unicast address" },
		{ "255.255.255.255", "expected a unicast address" },
		{ "::", "expected a unicast address" },
		{ "ff02::1", "expected a unicast address" },
		{ "ff02::1%lo", "expected a unicast address" },
		{ "::ffff:10.1.1.1", "expected a unicast address" },
		{ "edge:0.0.0.0", "expected a unicast address" },
		{ "fe80::1", "a link-local address needs its interface" },
		{ "[fe80::1]:5227", "a link-local address needs its interface" },
		{ "switch.example", "a link-local address needs its interface" },
		{ "10.0.0.1%lo", "only a link-local address takes %DEV" },
		{ "fd00::1%lo", "only a link-local address takes %DEV" },
		{ "edge:fe80::1%lo", "ranks cannot meet at a link-local address" },
		{ "edge:fe80::1", "ranks cannot meet at a link-local address" },
	};
	static const char *const link_local[] = { "fe80::2", NULL };
	struct sockaddr_inc addr;

	clear_env();
	names_addresses = link_local;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect(parse(&addr, bad[i].parent) == -EINVAL &&
		       strstr(inc_errmsg(NULL), bad[i].parent) &&
		       strstr(inc_errmsg(NULL), bad[i].text),
		       "%s: %s", bad[i].parent, inc_errmsg(NULL));
	setenv("MASTER_ADDR", "0.0.0.0", 1);
	expect(!inc_meet_at_master(&addr), "ranks meet at 0.0.0.0");
	clear_env();
}

static void test_environment(void)
{
	struct inc_join_opts opts = { .group = 1 };
	struct inc_target to;

	clear_env();
	expect(parse_opts(&to, NULL) == -EINVAL, "an empty environment was enough");
	expect(!!strstr(inc_errmsg(NULL), "INC_RANK"), "%s", inc_errmsg(NULL));
	setenv("INC_RANK", "2", 1);
	setenv("INC_SIZE", "0x4", 1);
	expect(!parse_opts(&to, NULL), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_rank == 2 && to.addr.sinc_size == 4 && !to.addr.sinc_group &&
	       !to.addr.sinc_flags,
	       "wrong values");
	setenv("INC_GROUP", "4294967295", 1);
	setenv("INC_PARENT", "10.0.0.1", 1);
	setenv("INC_KEY", "000102030405060708090A0b0c0d0e0f", 1);
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_group == 1 && to.addr.sinc_rank == 2 && to.addr.sinc_size == 4 &&
	       to.addr.sinc_parent_family == AF_INET, "wrong values");
	expect(!to.addr.sinc_flags && to.key[15] == 15 && to.key[10] == 10,
	       "wrong key");
	opts = (struct inc_join_opts){ .group = 5, .size = 2,
				       .key = (const uint8_t *)"0123456789abcdef" };
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_group == 5 && !to.addr.sinc_rank && to.addr.sinc_size == 2,
	       "the environment won");
	expect(to.key[0] == '0' && to.addr.sinc_parent_family == AF_INET,
	       "wrong key or parent");
}

/* Group and job of the caller stand before the launcher's, of whom rank and size are. */
static void test_launched(void)
{
	struct inc_join_opts opts = { 0 };
	struct inc_target to;

	clear_env();
	setenv("RANK", "3", 1);
	setenv("WORLD_SIZE", "4", 1);
	setenv("MASTER_ADDR", "192.0.2.7", 1);
	setenv("MASTER_PORT", "29500", 1);
	setenv("INC_GROUP", "9", 1);
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_group == 9 && to.addr.sinc_job, "group %u", to.addr.sinc_group);
	opts.group = 5;
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_group == 5 && to.addr.sinc_job && to.addr.sinc_rank == 3 &&
	       to.addr.sinc_size == 4,
	       "group %u, rank %u of %u", to.addr.sinc_group, to.addr.sinc_rank, to.addr.sinc_size);
	opts.group = 0;
	opts.job = 7;
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(to.addr.sinc_group == 9 && to.addr.sinc_job == 7, "group %u, job %llu",
	       to.addr.sinc_group, (unsigned long long)to.addr.sinc_job);
	setenv("INC_JOB", "8", 1);
	expect(!parse_opts(&to, &opts) && to.addr.sinc_job == 7, "INC_JOB won");
	clear_env();
}

/* The modes of the file @fd, which INC_KEY names, when the user is not root and owns it. */
static void expect_own_modes(int fd, const struct inc_join_opts *opts)
{
	struct inc_target to;

	fchmod(fd, 0640);
	expect(parse_opts(&to, opts) == -EPERM, "a key that others can read was taken");
	expect(!!strstr(inc_errmsg(NULL), "0640: expected 0600"), "%s", inc_errmsg(NULL));
	fchmod(fd, 0600);
	expect(!parse_opts(&to, opts), "%s", inc_errmsg(NULL));
}

/* The same of root, who may let a group read it. */
static void expect_modes_of_root(int fd, const struct inc_join_opts *opts)
{
	static const mode_t bad[] = { 0660, 0650, 0644, 0641 };
	struct inc_target to;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		fchmod(fd, bad[i]);
		expect(parse_opts(&to, opts) == -EPERM, "mode %04o was taken", bad[i]);
		expect(!!strstr(inc_errmsg(NULL), "expected 0640 or 0600"), "%s", inc_errmsg(NULL));
	}
	fchmod(fd, 0640);
	expect(!parse_opts(&to, opts), "%s", inc_errmsg(NULL));
}

static void expect_modes(int fd, const struct inc_join_opts *opts)
{
	if (geteuid()) {
		expect_own_modes(fd, opts);
		return;
	}
	expect_modes_of_root(fd, opts);
	expect(!fchown(fd, 65534, 65534) && !seteuid(65534), "no other user: %s", strerror(errno));
	expect_own_modes(fd, opts);
	expect(!seteuid(0), "not root again: %s", strerror(errno));
}

/* INC_KEY=@FILE: with 32 hex digits on one line. */
static void test_key_file(void)
{
	static const char hex[] = "000102030405060708090A0b0c0d0e0f\n";
	char name[] = "/tmp/inc-key.XXXXXX", value[sizeof(name) + 1];
	struct inc_join_opts opts = { .group = 5, .size = 2 };
	struct inc_target to;
	int fd = mkstemp(name);

	expect(fd >= 0 && write(fd, hex, sizeof(hex) - 1) == sizeof(hex) - 1, "%s", name);
	snprintf(value, sizeof(value), "@%s", name);
	clear_env();
	setenv("INC_KEY", value, 1);
	expect(!parse_opts(&to, &opts), "%s", inc_errmsg(NULL));
	expect(!to.addr.sinc_flags && to.key[15] == 15 && to.key[10] == 10,
	       "wrong key");
	expect_modes(fd, &opts);
	expect(!ftruncate(fd, 31), "%s", name);
	expect(!fchown(fd, geteuid(), getegid()), "%s", name);
	expect(parse_opts(&to, &opts) == -EINVAL, "31 characters were taken");
	expect(!!strstr(inc_errmsg(NULL), name), "%s", inc_errmsg(NULL));
	close(fd);
	unlink(name);
	expect(parse_opts(&to, &opts) == -ENOENT, "a file that is not there was taken");
	clear_env();
}

static void test_bad_environment(void)
{
	static const struct {
		const char *name, *value;
	} bad[] = {
		{ "INC_RANK", "4" }, { "INC_RANK", "-1" }, { "INC_RANK", "" }, { "INC_RANK", "1x" },
		{ "INC_SIZE", "0" }, { "INC_SIZE", "4097" },
		{ "INC_SIZE", "99999999999999999999999" }, { "INC_GROUP", "4294967296" },
		{ "INC_KEY", "00" }, { "INC_KEY", "0001020304050607080910111213141g" },
		{ "INC_KEY", "00000000000000000000000000000000" },
	};
	struct inc_target to;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		clear_env();
		setenv("INC_RANK", "1", 1);
		setenv("INC_SIZE", "4", 1);
		setenv(bad[i].name, bad[i].value, 1);
		expect(parse_opts(&to, NULL) == -EINVAL, "%s=%s was taken", bad[i].name,
		       bad[i].value);
		expect(!!strstr(inc_errmsg(NULL), bad[i].name), "%s=%s: \"%s\"", bad[i].name,
		       bad[i].value, inc_errmsg(NULL));
	}
	clear_env();
}

static void test_names(void)
{
	for (int i = 1; i < __INC_TYPE_MAX; i++)
		expect(inc_type_name(i) && inc_type_size(i) &&
		       inc_type_parse(inc_type_name(i)) == i,
		       "type %d", i);
	for (int i = 1; i < __INC_OP_MAX; i++)
		expect(inc_op_name(i) && inc_op_parse(inc_op_name(i)) == i, "operation %d", i);
	for (int i = 1; i < __INC_COLL_MAX; i++)
		expect(inc_coll_name(i) && inc_coll_parse(inc_coll_name(i)) == i, "collective %d",
		       i);
	expect(!inc_type_name(0) && !inc_op_name(0) && !inc_coll_name(0), "0 has a name");
	expect(!inc_type_name(-1) && !inc_op_name(999) && !inc_coll_name(__INC_COLL_MAX),
	       "no number has a name");
	expect(inc_type_parse("f33") == -EINVAL && inc_op_parse(NULL) == -EINVAL &&
	       inc_coll_parse("allredule") == -EINVAL, "no name has a number");
	expect(!inc_type_size(0) && !inc_type_size(__INC_TYPE_MAX), "no type has a size");
	for (int i = -200; i < 200; i++)
		expect(*inc_strerror(i), "error %d has no text", i);
}

static void test_mismatch(void)
{
	struct inc_error_info e = {
		.code = INC_ERR_MISMATCH, .opseq = 9, .rank = { 2, 0 },
		.desc = {
			{ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
			  .count = 4096 },
			{ .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
			  .count = 4097 },
		},
	};
	static const char sides[] =
		"operation 9: rank 2: allreduce f32 sum 4096, rank 0: allreduce f32 sum 4097: ";
	char buf[256], small[8];

	inc_format_error(buf, sizeof(buf), &e);
	expect(!strncmp(buf, sides, sizeof(sides) - 1), "%s", buf);
	e.desc[1].coll = INC_COLL_BARRIER;
	e.desc[1].type = 0;
	e.desc[1].op = 0;
	inc_format_error(buf, sizeof(buf), &e);
	expect(!!strstr(buf, "rank 0: barrier: "), "%s", buf);
	inc_format_error(small, sizeof(small), &e);
	expect(strlen(small) == sizeof(small) - 1, "%s", small);
}

/* What sides of a disagreement look like. */
static void test_sides(void)
{
	static const struct {
		struct inc_submit op;
		const char *text;
	} cases[] = {
		{ { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
		    .wire = INC_TYPE_F32, .count = 7 },
		  "allreduce f32 sum 7" },
		{ { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_F32, .op = INC_OP_SUM,
		    .wire = INC_TYPE_BF16, .count = 7 },
		  "allreduce f32 sum 7 as bf16" },
		{ { .coll = INC_COLL_REDUCE, .type = INC_TYPE_I8, .op = INC_OP_SUM,
		    .mode = INC_MODE_SATURATE, .count = 1 },
		  "reduce i8 sum 1 saturating root 0" },
		{ { .coll = INC_COLL_ALLREDUCE, .type = INC_TYPE_I8, .op = INC_OP_SUM,
		    .mode = INC_MODE_PART, .count = 9 },
		  "allreduce i8 sum 9 (part)" },
		{ { .coll = INC_COLL_BROADCAST, .type = INC_TYPE_BOOL, .root = 3 },
		  "broadcast bool 0 root 3" },
		{ { .coll = INC_COLL_ALLTOALL, .type = INC_TYPE_F64, .mode = INC_MODE_COUNTS,
		    .count = 5 },
		  "alltoall f64 per-rank counts" },
		{ { .coll = INC_COLL_BARRIER }, "barrier" },
		{ { .coll = 99, .type = 99, .op = 99, .wire = 98, .count = 1, .root = 1 },
		  "unknown collective unknown type unknown operation 1 as unknown type root 1" },
	};
	char buf[OP_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		inc_format_op(buf, sizeof(buf), &cases[i].op);
		expect(!strcmp(buf, cases[i].text), "\"%s\", expected \"%s\"", buf, cases[i].text);
	}
}

static void expect_error(const struct inc_error_info *e, const char *text)
{
	char buf[256];

	inc_format_error(buf, sizeof(buf), e);
	expect(!strcmp(buf, text), "\"%s\", expected \"%s\"", buf, text);
}

/* Without the operation, with which of its rank each side's is. */
static void expect_cause(const struct inc_error_info *e, const uint32_t *opseq, const char *text)
{
	char buf[256] = "";

	inc_append_cause(buf, sizeof(buf), e, opseq);
	expect(!strcmp(buf, text), "\"%s\", expected \"%s\"", buf, text);
}

#define RANK_2	"rank 2: allgather i8 per-rank counts (hash 000000ab)"
#define SIDE_2	"operation 1: " RANK_2
#define SIDE_0	"rank 0: allgather i8 per-rank counts (hash 000000cd)"

static void test_errors(void)
{
	struct inc_error_info e = {
		.code = INC_ERR_MISMATCH, .opseq = 1, .rank = { 2, 0 },
		.desc = {
			{ .coll = INC_COLL_ALLGATHER, .type = INC_TYPE_I8, .mode = INC_MODE_COUNTS,
			  .counts = 0xab },
			{ .coll = INC_COLL_ALLGATHER, .type = INC_TYPE_I8, .mode = INC_MODE_COUNTS,
			  .counts = 0xcd },
		},
	};

	expect_error(&e, SIDE_2 ", " SIDE_0 ": ranks disagree about the operation");
	expect_cause(&e, (const uint32_t []){ 7, 7 },
		     RANK_2 ", " SIDE_0 ": ranks disagree about the operation");
	expect_cause(&e, (const uint32_t []){ 7, 8 },
		     RANK_2 " as operation 7, " SIDE_0
		     " as operation 8: ranks disagree about the operation");
	e.desc[0].coll = 0;
	expect_error(&e, "operation 1: ranks disagree about the operation: rank 2 with what was completed without it");
	e.rank[0] = ~0U;
	expect_error(&e, "operation 1: ranks disagree about the operation");
	e.rank[0] = 2;
	e.desc[0].coll = INC_COLL_ALLGATHER;
	e.code = INC_ERR_COUNTS;
	expect_error(&e, "operation 1: rank 2 sends rank 0 another count than that expects");
	e.rank[1] = ~0U;
	expect_error(&e, "operation 1: rank 2 sends another count than is expected of it");
	e.code = INC_ERR_UNSUPPORTED;
	e.rank[0] = ~0U;
	e.desc[0].mode = 0;
	expect_error(&e,
		     "operation 1: allgather i8 0: the node cannot reduce this type with this operation");
	e.code = INC_ERR_RANK_LATE;
	expect_error(&e, "operation 1: a rank did not contribute within the late limit");
	e.code = INC_ERR_NONE;
	expect_error(&e, "no error");
}

static void test_any_error(void)
{
	struct inc_error_info e;
	char buf[256];

	for (unsigned int i = 0; i < 4096; i++) {
		for (size_t k = 0; k < sizeof(e); k++)
			((uint8_t *)&e)[k] = ktap_random();
		e.code = ktap_below(16);
		e.rank[0] = ktap_below(2) ? ktap_random() : ~0U;
		inc_format_error(buf, 1 + ktap_below(sizeof(buf)), &e);
	}
}

static const struct ktap_test tests[] = {
	KTAP(test_parent), KTAP(test_stripes), KTAP(test_reduces), KTAP(test_bad_opts),
	KTAP(test_places), KTAP(test_meeting),
	KTAP(test_bad_parent), KTAP(test_impossible_parent), KTAP(test_environment),
	KTAP(test_launched), KTAP(test_key_file),
	KTAP(test_bad_environment), KTAP(test_names), KTAP(test_mismatch), KTAP(test_sides),
	KTAP(test_errors), KTAP(test_any_error),
};

int main(int argc, char **argv)
{
	return ktap_main(tests, ARRAY_SIZE(tests), argc, argv);
}
