// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The component: which communicators get a module, and what is done once per process.
 *
 * Whether a communicator has one must be the same at all of its ranks. Each process that has the
 * component, and not turned it off (INC_MPI, its priority), says so in what Open MPI exchanges when
 * a job begins (modex); where one of a communicator's processes has not, or is of another job,
 * nobody has a module.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "coll.h"

#include <ompi/attribute/attribute.h>
#include <ompi/group/group.h>
#include <ompi/proc/proc.h>
#include <ompi/runtime/mpiruntime.h>
#include <opal/mca/pmix/pmix.h>
#include <opal/util/info.h>

#define PRIORITY	80	/* tuned has 30, han 35 and libnbc 10 by default */
#define MODEX_KEY	"coll.inc.build"
#define INFO_KEY	"inc"	/* of a communicator: "off" */

static struct incmpi_settings settings;
static int priority = PRIORITY;
static bool is_on;
static bool has_begun;
static bool has_end = true;

/* ---- Once per process ------------------------------------------------------ */

static void print_report(struct coll_module *m)
{
	uint64_t own[INCMPI_NR_COUNTS], sums[INCMPI_NR_COUNTS];

	incmpi_counts(own);
	if (COLL_BELOW(m, m->c->comm, coll_reduce, own, sums, INCMPI_NR_COUNTS, MPI_UINT64_T,
		       MPI_SUM, 0, m->c->comm))
		return;
	if (!m->c->rank)
		incmpi_report(stderr, sums, incmpi_comm_size(m->c->mid));
}

/* MPI_Finalize() begins by this: attributes of MPI_COMM_SELF go (MPI-3.1, 8.7.1). */
static int report_at_end(MPI_Comm self, int keyval, void *value, void *extra)
{
	struct coll_module *world = coll_module_of_world();

	(void)self;
	(void)keyval;
	(void)value;
	(void)extra;
	if (world && incmpi_comm_reports(world->c->mid))
		print_report(world);
	return MPI_SUCCESS;
}

/* A copy of MPI_COMM_SELF does not get it. */
static int leave_end(MPI_Comm self, int keyval, void *extra, void *value, void *copy, int *flag,
		     MPI_Comm to)
{
	(void)self;
	(void)keyval;
	(void)extra;
	(void)value;
	(void)copy;
	(void)to;
	*flag = 0;
	return MPI_SUCCESS;
}

/*
 * The attributes of the program may have callbacks that do collectives, before or after the report,
 * which is one: ours is the first that is set at any rank, so it is the last that goes. MPI has not
 * begun yet, and functions of MPI refuse to work.
 */
void coll_set_end(void)
{
	ompi_attribute_fn_ptr_union_t end = { .attr_communicator_delete_fn = report_at_end };
	ompi_attribute_fn_ptr_union_t copy = { .attr_communicator_copy_fn = leave_end };
	int keyval;

	has_end = !ompi_attr_create_keyval(COMM_ATTR, copy, end, &keyval, NULL, 0, NULL) &&
		  !ompi_attr_set_c(COMM_ATTR, MPI_COMM_SELF, &MPI_COMM_SELF->c_keyhash, keyval,
				   NULL, false);
}

static void open_once(void)
{
	if (!pmpi_types_init() || !has_end)
		incmpi_cannot_join();
	incmpi_init(&pmpi_skin, &settings, pmpi_requests_init(),
		    ompi_comm_rank(MPI_COMM_WORLD) == 0);
}

bool coll_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int flag;

	if (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) {
		if (PMPI_Initialized(&flag) || !flag)
			return false;
		pthread_once(&once, open_once);
		__atomic_store_n(&has_begun, true, __ATOMIC_RELEASE);
	}
	/* before the first callback, at all ranks */
	return ompi_mpi_state < OMPI_MPI_STATE_FINALIZE_STARTED;
}

/* ---- Which communicators --------------------------------------------------- */

/* Which one it is: processes with another one do without it, as those that have none. */
static uint32_t own_build(void)
{
	return (uint32_t)incmpi_build();
}

static bool has_component(opal_process_name_t name)
{
	uint32_t value = 0, *at = &value;
	int ret;

	if (name.jobid != OPAL_PROC_MY_NAME.jobid)
		return false;
	OPAL_MODEX_RECV_VALUE_IMMEDIATE(ret, MODEX_KEY, &name, &at, OPAL_UINT32);
	return ret == OPAL_SUCCESS && value == own_build();
}

static bool all_have_component(struct ompi_communicator_t *comm)
{
	for (int i = 0; i < ompi_comm_size(comm); i++)
		if (!has_component(ompi_group_get_proc_name(comm->c_local_group, i)))
			return false;
	return true;
}

static bool is_unwanted(struct ompi_communicator_t *comm)
{
	char value[8] = "";	/* more than "off", which others begin with */
	int found = 0;

	return comm->super.s_info &&
	       !opal_info_get(comm->super.s_info, INFO_KEY, sizeof(value) - 1, value, &found) &&
	       found && !strcmp(value, "off");
}

static mca_coll_base_module_t *query_comm(struct ompi_communicator_t *comm, int *prio)
{
	struct coll_module *m;

	if (!is_on || OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2 ||
	    is_unwanted(comm) || !all_have_component(comm))
		return NULL;
	m = coll_module_new(comm);
	if (!m)
		return NULL;
	*prio = priority;
	return &m->super;
}

/* ---- The component --------------------------------------------------------- */

/* libinc-mpi.so is preloaded: it does what this would. */
static bool is_preloaded(void)
{
	Dl_info own, first;
	void *counter = dlsym(RTLD_DEFAULT, "inc_mpi_counter");

	return counter && dladdr(counter, &first) && dladdr(&settings, &own) &&
	       first.dli_fbase != own.dli_fbase;
}

static int register_parameters(void)
{
	int ret = mca_base_component_var_register(&mca_coll_inc_component.collm_version, "priority",
						  "Priority of collectives in the network, libinc-mpi(7)",
						  MCA_BASE_VAR_TYPE_INT, NULL, 0, 0,
						  OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
						  &priority);

	return ret < 0 ? ret : OMPI_SUCCESS;
}

/*
 * Does MPI_Init() wait until each process has what all have said? Else one finds it and another one
 * does not. To ask those that have not said it yet would take seconds where the component is not.
 */
static bool all_is_exchanged(void)
{
	return opal_pmix_collect_all_data && !opal_pmix_base_async_modex;
}

static int open_component(void)
{
	uint32_t value = own_build();
	int ret;

	incmpi_settings_read(&settings);
	is_on = settings.mode != INCMPI_OFF && priority >= 0 && !is_preloaded() &&
		all_is_exchanged();
	if (!is_on)
		return OMPI_SUCCESS;
	OPAL_MODEX_SEND_VALUE(ret, OPAL_PMIX_GLOBAL, MODEX_KEY, &value, OPAL_UINT32);
	is_on = ret == OPAL_SUCCESS;
	return OMPI_SUCCESS;
}

/* Attributes of the program's that go after ours may wait for requests: they have ended by now. */
static int close_component(void)
{
	if (has_begun)
		pmpi_requests_exit();
	incmpi_wait_left();
	return OMPI_SUCCESS;
}

static int query_init(bool progress_threads, bool threads)
{
	(void)progress_threads;
	(void)threads;
	return OMPI_SUCCESS;
}

const mca_coll_base_component_t mca_coll_inc_component = {
	.collm_version = {
		MCA_COLL_BASE_VERSION_2_0_0,
		.mca_component_name = "inc",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
				      OMPI_RELEASE_VERSION),
		.mca_open_component = open_component,
		.mca_close_component = close_component,
		.mca_register_component_params = register_parameters,
	},
	.collm_data = { MCA_BASE_METADATA_PARAM_NONE },
	.collm_init_query = query_init,
	.collm_comm_query = query_comm,
};
