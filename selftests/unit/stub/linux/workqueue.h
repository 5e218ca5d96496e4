/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that the test runs itself, for test_membership.c. */
#ifndef INC_STUB_WORKQUEUE_H
#define INC_STUB_WORKQUEUE_H

#include <stdbool.h>

struct work_struct {
	void (*run)(struct work_struct *work);
};

#define INIT_WORK(work, function)	((work)->run = (function))

#define WQ_UNBOUND	0

struct workqueue_struct;

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int most);
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);

#endif
