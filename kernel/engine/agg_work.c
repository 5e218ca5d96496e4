// SPDX-License-Identifier: GPL-2.0-only
/* What one received buffer may cost, whatever is in it: rule 14 of protocol.rst. */
#include "aggregator.h"

/* sent again; as many as a buffer of the oldest kernels has units */
#define RESULTS_PER_BUFFER	64
#define WORK_PER_BUFFER		32768	/* blocks looked at, or */
/* windows of them: a PROBE of each rank of a host may be in one buffer */
#define WINDOWS_PER_BUFFER	64

void netinc_agg_buffer_begin(struct netinc_agg *agg)
{
	agg->buffer++;
	agg->results_left = RESULTS_PER_BUFFER;
	agg->work_left = max_t(u32, WORK_PER_BUFFER, WINDOWS_PER_BUFFER * agg->window);
}

bool netinc_agg_take_work(struct netinc_agg *agg, u32 blocks)
{
	if (agg->work_left < blocks)
		return false;
	agg->work_left -= blocks;
	return true;
}

bool netinc_agg_take_result(struct netinc_agg *agg)
{
	if (!agg->results_left)
		return false;
	agg->results_left--;
	return true;
}
