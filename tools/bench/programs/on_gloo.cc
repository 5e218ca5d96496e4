// SPDX-License-Identifier: GPL-2.0-only
// The benchmark through Gloo, over TCP. Ranks meet in files.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "bench.h"

namespace {

std::shared_ptr<gloo::rendezvous::Context> context;
bool halving;

// The halving-doubling algorithm is made for one buffer, in which it also leaves the result.
std::unique_ptr<gloo::AllreduceHalvingDoubling<float>> prepared;
float *prepared_for;
size_t prepared_count;

void join(bench_place *place)
{
	gloo::transport::tcp::attr attr;

	attr.iface = place->device ? place->device : "eth0";
	halving = place->algorithm && !strcmp(place->algorithm, "halving_doubling");
	context = std::make_shared<gloo::rendezvous::Context>(place->rank, place->size);
	gloo::rendezvous::FileStore store(place->dir ? place->dir : ".");
	auto device = gloo::transport::tcp::CreateDevice(attr);
	context->connectFullMesh(store, device);
}

void allreduce(const float *send, float *recv, size_t count)
{
	if (halving) {
		if (prepared_for != recv || prepared_count != count) {
			prepared.reset(new gloo::AllreduceHalvingDoubling<float>(context, {recv}, count));
			prepared_for = recv;
			prepared_count = count;
		}
		memcpy(recv, send, count * sizeof(float));
		prepared->run();
		return;
	}
	gloo::AllreduceOptions opts(context);
	opts.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
	opts.setInput(const_cast<float *>(send), count);
	opts.setOutput(recv, count);
	opts.setReduceFunction(
		static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
	gloo::allreduce(opts);
}

void barrier()
{
	gloo::BarrierOptions opts(context);

	gloo::barrier(opts);
}

void stop()
{
	barrier();
	prepared.reset();
}

} // namespace

extern "C" const bench_library library;
const bench_library library = {"gloo", nullptr, join, allreduce, barrier, nullptr, nullptr, stop};
