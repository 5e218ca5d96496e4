// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two netfilter hooks at which super-packets are still whole.
 *
 * NF_BR_LOCAL_IN sees frames for an address of this box that came in by a port of a bridge: VLAN,
 * STP, port security and learning have been applied, state->in is the port. It stands behind all
 * other hooks there, so that rules of the bridge family come first; IP's own filters never see what
 * it takes, which is what a node of this box serves. NF_INET_LOCAL_IN, after all filters, sees what
 * is for this box otherwise, broadcast and multicast included, which are nobody's and are dropped
 * there: what comes by ports that are no bridge's, and what is for ranks. In a VRF state->in is the
 * VRF's device, and IP has noted by which of its devices the packet came.
 *
 * A plain UDP socket holds the port and makes NICs aggregate (UDP_GRO). It never gets a packet, as
 * nobody would read it: what comes over IP with a UDP header for the port, the second hook takes.
 * It has no encap_rcv, because that would take every super-packet apart before LOCAL_IN. Each rank
 * holds the port that it sends from in the same way, since its node's answers come to that one.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/net.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include "core/nf_hooks.h"
#include "core/rx.h"

unsigned short netinc_port = INC_PORT;
module_param_named(port, netinc_port, ushort, 0444);
MODULE_PARM_DESC(port, "UDP port of INC packets");

/*
 * A verdict from user space (NFQUEUE) brings a packet here in the context of who gives it. All that
 * follows takes it for a softirq's: its locks, its per-CPU data, and that it ends soon.
 */
static unsigned int pass_hook(const struct nf_hook_state *state, struct sk_buff *skb,
			      struct net_device *port, struct net_device *via, u8 family)
{
	bool ours;

	local_bh_disable();
	ours = netinc_rx(netinc_net(state->net), skb, port, via, family);
	local_bh_enable();
	return ours ? NF_STOLEN : NF_ACCEPT;
}

/* The device to which a bridge hands this frame: itself, or a VLAN device of it. NULL: none. */
static struct net_device *bridge_hands_to(const struct sk_buff *skb, const struct net *net)
{
	struct net_device *dev;

	if (!skb_vlan_tag_present(skb))
		return skb->dev;
	dev = __vlan_find_dev_deep_rcu(skb->dev, skb->vlan_proto, skb_vlan_tag_get_id(skb));
	/* VLAN 0 is none: the tag says how urgent the frame is */
	if (!dev && !skb_vlan_tag_get_id(skb))
		return skb->dev;
	/* in its turn a port of something, or elsewhere: not ours to say whom the frame is for */
	if (!dev || !(dev->flags & IFF_UP) || rcu_access_pointer(dev->rx_handler) ||
	    !net_eq(dev_net(dev), net))
		return NULL;
	return dev;
}

static unsigned int bridge_hook(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct netinc_net *nn = netinc_net(state->net);
	struct net_device *via;
	u8 family;

	/* ranks behind a bridge of their own box are served at the other hook */
	if (list_empty(&nn->nodes))
		return NF_ACCEPT;
	if (skb->protocol == htons(ETH_P_IP))
		family = NFPROTO_IPV4;
	else if (skb->protocol == htons(ETH_P_IPV6))
		family = NFPROTO_IPV6;
	else
		return NF_ACCEPT;
	via = bridge_hands_to(skb, state->net);
	if (!via)
		return NF_ACCEPT;
	/* as the VLAN device would, which may have an address of its own */
	if (via != skb->dev && skb->pkt_type == PACKET_OTHERHOST &&
	    ether_addr_equal(eth_hdr(skb)->h_dest, via->dev_addr))
		skb->pkt_type = PACKET_HOST;
	return pass_hook(state, skb, state->in, via, family);
}

/* The device by which the packet came to IP, also where that has gone on with its VRF's. */
static struct net_device *came_by(const struct sk_buff *skb, const struct nf_hook_state *state)
{
	int index = state->pf == NFPROTO_IPV4 ? inet_sdif(skb) : inet6_sdif(skb);
	struct net_device *dev = index ? dev_get_by_index_rcu(state->net, index) : NULL;

	return dev ?: state->in;
}

static unsigned int inet_hook(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct net_device *dev = came_by(skb, state);

	return pass_hook(state, skb, dev, dev, state->pf);
}

static const struct nf_hook_ops hook_ops[] = {
	{ .hook = bridge_hook,
	  .pf = NFPROTO_BRIDGE,
	  .hooknum = NF_BR_LOCAL_IN,
	  .priority = NF_BR_PRI_LAST },
	{ .hook = inet_hook,
	  .pf = NFPROTO_IPV4,
	  .hooknum = NF_INET_LOCAL_IN,
	  .priority = NF_IP_PRI_LAST },
#if IS_ENABLED(CONFIG_IPV6)
	{ .hook = inet_hook,
	  .pf = NFPROTO_IPV6,
	  .hooknum = NF_INET_LOCAL_IN,
	  .priority = NF_IP6_PRI_LAST },
#endif
};

static int bind_port(struct socket *sock, u8 family, __be16 port)
{
	struct sockaddr_in6 addr6 = { .sin6_family = AF_INET6, .sin6_port = port };
	struct sockaddr_in addr4 = { .sin_family = AF_INET, .sin_port = port };
	int err, on = 1;

	if (family == AF_INET)
		err = kernel_bind(sock, (void *)&addr4, sizeof(addr4));
	else
		err = ip6_sock_set_v6only(sock->sk) ?:
		      kernel_bind(sock, (void *)&addr6, sizeof(addr6));
	if (err)
		return err;
	return sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&on), sizeof(on));
}

/* @shared: other sockets that are shared may have the port, too. */
static struct socket *new_holder(struct net *net, u8 family, __be16 port, bool shared)
{
	struct socket *sock;
	int err;

	/* a family that is not there would be asked for at user space, with nn->mutex held */
	if (family == AF_INET6 && !ipv6_mod_enabled())
		return ERR_PTR(-EAFNOSUPPORT);
	err = sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err)
		return ERR_PTR(err);
	if (shared) {
		sock->sk->sk_reuse = SK_CAN_REUSE;
		/* it may get packets for ranks that have gone, and nobody reads it */
		sock->sk->sk_rcvbuf = SOCK_MIN_RCVBUF;
	}
	err = bind_port(sock, family, port);
	if (!err)
		return sock;
	sock_release(sock);
	return ERR_PTR(err);
}

struct socket *netinc_port_hold(struct net *net, u8 family, __be16 port)
{
	struct socket *sock = new_holder(net, family, port, true);

	return IS_ERR(sock) ? NULL : sock;
}

static int hold_port(struct netinc_net *nn, int i, u8 family)
{
	struct socket *sock = new_holder(nn->net, family, htons(netinc_port), false);

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	nn->holder[i] = sock;
	return 0;
}

static void release_port(struct netinc_net *nn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(nn->holder); i++) {
		if (nn->holder[i])
			sock_release(nn->holder[i]);
		nn->holder[i] = NULL;
	}
}

int netinc_hooks_register(struct netinc_net *nn)
{
	int err = hold_port(nn, 0, AF_INET);

	if (err)
		return err;
	err = hold_port(nn, 1, AF_INET6);
	if (!err || err == -EAFNOSUPPORT)
		err = nf_register_net_hooks(nn->net, hook_ops, ARRAY_SIZE(hook_ops));
	if (err)
		release_port(nn);
	return err;
}

void netinc_hooks_unregister(struct netinc_net *nn)
{
	nf_unregister_net_hooks(nn->net, hook_ops, ARRAY_SIZE(hook_ops));
	release_port(nn);
	synchronize_net();
}
