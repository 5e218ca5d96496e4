/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptors that children do not get. A child that had a copy of a group's socket would keep a
 * rank that is killed from being noticed for as long as it lives: DataLoader's workers, for example.
 */
#ifndef INCTORCH_FORKS_HPP
#define INCTORCH_FORKS_HPP

namespace inctorch {

/* From now on fork() closes @fd in the child. Any thread. */
void close_in_children(int fd);

/* No longer. To be called before it is closed here: its number may then be another file's. */
void keep_in_children(int fd);

} // namespace inctorch

#endif
