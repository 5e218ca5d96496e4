/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of user memory: may a caller use them, how many may one rank pin at once, and pinning them.
 * What takes a struct netinc_pin or a rank is called with pin->mutex held, which protects the
 * budget; the rest knows no rank, and needs no lock.
 */
#ifndef NETINC_HOST_PIN_PAGES_H
#define NETINC_HOST_PIN_PAGES_H

#include <linux/types.h>

struct netinc_buf;
struct page;
struct netinc_pin;
struct netinc_rank;

/* Can there be memory of the caller's? */
bool netinc_pin_address_ok(u64 addr, u64 len);
/*
 * May the caller read, or read and write, these bytes, and can they be pinned for as long as it
 * takes? 0, -EFAULT, -ENOMEM, or -EINTR: it is being killed.
 */
int netinc_pin_check(u64 addr, u64 len, bool read, bool write);

/*
 * Pin up to @n pages behind those that are, as the owner of the memory. Returns how many, or a
 * negative errno.
 */
int netinc_pin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 n);
/*
 * Pin @n pages of the caller's from @addr on, the beginning of one, which netinc_pin_check() has
 * found good. Returns how many, at least one, or a negative errno.
 */
int netinc_pin_run(unsigned long addr, u32 n, bool write, struct page **pages);
/*
 * The same for pages that are pinned until they are given back, whatever is written to them
 * meanwhile: as many as are of one area at most.
 */
int netinc_pin_lasting(unsigned long addr, u32 n, bool write, struct page **pages);
/* The size for which mm_account_pinned_pages() charges @n pages, two at least. */
size_t netinc_pin_account_size(u32 n);
/* Unpin what lies before page @end. */
void netinc_unpin_pages(struct netinc_pin *u, struct netinc_buf *b, u32 end);

/*
 * Budget for @want pages beside those in use, or as many as can be had; an errno if it stays below
 * @need.
 */
int netinc_pin_charge(struct netinc_rank *rank, u32 need, u32 want);
/*
 * Gives the budget back: with nothing pinned and nothing to come, others of this user may have the
 * budget.
 */
void netinc_pin_uncharge(struct netinc_rank *rank);

#endif
