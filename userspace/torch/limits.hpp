/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits of this process that keep a group from being of use. */
#ifndef INCTORCH_LIMITS_HPP
#define INCTORCH_LIMITS_HPP

#include <string>

namespace inctorch {

/*
 * All of a user's ranks of a host pin memory within one limit. False: there is too little for each
 * of them, some would wait in an operation for one that cannot begin it; @text says how much.
 */
bool can_pin(std::string *text);

} // namespace inctorch

#endif
