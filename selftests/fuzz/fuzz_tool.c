// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inc tool: command lines from its own grammar, mutated, and answers of a kernel that is not
 * one. libnl's calls that reach the kernel are replaced here; what is sent is compared with the
 * netlink spec, answers are drawn from it and damaged.
 *
 * It never crashes; it succeeds, or says why not and exits with 1 or 2; what it prints under -j is
 * JSON, and in text there is nothing that moves the cursor. With INC_FUZZ_JSON=FILE all JSON goes
 * to this file, a zero byte behind each.
 */
#include <errno.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/gen_stats.h>
#include <linux/inc_netlink.h>
#include <linux/inc_sched.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "../../userspace/inc/names.h"
#include "../../userspace/inc/options.h"
#include "../../userspace/inc/tool.h"
#include "fuzz_tool.h"
#include "json.h"
#include "spec.h"

#define FAMILY		0x1c
#define MAX_WORDS	16
#define MAX_WORD	600
#define BUFFER		8192
#define MAX_BUFFERS	64	/* that one run reads */

static struct source input;
static const char * const devs[] = { "lo", "br0", "eth0.7", "\xff\x1b[2J\"\\" };
static const struct spec_op *asked;	/* what the tool's last request was; NULL: rtnetlink */
static bool asked_dump;
static bool asked_change;	/* of the qdisc, by rtnetlink */
static unsigned int buffers;

static char words[MAX_WORDS + 1][MAX_WORD];	/* the command line */
static int n_words;
static FILE *complaints;

static void fail(const char *what, const char *detail)
{
	int i;

	fprintf(complaints, "fuzz_tool: %s: %s\n", what, detail);
	for (i = 0; i < n_words; i++)
		fprintf(complaints, "%s\"%s\"", i ? " " : "the command was: ", words[i]);
	fputc('\n', complaints);
	abort();
}

/* The answers */

static const struct spec_attr option_attrs[] = {
	{ .name = "share", .number = TCA_INC_SHARE, .type = SPEC_U32, .len = 4 },
	{ .name = "limit", .number = TCA_INC_LIMIT, .type = SPEC_U32, .len = 4 },
	{ .name = "port", .number = TCA_INC_PORT, .type = SPEC_U16, .len = 2 },
	{ .name = "weights", .number = TCA_INC_WEIGHTS, .type = SPEC_BINARY,
	  .len = 2 * sizeof(struct tc_inc_weight) },
	{ .name = "target", .number = TCA_INC_TARGET, .type = SPEC_U32, .len = 4 },
	{ .name = "control", .number = TCA_INC_CONTROL, .type = SPEC_U32, .len = 4 },
	{ .name = "rate", .number = TCA_INC_RATE, .type = SPEC_U64, .len = 8 },
};

static const struct spec_set option_set = { .name = "options", .attrs = option_attrs,
					    .n = ARRAY_SIZE(option_attrs) };

static const struct spec_attr stat_attrs[] = {
	{ .name = "basic", .number = TCA_STATS_BASIC, .type = SPEC_BINARY,
	  .len = sizeof(struct gnet_stats_basic) },
	{ .name = "queue", .number = TCA_STATS_QUEUE, .type = SPEC_BINARY,
	  .len = sizeof(struct gnet_stats_queue) },
	{ .name = "app", .number = TCA_STATS_APP, .type = SPEC_BINARY,
	  .len = sizeof(struct tc_inc_xstats) },
	{ .name = "pkt64", .number = TCA_STATS_PKT64, .type = SPEC_U64, .len = 8 },
};

static const struct spec_set stat_set = { .name = "stats", .attrs = stat_attrs, .n = 4 };

static const struct spec_attr qdisc_attrs[] = {
	{ .name = "kind", .number = TCA_KIND, .type = SPEC_STRING },
	{ .name = "options", .number = TCA_OPTIONS, .type = SPEC_NEST, .nested = &option_set },
	{ .name = "stats2", .number = TCA_STATS2, .type = SPEC_NEST, .nested = &stat_set },
};

static const struct spec_set qdisc_set = { .name = "qdisc", .attrs = qdisc_attrs, .n = 3 };

static void append(struct message *m, const void *data, size_t len)
{
	if (m->size - m->len < len)
		return;
	memcpy(m->buf + m->len, data, len);
	m->len += len;
}

static void put_answer(struct message *m, struct nlmsghdr *h)
{
	struct genlmsghdr genl = { .version = INC_GENL_VERSION };
	struct tcmsg tcm = { .tcm_ifindex = 1 };

	if (!asked) {
		h->nlmsg_type = one_in(&input, 16) ? RTM_DELQDISC : RTM_NEWQDISC;
		tcm.tcm_handle = draw(&input, 0);
		tcm.tcm_parent = one_in(&input, 2) ? TC_H_ROOT : draw(&input, 0);
		append(m, &tcm, sizeof(tcm));
		put_attrs(m, &input, &qdisc_set, ~0U);
		return;
	}
	h->nlmsg_type = one_in(&input, 32) ? (uint16_t)draw(&input, 64) : FAMILY;
	genl.cmd = (uint8_t)asked->cmd;
	append(m, &genl, sizeof(genl));
	put_attrs(m, &input, spec_top, asked->reply);
}

/* "Done", "no" or "yes", with what the kernel has to say about it. */
static void put_end(struct message *m, struct nlmsghdr *h, bool done)
{
	static const int errors[] = { 0, -EPERM, -EINVAL, -ENODEV, -ERANGE, 1, INT32_MIN, 4095 };
	struct nlmsgerr e = { .error = errors[draw(&input, 8)] };
	static const char text[] = "dev br0: is no node";
	struct nlattr a = { .nla_type = NLMSGERR_ATTR_MSG, .nla_len = sizeof(a) + sizeof(text) };

	h->nlmsg_type = done ? NLMSG_DONE : NLMSG_ERROR;
	e.msg.nlmsg_len = sizeof(e.msg);
	if (one_in(&input, 8))
		e.msg.nlmsg_len = draw(&input, one_in(&input, 2) ? 0 : 64);
	append(m, &e, done ? sizeof(e.error) : sizeof(e));
	h->nlmsg_flags |= one_in(&input, 2) ? NLM_F_ACK_TLVS : 0;
	h->nlmsg_flags |= one_in(&input, 4) ? 0 : NLM_F_CAPPED;
	if (one_in(&input, 4))
		a.nla_len = (uint16_t)draw(&input, 64);
	if (one_in(&input, 2)) {
		append(m, &a, sizeof(a));
		append(m, text, sizeof(text) - one_in(&input, 8));
	}
}

static void put_message(struct message *m)
{
	struct nlmsghdr h = { .nlmsg_seq = 1, .nlmsg_flags = NLM_F_MULTI };
	size_t at = m->len;
	uint32_t kind = draw(&input, 8);

	if (asked && asked->has_event)
		h.nlmsg_seq = 0;
	if (m->size - m->len < sizeof(h) + 200)
		return;
	m->len += sizeof(h);
	if (kind < 2)
		put_end(m, &h, kind);
	else
		put_answer(m, &h);
	h.nlmsg_len = (uint32_t)(m->len - at);
	if (m->damage && one_in(&input, 16))
		h.nlmsg_len = one_in(&input, 2) ? draw(&input, 64) : draw(&input, 0);
	if (m->damage && one_in(&input, 16))
		h.nlmsg_flags = (uint16_t)draw(&input, 65536);
	memcpy(m->buf + at, &h, sizeof(h));
	while (m->len % NLMSG_ALIGNTO && m->len < m->size)
		m->buf[m->len++] = 0;
}

/* What the tool sees of libnl and of the system */

int nl_connect(struct nl_sock *sk, int protocol)
{
	(void)sk;
	(void)protocol;
	return 0;
}

int genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	(void)sk;
	(void)name;
	return one_in(&input, 32) ? -NLE_OBJ_NOTFOUND : FAMILY;
}

int genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family, const char *name)
{
	(void)sk;
	(void)family;
	(void)name;
	/* the monitor sends nothing */
	asked = &spec_ops[INC_CMD_EVENT - 1];
	return one_in(&input, 32) ? -NLE_OBJ_NOTFOUND : 3;
}

int nl_socket_add_membership(struct nl_sock *sk, int group)
{
	(void)sk;
	(void)group;
	return 0;
}

int nl_send_auto(struct nl_sock *sk, struct nl_msg *msg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	const struct genlmsghdr *genl = nlmsg_data(h);
	const char *text;

	(void)sk;
	h->nlmsg_seq = 1;
	asked = NULL;
	asked_dump = h->nlmsg_flags & NLM_F_DUMP;
	asked_change = h->nlmsg_type == RTM_NEWQDISC || h->nlmsg_type == RTM_DELQDISC;
	if (h->nlmsg_type != FAMILY)
		return one_in(&input, 64) ? -NLE_FAILURE : (int)h->nlmsg_len;
	if (!genl->cmd || genl->cmd > spec_n_ops)
		fail("request", "no such command");
	asked = &spec_ops[genl->cmd - 1];
	if (asked_dump ? !asked->has_dump : !asked->has_do)
		fail("request", asked->name);
	text = wrong_request(genlmsg_attrdata(genl, 0), (size_t)genlmsg_attrlen(genl, 0), spec_top,
			     asked->request);
	if (text)
		fail(asked->name, text);
	return one_in(&input, 64) ? -NLE_FAILURE : (int)h->nlmsg_len;
}

int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf, struct ucred **creds)
{
	uint8_t bytes[BUFFER];
	struct message m = {
		.buf = bytes, .size = sizeof(bytes), .answer = true, .devs = devs,
		.n_devs = ARRAY_SIZE(devs),
	};
	uint32_t n;

	(void)sk;
	(void)from;
	(void)creds;
	if (!input.left || ++buffers > MAX_BUFFERS)
		return -NLE_FAILURE;
	if (one_in(&input, 64))
		return one_in(&input, 2) ? -NLE_INTR : -NLE_NOMEM;
	m.damage = draw(&input, 2) * 8;
	for (n = 1 + draw(&input, 4); n; n--)
		put_message(&m);
	/* exactly as long as it is, so that nothing behind it is read */
	*buf = malloc(m.len);
	if (!*buf)
		abort();
	memcpy(*buf, m.buf, m.len);
	return (int)m.len;
}

char *if_indextoname(unsigned int index, char *name)
{
	if (!index || index > ARRAY_SIZE(devs))
		return NULL;
	return strcpy(name, devs[index - 1]);
}

unsigned int if_nametoindex(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devs); i++)
		if (!strcmp(devs[i], name))
			return i + 1;
	return 0;
}

int setns(int fd, int type)
{
	(void)fd;
	(void)type;
	return 0;
}

/*
 * They start programs, join groups, and read any file that is named, which is not for a fuzzer:
 * these files are left out.
 */
static const struct command no_commands[] = { { NULL, NULL } };

const struct object object_run = { .name = "run", .commands = no_commands, .usage = "" };
const struct object object_why = { .name = "why", .commands = no_commands, .usage = "" };
const struct object object_tune = { .name = "tune", .commands = no_commands, .usage = "" };

/* The command line */

static const struct object *const objects[] = {
	&object_node, &object_parent, &object_group, &object_member, &object_stats, &object_port,
	&object_caps, &object_qdisc, &object_monitor,
};

static const char *const flags[] = {
	"-j", "-s", "-p", "-t", "-ss", "-jp", "-jss", "-n", "-V", "-h", "--help", "--version", "-x",
	"-", "--", "-jn", "-o", "-br", "-d", "-c", "-color=auto", "-com", "-force", "-json",
};

static const char * const keys[] = {
	"dev", "dead", "late", "window", "max-groups", "max-slots", "max-memory",
	"key", "group", "port", "10.7.0.254", "fe80::1", "late-policy",
	"parent",
};

static const char *const values[] = {
	"br0", "lo", "7", "512", "2000", "0", "64M", "1K", "100", "4294967295", "4294967296",
	"18446744073709551615", "99999999999999999999", "-1", "+1", "0x200", "0x", "1e3", "none",
	"000102030405060708090a0b0c0d0e0f", "", "no-such-dev", "10.7.0.254", "fe80::1", "::",
	"ff02::1", "224.0.0.1", "%s%n%d", "\x1b[31m", "\xff", "..", "a/b", "65536", "1G",
	"1099511627776", "0123456789abcdef", "wait", "partial", "fe80::1%lo",
	"@/dev/null",
};

static char *argv[MAX_WORDS + 2];

static void mutate(char *word)
{
	size_t len = strlen(word), at = draw(&input, (uint32_t)len + 1);

	switch (draw(&input, 5)) {
	case 0:
		word[at] = 0;
		break;
	case 1:
		if (at < len)
			word[at] = (char)draw(&input, 256);
		break;
	case 2:
		memmove(word + at + 1, word + at, len - at + 1);
		word[at] = (char)(1 + draw(&input, 255));
		break;
	case 3:
		memset(word, 'x', MAX_WORD - 100);
		word[MAX_WORD - 100 - draw(&input, 256)] = 0;
		break;
	case 4:
		snprintf(word, 24, "%llu", (unsigned long long)draw_number(&input));
		break;
	}
}

static void add_word(const char *text)
{
	char *word = words[n_words];

	if (n_words == MAX_WORDS)
		return;
	snprintf(word, MAX_WORD, "%s", text);
	if (one_in(&input, 16))
		mutate(word);
	n_words++;
}

static const char *some(const char * const *list, size_t n)
{
	return list[draw(&input, (uint32_t)n)];
}

static const char *command_of(const struct object *object)
{
	uint32_t n = 0;

	while (object->commands[n].name)
		n++;
	n = draw(&input, n + 1);
	return object->commands[n].name ? object->commands[n].name : "help";
}

/* A link-local parent, a node with many limits and so on are drawn often enough by chance. */
static void make_argv(void)
{
	const struct object *object;
	uint32_t n;
	int i;

	n_words = 0;
	add_word("inc");
	for (n = draw(&input, 4); n; n--)
		add_word(some(flags, ARRAY_SIZE(flags)));
	object = objects[draw(&input, ARRAY_SIZE(objects))];
	if (!one_in(&input, 32))
		add_word(object->name);
	if (!one_in(&input, 8))
		add_word(command_of(object));
	for (n = draw(&input, 6); n; n--) {
		add_word(some(keys, ARRAY_SIZE(keys)));
		if (!one_in(&input, 16))
			add_word(some(values, ARRAY_SIZE(values)));
	}
	memset(argv, 0, sizeof(argv));
	for (i = 0; i < n_words; i++) {
		argv[i] = strdup(words[i]);
		if (!argv[i])
			abort();
	}
}

/* What it says */

/* The options of the command line, as the tool reads them. */
static struct flags flags_given;

static void read_flags(void)
{
	memset(&flags_given, 0, sizeof(flags_given));
	options_parse(&flags_given, n_words - 1, argv + 1);
	memset(&options, 0, sizeof(options));
}

static bool asks_help(void)
{
	int i;

	for (i = 1; i < n_words; i++)
		if (*words[i] && !strncmp("help", words[i], strlen(words[i])))
			return true;
	return flags_given.help || flags_given.version;
}

static void check_json(const char *out, size_t len)
{
	const char *line, *end;

	if (!asked || !asked->has_event) {
		if (!is_json(out, len))
			fail("not JSON", out);
		return;
	}
	/* the monitor: a document on each line */
	for (line = out; line < out + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(out + len - line));
		if (!end)
			fail("the line does not end", line);
		if (!flags_given.pretty && !is_json(line, (size_t)(end - line)))
			fail("not JSON", line);
	}
}

static void check_text(const char *out, size_t len)
{
	const unsigned char *s = (const unsigned char *)out;
	size_t i;

	for (i = 0; i < len; i++)
		if (flags_given.color && s[i] == 0x1b && i + 1 < len && s[i + 1] == '[')
			i += strcspn(out + i, "m");
		else if ((s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f ||
			 (s[i] == 0xc2 && i + 1 < len && s[i + 1] >= 0x80 && s[i + 1] < 0xa0))
			fail("a control character", out + i);
}

static void keep_json(const char *out, size_t len)
{
	const char *path = getenv("INC_FUZZ_JSON");
	FILE *file = path ? fopen(path, "ab") : NULL;

	if (!file)
		return;
	fwrite(out, 1, len, file);
	fputc(0, file);
	fclose(file);
}

static void check(int status, const char *out, size_t len, const char *err)
{
	bool json = flags_given.json, monitor = asked && asked->has_event;
	bool change = asked ? asked->admin : asked_change;

	if (status < 0 || status > 2)
		fail("exit status", err);
	if (status && !*err)
		fail("it failed and said nothing", out);
	if (status == EXIT_USAGE && len)
		fail("wrong usage, and output", out);
	if (asks_help())
		return;
	check_text(out, len);
	if (json && (len || (!status && !change && !monitor)))
		check_json(out, len);
	if (json && len && !monitor)
		keep_json(out, len);
}

static void run(void)
{
	FILE *real_out = stdout, *real_err = stderr;
	char *out = NULL, *err = NULL;
	size_t out_len, err_len;
	int status, i;

	memset(&options, 0, sizeof(options));
	asked = NULL;
	asked_change = false;
	buffers = 0;
	make_argv();
	stdout = open_memstream(&out, &out_len);
	stderr = open_memstream(&err, &err_len);
	if (!stdout || !stderr)
		abort();
	read_flags();
	status = inc_main(n_words, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = real_out;
	stderr = real_err;
	check(status, out, out_len, err);
	free(out);
	free(err);
	for (i = 0; i < n_words; i++)
		free(argv[i]);
}

/* The words of the spec are those that the tool prints. */

static const struct spec_attr *attr_of(const struct spec_set *set, const char *name)
{
	unsigned int i;

	for (i = 0; i < set->n; i++)
		if (!strcmp(set->attrs[i].name, name))
			return &set->attrs[i];
	fail("not in the spec", name);
	return NULL;
}

static void compare_names(const char *nest, const char *attr, const char *(*name)(unsigned int))
{
	const struct spec_attr *a = attr_of(spec_top, nest);
	unsigned int i;

	if (!strcmp(attr, "code"))
		a = attr_of(a->nested, "error");
	a = attr_of(a->nested, attr);
	for (i = 0; i < a->n_names; i++)
		if (a->names[i] && strcmp(a->names[i], name(i)))
			fail("another name than in the spec", a->names[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***args)
{
	(void)argc;
	(void)args;
	complaints = stderr;
	/* -b - is to find its end */
	if (!freopen("/dev/null", "r", stdin))
		abort();
	compare_names("group", "role", role_name);
	compare_names("group", "code", error_name);
	compare_names("member", "state", member_state_name);
	compare_names("event", "type", event_name);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	input = (struct source){ .data = data, .left = size };
	run();
	return 0;
}
