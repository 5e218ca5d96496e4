/* SPDX-License-Identifier: GPL-2.0-only */
/* Of the kernel's lists what is used by the files that test_pin.c and test_drr.c contain. */
#ifndef INC_STUB_LIST_H
#define INC_STUB_LIST_H

#include "reduce/platform.h"

struct list_head {
	struct list_head *next, *prev;
};

#define list_first_entry_or_null(l, type, member) ({				\
	struct list_head *l_ = (l);						\
	list_empty(l_) ? NULL : container_of(l_->next, type, member);		\
})
#define list_first_entry(l, type, member)	container_of((l)->next, type, member)
#define list_for_each_entry(pos, l, member)					\
	for (struct list_head *l_ = (l), *at_ = l_->next;			\
	     at_ != l_ && ({							\
			__typeof__(pos) *pos_ = &(pos);				\
			*pos_ = container_of(at_, __typeof__(**pos_), member);	\
			true; });						\
	     at_ = at_->next)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list_head *new, struct list_head *l)
{
	new->next = l;
	new->prev = l->prev;
	l->prev->next = new;
	l->prev = new;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *l)
{
	list_del_init(entry);
	list_add_tail(entry, l);
}

#endif
