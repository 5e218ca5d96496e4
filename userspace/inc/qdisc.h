/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_QDISC_H
#define INC_QDISC_H

/* Commands of the object qdisc, see struct command. */
int qdisc_add(int argc, char **argv);
int qdisc_change(int argc, char **argv);
int qdisc_replace(int argc, char **argv);
int qdisc_del(int argc, char **argv);

#endif
