// SPDX-License-Identifier: GPL-2.0-only
/*
 * `key value` pairs after a command. Keys are compared whole; a value out of range is refused here,
 * with the value and what was expected, before the kernel is asked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "tool.h"

#define MAX_LISTED	8	/* addresses of one option: no `max` is more */

struct arg *arg_find(struct arg *args, const char *key)
{
	for (; args->key; args++)
		if (!strcmp(args->key, key))
			return args;
	return NULL;
}

static void arg_expectation(const struct arg *arg, char *buf, size_t size)
{
	static const char * const texts[] = {
		[ARG_NUM] = "a number in",
		[ARG_NUM_OR_0] = "0 or a number in",
		[ARG_POW2] = "a power of two in",
		[ARG_BYTES] = "bytes (or with K, M, G) in",
		[ARG_TIME] = "a number with us, ms or s, in microseconds in",
	};

	snprintf(buf, size, "%s %ju..%ju", texts[arg->kind], (uintmax_t)arg->min,
		 (uintmax_t)arg->max);
}

/* Decimal or 0x; no sign, no blanks, no octal surprise. */
static bool parse_number(const char *text, uint64_t *value, const char **end)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	char *stop;

	if (text[hex ? 2 : 0] < '0' || (!hex && text[0] > '9'))
		return false;
	errno = 0;
	*value = strtoull(text, &stop, hex ? 16 : 10);
	*end = stop;
	return !errno && stop != text + (hex ? 1 : 0);
}

static bool parse_suffix(const char *end, uint64_t *value)
{
	unsigned int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (!*end)
		return true;
	if (!shift || end[1] || *value > UINT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

/* @units: each is a thousand times the one before it, ends with NULL */
static bool parse_unit(const char *end, const char *const *units, uint64_t *value)
{
	uint64_t factor = 1;

	for (; *units; units++, factor *= 1000) {
		if (strcmp(end, *units))
			continue;
		if (*value > UINT64_MAX / factor)
			return false;
		*value *= factor;
		return true;
	}
	return false;
}

/* Numbers with units as tc has them: @value becomes microseconds, or bits per second. */
static bool time_unit(const char *end, uint64_t *value)
{
	static const char * const units[] = { "us", "ms", "s", NULL };

	return parse_unit(end, units, value);
}

static bool rate_unit(const char *end, uint64_t *value)
{
	static const char * const units[] = { "bit", "kbit", "mbit", "gbit", NULL };

	return parse_unit(end, units, value);
}

static bool in_range(const struct arg *arg, uint64_t v)
{
	if (arg->kind == ARG_NUM_OR_0 && !v)
		return true;
	if (arg->kind == ARG_POW2 && (v & (v - 1)))
		return false;
	return v >= arg->min && v <= arg->max;
}

static int parse_dev(struct arg *arg, const char *text)
{
	size_t len = strlen(text);

	if (!len || len >= IFNAMSIZ || strpbrk(text, "/ \t\n:") || !strcmp(text, ".") ||
	    !strcmp(text, ".."))
		return usage_error("%s %s: expected the name of an interface, 1..%d characters",
				   arg->key, text, IFNAMSIZ - 1);
	arg->text = text;
	return 0;
}

static int parse_key(struct arg *arg, const char *text)
{
	char why[128];

	_Static_assert(sizeof(arg->key_bytes) == INC_KEY_LEN, "struct arg has room for a key");
	arg->text = text;
	memset(arg->key_bytes, 0, sizeof(arg->key_bytes));
	if (text[0] == '@' && inc_key_read(arg->key_bytes, text + 1, why, sizeof(why)))
		return refused("%s %s: %s", arg->key, text, why);
	if (text[0] == '@' || !strcmp(text, "none"))
		return 0;
	if (!inc_key_hex(arg->key_bytes, text))
		return usage_error("%s: expected %d hex digits, @FILE or none, got %zu characters",
				   arg->key, 2 * INC_KEY_LEN, strlen(text));
	if (inc_key_zero(arg->key_bytes))
		return usage_error("%s: expected a key that is not all zeros, or none", arg->key);
	return 0;
}

int addr_parse(const char *text, size_t len, struct addr *addr)
{
	char copy[INET6_ADDRSTRLEN];

	if (len >= sizeof(copy))
		return -1;
	memcpy(copy, text, len);
	copy[len] = 0;
	*addr = (struct addr){ .len = 4 };
	if (inet_pton(AF_INET, copy, addr->bytes) == 1)
		return 0;
	addr->len = 16;
	return inet_pton(AF_INET6, copy, addr->bytes) == 1 ? 0 : -1;
}

/* Not an address in numbers that has a mistake, nor of the old forms that have less than four. */
static bool is_name(const char *text)
{
	const char *last = strrchr(text, '.');
	struct in_addr old;

	last = last && last[1] ? last + 1 : text;
	return *text && !strpbrk(text, ":/[]%, \t\n") && !inet_aton(text, &old) &&
	       last[strspn(last, "0123456789")];
}

/* fe80::1%eth0 */
static int find_dev(const char *text, const char *dev, struct addr *addr)
{
	if (!addr_link_local(addr))
		return usage_error("%s: only a link-local address takes %%DEV", text);
	addr->ifindex = if_nametoindex(dev);
	if (!addr->ifindex)
		return refused("%s: no such interface in this network namespace", text);
	return 0;
}

static bool take_sockaddr(struct addr *addr, const struct addrinfo *found)
{
	const struct sockaddr_in6 *in6 = (const void *)found->ai_addr;
	const struct sockaddr_in *in = (const void *)found->ai_addr;

	memset(addr, 0, sizeof(*addr));
	if (found->ai_family == AF_INET) {
		addr->len = sizeof(in->sin_addr);
		memcpy(addr->bytes, &in->sin_addr, sizeof(in->sin_addr));
	} else if (found->ai_family == AF_INET6) {
		addr->len = sizeof(in6->sin6_addr);
		memcpy(addr->bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
		addr->ifindex = in6->sin6_scope_id;
	}
	return addr->len;
}

static int resolve_name(const char *name, struct addr *addrs, size_t max, size_t *n)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found, *at;
	int err = getaddrinfo(name, NULL, &hints, &found);

	if (err)
		return refused("%s: no address of this host is found: %s", name, gai_strerror(err));
	*n = 0;
	for (at = found; at && *n < max; at = at->ai_next)
		if (take_sockaddr(&addrs[*n], at))
			++*n;
	freeaddrinfo(found);
	return *n ? 0 : refused("%s: no address of this host is found: %s", name,
				gai_strerror(EAI_NONAME));
}

int addrs_find(const char *text, struct addr *addrs, size_t max, size_t *n)
{
	const char *dev = strchr(text, '%');

	*n = 1;
	if (!addr_parse(text, dev ? (size_t)(dev - text) : strlen(text), addrs))
		return dev ? find_dev(text, dev + 1, addrs) : 0;
	if (!is_name(text))
		return usage_error("%s: expected an IPv4 or IPv6 address, or a host's name", text);
	return resolve_name(text, addrs, max, n);
}

bool addr_link_local(const struct addr *addr)
{
	return addr->len == 16 && addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;
}

bool addr_loopback(const struct addr *addr)
{
	const struct in6_addr *in6 = (const void *)addr->bytes;

	return addr->len == 4 ? addr->bytes[0] == 127 : IN6_IS_ADDR_LOOPBACK(in6);
}

bool addr_unicast(const struct addr *addr)
{
	const struct in6_addr *in6 = (const void *)addr->bytes;
	const unsigned char *ip = addr->bytes;

	if (addr->len == 4)
		return ip[0] && (ip[0] & 0xf0) != 0xe0 && memcmp(ip, "\377\377\377\377", 4) != 0;
	return !IN6_IS_ADDR_UNSPECIFIED(in6) && !IN6_IS_ADDR_MULTICAST(in6) &&
	       !IN6_IS_ADDR_V4MAPPED(in6);
}

size_t arg_addrs(const struct arg *arg, struct addr *addrs, size_t max)
{
	const char *text = arg->text, *comma;
	size_t n = 0;

	for (; text && n < max; text = comma ? comma + 1 : NULL) {
		comma = strchr(text, ',');
		addr_parse(text, comma ? (size_t)(comma - text) : strlen(text), &addrs[n++]);
	}
	return n;
}

/* 0 if @n addresses differ. */
static int check_twice(const struct arg *arg, const struct addr *addrs, size_t n)
{
	char text[INET6_ADDRSTRLEN];
	size_t i, j;

	for (i = 1; i < n; i++) {
		for (j = 0; j < i; j++) {
			if (addrs[i].len != addrs[j].len || addrs[i].ifindex != addrs[j].ifindex ||
			    memcmp(addrs[i].bytes, addrs[j].bytes, (size_t)addrs[i].len) != 0)
				continue;
			inet_ntop(addrs[i].len == 4 ? AF_INET : AF_INET6, addrs[i].bytes, text,
				  sizeof(text));
			return usage_error("%s: %s twice, expected each address once", arg->key,
					   text);
		}
	}
	return 0;
}

static int parse_addrs(struct arg *arg, const char *text)
{
	struct addr addr, addrs[MAX_LISTED];
	const char *comma = text - 1;
	size_t len, n;

	arg->text = text;
	for (n = 0; comma; n++) {
		text = comma + 1;
		comma = strchr(text, ',');
		len = comma ? (size_t)(comma - text) : strlen(text);
		if (addr_parse(text, len, &addr))
			return usage_error("%s %.*s: expected an IPv4 or IPv6 address", arg->key,
					   (int)len, text);
		if (addr_link_local(&addr))
			return usage_error("%s %.*s: expected no link-local address", arg->key,
					   (int)len, text);
	}
	if (n > arg->max)
		return usage_error("%s: %zu addresses, expected at most %ju", arg->key, n,
				   (uintmax_t)arg->max);
	return check_twice(arg, addrs, arg_addrs(arg, addrs, n));
}

static bool addr_is_zero(const struct addr *addr)
{
	static const unsigned char zeros[sizeof(addr->bytes)];

	return !memcmp(addr->bytes, zeros, (size_t)addr->len);
}

size_t arg_peers(const struct arg *arg, struct addr *addrs, size_t max)
{
	const char *text = arg->text, *comma;
	char dev[IF_NAMESIZE];
	size_t n = 0, len;

	if (!strcmp(text, "none")) {
		addrs[0] = (struct addr){ .len = 4 };
		return 1;
	}
	for (; text && n < max; text = comma ? comma + 1 : NULL) {
		comma = strchr(text, ',');
		len = strcspn(text, "%,");
		addr_parse(text, len, &addrs[n]);
		if (text[len] == '%') {
			snprintf(dev, sizeof(dev), "%.*s", (int)strcspn(text + len + 1, ","),
				 text + len + 1);
			addrs[n].ifindex = if_nametoindex(dev);
		}
		n++;
	}
	return n;
}

/* One of @len characters. */
static int check_peer(const struct arg *arg, const char *text, size_t len)
{
	const char *dev = memchr(text, '%', len);
	char name[IF_NAMESIZE];
	struct addr addr;

	if (addr_parse(text, dev ? (size_t)(dev - text) : len, &addr) || addr_is_zero(&addr))
		return usage_error("%s %.*s: expected an IPv4 or IPv6 address, or none", arg->key,
				   (int)len, text);
	if (addr_link_local(&addr) && !dev)
		return usage_error("%s %.*s: a link-local address needs %%DEV behind it", arg->key,
				   (int)len, text);
	if (!addr_link_local(&addr) && dev)
		return usage_error("%s %.*s: only a link-local address takes %%DEV", arg->key,
				   (int)len, text);
	if (!dev)
		return 0;
	len -= (size_t)(dev + 1 - text);
	if (len < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)len, dev + 1);
		if (if_nametoindex(name))
			return 0;
	}
	return refused("%s %.*s: no such interface in this network namespace", arg->key,
		       (int)(dev + 1 - text + (ptrdiff_t)len), text);
}

static int parse_peers(struct arg *arg, const char *text)
{
	const char *comma = text - 1;
	size_t n;
	struct addr addrs[MAX_LISTED];
	int err;

	arg->text = text;
	if (!strcmp(text, "none"))
		return 0;
	for (n = 0; comma; n++) {
		text = comma + 1;
		comma = strchr(text, ',');
		err = check_peer(arg, text, comma ? (size_t)(comma - text) : strlen(text));
		if (err)
			return err;
	}
	if (n > arg->max)
		return usage_error("%s: %zu addresses, expected at most %ju", arg->key, n,
				   (uintmax_t)arg->max);
	return check_twice(arg, addrs, arg_peers(arg, addrs, n));
}

static int parse_word(struct arg *arg, const char *text)
{
	char list[128] = "";
	size_t len = 0;

	for (arg->num = 0; arg->words[arg->num]; arg->num++)
		if (!strcmp(arg->words[arg->num], text))
			return 0;
	for (arg->num = 0; arg->words[arg->num] && len < sizeof(list); arg->num++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
					arg->words[arg->num]);
	return usage_error("%s %s: expected one of: %s", arg->key, text, list);
}

static int parse_rate(struct arg *arg, const char *text)
{
	const char *end;

	arg->num = 0;
	if (!strcmp(text, arg->words[0]) ||
	    (parse_number(text, &arg->num, &end) && rate_unit(end, &arg->num) &&
	     in_range(arg, arg->num)))
		return 0;
	return usage_error("%s %s: expected %s, or a number with bit, kbit, mbit or gbit, %jukbit..%jugbit",
			   arg->key, text, arg->words[0], (uintmax_t)arg->min / 1000,
			   (uintmax_t)arg->max / 1000000000);
}

int parse_value(struct arg *arg, const char *text)
{
	const char *end = "";
	char want[96];
	bool ok;

	if (arg->kind == ARG_DEV)
		return parse_dev(arg, text);
	if (arg->kind == ARG_KEY)
		return parse_key(arg, text);
	if (arg->kind == ARG_ADDRS)
		return parse_addrs(arg, text);
	if (arg->kind == ARG_PEERS)
		return parse_peers(arg, text);
	if (arg->kind == ARG_WORD)
		return parse_word(arg, text);
	if (arg->kind == ARG_RATE)
		return parse_rate(arg, text);
	if (arg->kind == ARG_TEXT) {
		arg->text = text;
		return 0;
	}
	ok = parse_number(text, &arg->num, &end);
	if (ok && arg->kind == ARG_TIME)
		ok = time_unit(end, &arg->num);
	else if (ok)
		ok = arg->kind == ARG_BYTES ? parse_suffix(end, &arg->num) : !*end;
	if (ok && in_range(arg, arg->num))
		return 0;
	arg_expectation(arg, want, sizeof(want));
	return usage_error("%s %s: expected %s", arg->key, text, want);
}

static int unknown_key(const struct arg *args, const char *key)
{
	char list[256] = "";
	size_t len = 0;

	for (; args->key && len < sizeof(list); args++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
					args->key);
	return usage_error("%s: unknown; expected one of: %s", key, list);
}

int args_parse(struct arg *args, int argc, char **argv)
{
	struct arg *arg;
	int err;

	for (; argc > 0; argc -= 2, argv += 2) {
		arg = arg_find(args, argv[0]);
		if (!arg)
			return unknown_key(args, argv[0]);
		if (argc < 2)
			return usage_error("%s: value is missing", argv[0]);
		if (arg->given)
			return usage_error("%s: given twice", argv[0]);
		err = parse_value(arg, argv[1]);
		if (err)
			return err;
		arg->given = true;
	}
	return 0;
}

int args_none(int argc, char **argv)
{
	return argc ? usage_error("%s: unexpected, nothing follows this command", argv[0]) : 0;
}

/* A network that is meant has no bits behind its length; who has given some may mean a host. */
static int check_host_bits(const char *key, const char *word, const struct addr *addr,
			   unsigned long bits)
{
	int family = addr->len == 4 ? AF_INET : AF_INET6, i;
	char network[INET6_ADDRSTRLEN], host[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(addr->bytes)];

	memcpy(bytes, addr->bytes, sizeof(bytes));
	for (i = (int)bits / 8; i < addr->len; i++)
		bytes[i] &= i > (int)bits / 8 ? 0 : 0xff00 >> bits % 8 & 0xff;
	if (!memcmp(bytes, addr->bytes, (size_t)addr->len))
		return 0;
	inet_ntop(family, bytes, network, sizeof(network));
	inet_ntop(family, addr->bytes, host, sizeof(host));
	return usage_error("%s %s: bits behind the prefix are set: expected the network %s/%lu, or the host %s/%d",
			   key, word, network, bits, host, 8 * addr->len);
}

int prefix_parse(const char *key, const char *other, const char *word, struct addr *addr,
		 unsigned long *bits)
{
	const char *slash = strchr(word, '/'), *digits = slash ? slash + 1 : "";

	if (addr_parse(word, slash ? (size_t)(slash - word) : strlen(word), addr))
		return usage_error("%s %s: expected %s, or an IPv4 or IPv6 prefix", key, word,
				   other);
	*bits = 8 * (unsigned long)addr->len;
	if (slash) {
		if (!*digits || strlen(digits) > 3 ||
		    strspn(digits, "0123456789") != strlen(digits) ||
		    strtoul(digits, NULL, 10) > *bits)
			return usage_error("%s %s: expected a length in 0..%lu", key, word, *bits);
		*bits = strtoul(digits, NULL, 10);
	}
	return check_host_bits(key, word, addr, *bits);
}
