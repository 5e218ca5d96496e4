// SPDX-License-Identifier: GPL-2.0-only
/*
 * inc port: INC traffic of nodes per port. Super-packets are counted as their segments; the
 * number of buffers tells how many blocks came in one.
 */
#include <linux/inc_netlink.h>

#include "names.h"
#include "nl.h"
#include "print.h"
#include "tool.h"

static const char usage[] =
	"Usage: inc port show\n"
	"INC packets and IP bytes of nodes per port, and in how many buffers (super-packets) they came\n"
	"or went.\n";

static void show_counter(const char *key, const char *fmt, struct nlattr *attr)
{
	uint64_t v;

	if (get_u64(attr, &v))
		out_num(key, fmt, v, UNIT_NONE);
}

static void show_port(struct nlattr *nest)
{
	struct nlattr *tb[INC_A_PORT_MAX + 1];
	uint32_t v;

	parse_nest(nest, tb, INC_A_PORT_MAX);
	out_open(NULL);
	if (get_u32(tb[INC_A_PORT_NODE], &v))
		show_dev("node_ifindex", "node", "node %s", v);
	if (get_u32(tb[INC_A_PORT_IFINDEX], &v))
		out_num("ifindex", NULL, v, UNIT_NONE);
	if (get_str(tb[INC_A_PORT_IFNAME]))
		out_str("dev", " port %s", get_str(tb[INC_A_PORT_IFNAME]));
	out_rest(true);
	show_counter("rx_packets", "\n    in  %s packets", tb[INC_A_PORT_RX_PACKETS]);
	show_counter("rx_bytes", " %s bytes", tb[INC_A_PORT_RX_BYTES]);
	show_counter("rx_skbs", " in %s buffers", tb[INC_A_PORT_RX_SKBS]);
	show_counter("tx_packets", "\n    out %s packets", tb[INC_A_PORT_TX_PACKETS]);
	show_counter("tx_bytes", " %s bytes", tb[INC_A_PORT_TX_BYTES]);
	show_counter("tx_skbs", " in %s buffers", tb[INC_A_PORT_TX_SKBS]);
	out_text("\n");
	out_close();
}

static int port_show(int argc, char **argv)
{
	int err = args_none(argc, argv);

	return err ? err : inc_dump(INC_CMD_PORT_GET, INC_A_PORT, NULL, show_port);
}

static const struct command commands[] = { { "show", port_show }, { NULL, NULL } };

const struct object object_port = { .name = "port", .commands = commands, .usage = usage };
