// SPDX-License-Identifier: GPL-2.0-only
/* A group's settings, in JOIN and READY, and which make sense. */
#include "settings.h"

bool netinc_settings_ok(const struct netinc_settings *s)
{
	if (s->window < INC_MIN_WINDOW || s->window > INC_MAX_WINDOW ||
	    (s->window & (s->window - 1)))
		return false;
	if (s->dead_ms < NETINC_MIN_DEAD_MS || s->dead_ms > NETINC_MAX_DEAD_MS)
		return false;
	if (s->late_ms > NETINC_MAX_LATE_MS || s->late_policy > INC_LATE_MAX ||
	    s->fallback >= __INC_FALLBACK_MAX)
		return false;
	return s->late_policy != INC_LATE_PARTIAL || (s->late_ms && !s->fallback);
}

struct netinc_settings netinc_settings_from_join(const struct inc_join *join)
{
	return (struct netinc_settings){
		.window = be16_to_cpu(join->window),
		.dead_ms = be32_to_cpu(join->dead_ms),
		.late_ms = be32_to_cpu(join->late_ms),
		.late_policy = join->late_policy & INC_JOIN_LATE_POLICY,
		.fallback = join->fallback,
		.lacks = netinc_join_lacks(join),
	};
}

void netinc_settings_to_join(const struct netinc_settings *settings, struct inc_join *join)
{
	join->window = cpu_to_be16(settings->window);
	join->dead_ms = cpu_to_be32(settings->dead_ms);
	join->late_ms = cpu_to_be32(settings->late_ms);
	join->late_policy |= settings->late_policy;
	join->fallback = settings->fallback;
}

struct netinc_settings netinc_settings_from_ready(const struct inc_ready *ready)
{
	return (struct netinc_settings){
		.window = be32_to_cpu(ready->window),
		.dead_ms = be32_to_cpu(ready->dead_ms),
		.late_ms = be32_to_cpu(ready->late_ms),
		.late_policy = ready->late_policy & INC_JOIN_LATE_POLICY,
		.fallback = ready->fallback,
		.lacks = netinc_ready_lacks(ready),
	};
}

void netinc_settings_to_ready(const struct netinc_settings *settings,
			      struct netinc_ready_body *body)
{
	struct inc_ready *ready = &body->ready;

	ready->window = cpu_to_be32(settings->window);
	ready->dead_ms = cpu_to_be32(settings->dead_ms);
	ready->late_ms = cpu_to_be32(settings->late_ms);
	ready->late_policy |= settings->late_policy;
	ready->fallback = settings->fallback;
	if (!netinc_kinds_any(settings->lacks))
		return;
	body->lacks = netinc_kinds_build(settings->lacks);
	ready->height |= INC_READY_KINDS;
}
