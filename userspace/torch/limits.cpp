// SPDX-License-Identifier: LGPL-2.1-or-later
/* Limits of this process: the same as libinc-mpi's, userspace/mpi/agree.c. */
#include "limits.hpp"

#include <cstdlib>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace inctorch {
namespace {

constexpr ino_t first_user_ns = 0xEFFFFFFDU;	/* the kernel's include/linux/proc_ns.h */
constexpr rlim_t least_pages = 16;	/* that a rank may pin: some blocks of its operations */

/* As torchrun says it, or who has started the ranks instead. */
rlim_t ranks_here()
{
	for (const char *name : { "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
				  "MPI_LOCALNRANKS" }) {
		const char *text = getenv(name);
		rlim_t n = text ? strtoul(text, nullptr, 10) : 0;

		if (n)
			return n;
	}
	return 1;
}

/* Has it CAP_IPC_LOCK as the kernel asks for it, outside of all user namespaces but the first? */
bool may_pin_all()
{
	__user_cap_header_struct head{};
	__user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3]{};
	struct stat ns;

	head.version = _LINUX_CAPABILITY_VERSION_3;
	return !syscall(SYS_capget, &head, caps) &&
	       caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK) &&
	       !stat("/proc/self/ns/user", &ns) && ns.st_ino == first_user_ns;
}

} // namespace

bool can_pin(std::string *text)
{
	rlim_t ranks = ranks_here(), least = least_pages * static_cast<rlim_t>(getpagesize());
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur / ranks >= least || may_pin_all())
		return true;
	*text = "RLIMIT_MEMLOCK is " + std::to_string(limit.rlim_cur) + " bytes, for " +
		std::to_string(ranks) + " ranks on this host: expected " + std::to_string(least) +
		" for each";
	return false;
}

} // namespace inctorch
