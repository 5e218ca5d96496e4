// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes and offsets of libinc's structs and the numbers of its enums, one "NAME VALUE..." per line,
 * for python_inc.py, which compares the Python package's with them.
 */
#include <stddef.h>
#include <stdio.h>

#include <inc.h>

#define SIZE(type)		printf("%s %zu\n", #type, sizeof(struct type))
#define FIELD(type, field)	printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define VALUE(name)		printf("%s %lld\n", #name, (long long)(name))

static void opts_and_args(void)
{
	SIZE(inc_join_opts);
	FIELD(inc_join_opts, group);
	FIELD(inc_join_opts, rank);
	FIELD(inc_join_opts, size);
	FIELD(inc_join_opts, timeout_ms);
	FIELD(inc_join_opts, parent);
	FIELD(inc_join_opts, key);
	FIELD(inc_join_opts, job);
	FIELD(inc_join_opts, order);
	FIELD(inc_join_opts, stripes);
	FIELD(inc_join_opts, resv0);
	FIELD(inc_join_opts, resv);
	SIZE(inc_split_offer);
	FIELD(inc_split_offer, opaque);
	SIZE(inc_launch);
	FIELD(inc_launch, launcher);
	FIELD(inc_launch, job);
	FIELD(inc_launch, group);
	FIELD(inc_launch, rank);
	FIELD(inc_launch, size);
	FIELD(inc_launch, local_rank);
	FIELD(inc_launch, local_size);
	FIELD(inc_launch, derived);
	FIELD(inc_launch, resv);
	SIZE(inc_args);
	FIELD(inc_args, coll);
	FIELD(inc_args, type);
	FIELD(inc_args, op);
	FIELD(inc_args, wire);
	FIELD(inc_args, mode);
	FIELD(inc_args, root);
	FIELD(inc_args, count);
	FIELD(inc_args, send);
	FIELD(inc_args, recv);
	FIELD(inc_args, send_counts);
	FIELD(inc_args, send_displs);
	FIELD(inc_args, recv_counts);
	FIELD(inc_args, recv_displs);
	FIELD(inc_args, weight);
	FIELD(inc_args, resv);
}

static void request(void)
{
	SIZE(inc_request);
	FIELD(inc_request, group);
	FIELD(inc_request, handle);
	FIELD(inc_request, result);
	FIELD(inc_request, prepared);
	FIELD(inc_request, copy);
	FIELD(inc_request, submit);
	FIELD(inc_request, ended);
	FIELD(inc_request, kept);
	FIELD(inc_request, parts);
	FIELD(inc_request, resv);
	SIZE(inc_submit);
	FIELD(inc_submit, coll);
	FIELD(inc_submit, type);
	FIELD(inc_submit, op);
	FIELD(inc_submit, wire);
	FIELD(inc_submit, mode);
	FIELD(inc_submit, resv0);
	FIELD(inc_submit, root);
	FIELD(inc_submit, flags);
	FIELD(inc_submit, count);
	FIELD(inc_submit, send);
	FIELD(inc_submit, recv);
	FIELD(inc_submit, send_counts);
	FIELD(inc_submit, send_displs);
	FIELD(inc_submit, recv_counts);
	FIELD(inc_submit, recv_displs);
	FIELD(inc_submit, weight);
	FIELD(inc_submit, user_data);
	FIELD(inc_submit, handle);
	FIELD(inc_submit, send_reg);
	FIELD(inc_submit, recv_reg);
}

static void info(void)
{
	SIZE(inc_error_info);
	FIELD(inc_error_info, code);
	FIELD(inc_error_info, resv);
	FIELD(inc_error_info, opseq);
	FIELD(inc_error_info, rank);
	FIELD(inc_error_info, desc);
	SIZE(inc_info);
	FIELD(inc_info, group);
	FIELD(inc_info, rank);
	FIELD(inc_info, size);
	FIELD(inc_info, state);
	FIELD(inc_info, epoch);
	FIELD(inc_info, window);
	FIELD(inc_info, block);
	FIELD(inc_info, joined);
	FIELD(inc_info, missing);
	FIELD(inc_info, srtt_us);
	FIELD(inc_info, submitted);
	FIELD(inc_info, completed);
	FIELD(inc_info, blocks_sent);
	FIELD(inc_info, blocks_resent);
	FIELD(inc_info, error);
	FIELD(inc_info, parent_family);
	FIELD(inc_info, parent_port);
	FIELD(inc_info, moves);
	FIELD(inc_info, parent);
	FIELD(inc_info, placement);
	FIELD(inc_info, fallback);
	FIELD(inc_info, order);
	FIELD(inc_info, stripe);
	FIELD(inc_info, resv);
	FIELD(inc_info, lacks);
}

static void numbers(void)
{
	VALUE(INC_VERSION_MAJOR);
	VALUE(INC_VERSION_MINOR);
	VALUE(INC_VERSION_PATCH);
	VALUE(INC_MAX_RANKS);
	VALUE(INC_MAX_STRIPES);
	VALUE(INC_MX_VALUES);
	VALUE(INC_MAX_COUNT);
	VALUE(INC_KEY_LEN);
	VALUE(INC_MODE_SATURATE);
	VALUE(INC_MODE_COUNTS);
	VALUE(INC_REGISTER_WRITE);
	VALUE(INC_ERR_MISMATCH);
	VALUE(INC_ERR_COUNTS);
	VALUE(INC_NO_COLOUR);
	VALUE(INC_STATE_CLOSED);
	VALUE(INC_STATE_JOINING);
	VALUE(INC_STATE_WAITING);
	VALUE(INC_STATE_READY);
	VALUE(INC_STATE_RESYNC);
	VALUE(INC_STATE_LEAVING);
	VALUE(INC_STATE_FAILED);
	/* what applications may submit */
	VALUE(INC_COLL_LEAVE);
}

static void names(void)
{
	static const struct {
		const char *what, *name;
		int number, bytes;
	} all[] = {
#define INC_TYPE(number, name, bytes) { "type", name, number, bytes },
#define INC_OP(number, name) { "op", name, number, 0 },
#define INC_COLL(number, name) { "coll", name, number, 0 },
#include <linux/inc_names.h>
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		printf("%s %s %d %d\n", all[i].what, all[i].name, all[i].number, all[i].bytes);
}

int main(void)
{
	names();
	opts_and_args();
	request();
	info();
	numbers();
	return 0;
}
