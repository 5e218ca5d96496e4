// SPDX-License-Identifier: GPL-2.0-only
/*
 * The network of `inc run`, step by step. Each step knows the command that does the same by hand,
 * which is what --show prints, so that the two cannot differ in their order or their arguments.
 *
 *	 host 1    host 2   ...   host N
 *	  eth0      eth0           eth0		10.77.0.1 ... .N, fd00:77::1 ... :N (-6)
 *	   |         |              |  veth
 *	   p1        p2             pN
 *	 +------------------------------+
 *	 | br0, an INC node             |	10.77.0.254, fd00:77::fe
 *	 +------------------------------+
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nl.h"
#include "run.h"
#include "tool.h"

#define SWITCH_NUMBER	254
#define FORWARD_MS	10000	/* until all ports of the bridge forward */
#define POLL_MS		10

void host_addr(bool ipv6, unsigned int host, char addr[static RUN_ADDR_LEN])
{
	snprintf(addr, RUN_ADDR_LEN, ipv6 ? "fd00:77::%x" : "10.77.0.%u", host ?: SWITCH_NUMBER);
}

/* What --show calls the network namespaces. */
static const char *place_name(unsigned int host)
{
	static char name[16];

	snprintf(name, sizeof(name), host ? "inc-h%u" : "inc-sw", host);
	return name;
}

static __printf(1, 2) int show_step(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return 0;
}

/* A command of this tool, in the network namespace of the process. */
static int tool_step(const struct run *run, unsigned int host, char *line)
{
	int status;

	if (run->show)
		return show_step("inc -n %s %s", place_name(host), line);
	status = batch_line(line, run_command);
	snprintf(error_context, sizeof(error_context), "run: ");
	return status;
}

static int send_link(struct rtnl_link *link, int flags)
{
	struct nl_msg *msg;
	int err = rtnl_link_build_add_request(link, flags, &msg);

	return err < 0 ? refused("interface %s: %s", rtnl_link_get_name(link), nl_geterror(err)) :
			 route_talk(msg, NULL);
}

static int link_up(const struct run *run, unsigned int host, const char *dev)
{
	struct rtnl_link *link;
	int status;

	if (run->show)
		return show_step("ip -n %s link set %s up", place_name(host), dev);
	link = rtnl_link_alloc();
	if (!link)
		return refused("out of memory");
	rtnl_link_set_name(link, dev);
	rtnl_link_set_flags(link, IFF_UP);
	status = send_link(link, 0);
	rtnl_link_put(link);
	return status;
}

static int bridge_add(const struct run *run)
{
	struct rtnl_link *link;
	int status;

	if (run->show)
		return show_step("ip -n %s link add br0 mtu %u type bridge", place_name(0),
				 run->mtu);
	link = rtnl_link_bridge_alloc();
	if (!link)
		return refused("out of memory");
	rtnl_link_set_name(link, "br0");
	rtnl_link_set_mtu(link, run->mtu);
	status = send_link(link, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_put(link);
	return status;
}

/* At the switch: the port of a host, whose other end is in the host's network namespace. */
static int veth_add(const struct run *run, unsigned int host, const char *port)
{
	struct rtnl_link *link, *peer;
	int status;

	if (run->show) {
		printf("ip -n %s link add %s mtu %u type veth", place_name(0), port, run->mtu);
		return show_step(" peer name eth0 mtu %u netns %s", run->mtu, place_name(host));
	}
	link = rtnl_link_veth_alloc();
	if (!link)
		return refused("out of memory");
	rtnl_link_set_name(link, port);
	rtnl_link_set_mtu(link, run->mtu);
	peer = rtnl_link_veth_get_peer(link);
	rtnl_link_set_name(peer, "eth0");
	rtnl_link_set_mtu(peer, run->mtu);
	rtnl_link_set_ns_fd(peer, run->netns[host - 1]);
	rtnl_link_put(peer);
	status = send_link(link, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_put(link);
	return status;
}

static int port_join(const struct run *run, const char *port)
{
	struct rtnl_link *link;
	int status;

	if (run->show)
		return show_step("ip -n %s link set %s master br0 up", place_name(0), port);
	link = rtnl_link_alloc();
	if (!link)
		return refused("out of memory");
	rtnl_link_set_name(link, port);
	rtnl_link_set_master(link, (int)if_nametoindex("br0"));
	rtnl_link_set_flags(link, IFF_UP);
	status = send_link(link, 0);
	rtnl_link_put(link);
	return status;
}

static int send_addr(const char *text, const char *dev, bool nodad)
{
	struct rtnl_addr *addr = rtnl_addr_alloc();
	struct nl_addr *local = NULL;
	struct nl_msg *msg = NULL;
	int err = addr ? nl_addr_parse(text, AF_UNSPEC, &local) : -NLE_NOMEM;

	if (!err) {
		rtnl_addr_set_ifindex(addr, (int)if_nametoindex(dev));
		rtnl_addr_set_flags(addr, nodad ? IFA_F_NODAD : 0);
		err = rtnl_addr_set_local(addr, local);
	}
	if (!err)
		err = rtnl_addr_build_add_request(addr, NLM_F_CREATE | NLM_F_EXCL, &msg);
	nl_addr_put(local);
	rtnl_addr_put(addr);
	return err ? refused("address %s: %s", text, nl_geterror(err)) : route_talk(msg, NULL);
}

static int addr_add(const struct run *run, unsigned int host, bool ipv6, const char *dev)
{
	char addr[RUN_ADDR_LEN], prefix[RUN_ADDR_LEN + 4];

	host_addr(ipv6, host, addr);
	snprintf(prefix, sizeof(prefix), "%s/%d", addr, ipv6 ? 64 : 24);
	if (run->show)
		return show_step("ip -n %s address add %s dev %s%s", place_name(host), prefix, dev,
				 ipv6 ? " nodad" : "");
	return send_addr(prefix, dev, ipv6);
}

static int addrs_add(const struct run *run, unsigned int host, const char *dev)
{
	int status = addr_add(run, host, false, dev);

	return status || !run->ipv6 ? status : addr_add(run, host, true, dev);
}

static int make_switch(const struct run *run)
{
	char node[] = "node add dev br0";
	int status;

	if (run->show)
		show_step("ip netns add %s", place_name(0));
	status = bridge_add(run);
	if (!status)
		status = addrs_add(run, 0, "br0");
	if (!status)
		status = link_up(run, 0, "br0");
	if (!status)
		status = link_up(run, 0, "lo");
	return status ?: tool_step(run, 0, node);
}

static int make_port(const struct run *run, unsigned int host)
{
	char port[IFNAMSIZ];
	int status;

	snprintf(port, sizeof(port), "p%u", host);
	status = veth_add(run, host, port);
	return status ?: port_join(run, port);
}

static int make_host(const struct run *run, unsigned int host)
{
	char addr[RUN_ADDR_LEN], parent[RUN_ADDR_LEN + 16];
	int status = link_up(run, host, "lo");

	host_addr(run->ipv6, 0, addr);
	snprintf(parent, sizeof(parent), "parent set %s", addr);
	if (!status)
		status = addrs_add(run, host, "eth0");
	if (!status)
		status = link_up(run, host, "eth0");
	return status ?: tool_step(run, host, parent);
}

static int own_netns(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static int go_to(int netns)
{
	inc_forget_netns();
	return setns(netns, CLONE_NEWNET) ? refused("cannot enter a network namespace: %s",
						    strerror(errno)) : 0;
}

/* Leaves the process in it. */
static int netns_add(struct run *run, unsigned int host)
{
	if (run->show)
		return show_step("ip netns add %s", place_name(host));
	if (unshare(CLONE_NEWNET))
		return refused("no network namespace for host %u: %s%s", host, strerror(errno),
			       errno == ENOSPC ? " (sysctl user.max_net_namespaces)" : "");
	run->netns[host - 1] = own_netns();
	return run->netns[host - 1] < 0 ? refused("network namespace of host %u: %s", host,
						  strerror(errno)) : 0;
}

static int add_host(struct run *run, unsigned int host, int netns)
{
	int status = netns_add(run, host);

	if (!status && !run->show)
		status = go_to(netns);
	if (!status)
		status = make_port(run, host);
	if (!status && !run->show)
		status = go_to(run->netns[host - 1]);
	if (!status)
		status = make_host(run, host);
	return status || run->show ? status : go_to(netns);
}

static unsigned int forwarding;

static void count_port(const struct nlmsghdr *hdr)
{
	struct nlattr *tb[IFLA_MAX + 1], *port[IFLA_BRPORT_MAX + 1];
	uint8_t state;

	if (hdr->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse((struct nlmsghdr *)hdr, sizeof(struct ifinfomsg), tb, IFLA_MAX, NULL) ||
	    !tb[IFLA_PROTINFO])
		return;
	parse_nest(tb[IFLA_PROTINFO], port, IFLA_BRPORT_MAX);
	if (get_u8(port[IFLA_BRPORT_STATE], &state) && state == BR_STATE_FORWARDING)
		forwarding++;
}

static int count_ports(void)
{
	struct ifinfomsg bridge = { .ifi_family = AF_BRIDGE };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, NLM_F_DUMP);

	if (!msg || nlmsg_append(msg, &bridge, sizeof(bridge), NLMSG_ALIGNTO))
		return no_memory(msg);
	forwarding = 0;
	return route_talk(msg, count_port);
}

/* Links are up a moment after both of their ends are. */
static int wait_ports(const struct run *run)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000 };
	unsigned int ms;
	int status;

	for (ms = 0; ms < FORWARD_MS; ms += POLL_MS) {
		status = count_ports();
		if (status || forwarding == run->hosts)
			return status;
		nanosleep(&pause, NULL);
	}
	return refused("%u of %u ports of the bridge forward after %d s, expected all", forwarding,
		       run->hosts, FORWARD_MS / 1000);
}

int net_make(struct run *run)
{
	int netns = run->show ? -1 : own_netns(), status;
	unsigned int h;

	if (!run->show && netns < 0)
		return refused("/proc/self/ns/net: %s", strerror(errno));
	inc_forget_netns();
	status = make_switch(run);
	for (h = 1; !status && h <= run->hosts; h++)
		status = add_host(run, h, netns);
	if (run->show)
		return status;
	close(netns);
	return status ?: wait_ports(run);
}

void net_show_end(const struct run *run)
{
	unsigned int h;

	for (h = 0; h <= run->hosts; h++)
		show_step("ip netns del %s", place_name(h));
}
