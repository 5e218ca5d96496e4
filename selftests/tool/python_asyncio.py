# SPDX-License-Identifier: GPL-2.0-only
"""Requests of the Python package that are awaited."""
import asyncio
import errno
import threading

import inc
from python_expect import expect, test
from python_fake import group


@test
def awaited_out_of_order():
    async def main():
        fake, g = group()
        first, second, third = g.iallreduce(bytearray(8)), g.ibarrier(), g.ibarrier()
        tasks = [asyncio.ensure_future(wait(request)) for request in (first, second)]
        await asyncio.sleep(0.2)
        looked = len(fake.calls)
        await asyncio.sleep(0.3)
        expect("looks at what has not ended", len(fake.calls), looked)
        fake.end(2)
        fake.end(3)
        await asyncio.wait_for(tasks[1], 30)
        expect("first", (tasks[0].done(), first.done), (False, False))
        looked = len(fake.calls)
        await asyncio.sleep(0.3)
        expect("looks after all that has ended was collected", len(fake.calls), looked)
        fake.end(1, -errno.ECONNRESET)
        try:
            await asyncio.wait_for(tasks[0], 30)
            raise AssertionError("nothing was raised")
        except inc.Error as error:
            expect("errno", error.errno, errno.ECONNRESET)
        await third
        expect("readers", g._readers, {})
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())


@test
def cancelled_tasks_leave_the_operation():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        try:
            await asyncio.wait_for(wait(request), 0.2)
            raise AssertionError("nothing was raised")
        except asyncio.TimeoutError:
            pass
        expect("readers, closed", (g._readers, fake.closed), ({}, None))
        fake.end(1)
        await request
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())


@test
def an_abort_wakes_who_awaits():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        asyncio.get_running_loop().call_later(0.2, g.abort)
        try:
            await asyncio.wait_for(wait(request), 30)
            raise AssertionError("nothing was raised")
        except inc.Error as error:
            expect("errno", error.errno, errno.ECANCELED)
        expect("closed", (fake.closed, g._readers), ("abort", {}))

    async def wait(request):
        await request

    asyncio.run(main())


@test
def a_thread_that_waits_wakes_who_awaits():
    async def main():
        fake, g = group()
        request = g.iallreduce(bytearray(8))
        thread = threading.Thread(target=request.wait)
        thread.start()
        await asyncio.sleep(0.2)
        fake.end_later(0.1, 1)
        await asyncio.wait_for(wait(request), 30)
        thread.join()
        g.leave()

    async def wait(request):
        await request

    asyncio.run(main())
