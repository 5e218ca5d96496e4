// SPDX-License-Identifier: LGPL-2.1-or-later
/* Errors of INC as MPI's: a class that a program knows, a code with the text of the last one. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "pmpi.h"

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;

static int class_of(int err)
{
	switch (err) {
	case -EMSGSIZE:
		return MPI_ERR_TRUNCATE;
	case -ENOMEM:
		return MPI_ERR_NO_MEM;
	case -EFAULT:
		return MPI_ERR_BUFFER;
	default:
		return MPI_ERR_OTHER;
	}
}

/* MPICH prints its own text for codes of its own classes: the class is another one there. */
static int class_for_code(int class)
{
#ifdef MPICH_NAME
	static int own = -1;

	if (own < 0 && PMPI_Add_error_class(&own) != MPI_SUCCESS)
		own = class;
	return own;
#else
	return class;
#endif
}

/* One code per class, made when it is first needed; the class itself if MPI makes none. */
static int code_of(int class, const char *text)
{
	static int codes[4], classes[4], nr_codes;
	char string[MPI_MAX_ERROR_STRING];
	int i;

	for (i = 0; i < nr_codes && classes[i] != class; i++)
		;
	if (i == nr_codes) {
		if (PMPI_Add_error_code(class_for_code(class), &codes[i]) != MPI_SUCCESS)
			return class;
		classes[i] = class;
		nr_codes++;
	}
	snprintf(string, sizeof(string), "INC: %s", text);
	PMPI_Add_error_string(codes[i], string);
	return codes[i];
}

static int code_for(int err, const char *text)
{
	int code;

	pthread_mutex_lock(&code_lock);
	code = code_of(class_of(err), text);
	pthread_mutex_unlock(&code_lock);
	return code;
}

int pmpi_raise(struct pmpi_comm *c, int err, const char *text)
{
	int code = code_for(err, text);

	if (!c->freed)
		PMPI_Comm_call_errhandler(c->comm, code);
	return code;
}

int pmpi_fail(struct pmpi_comm *c, int err, const char *text)
{
	return c->below ? code_for(err, text) : pmpi_raise(c, err, text);
}
