"""Threads in the allocation counters: those that come and go, and those that are left out."""

import sys
import sysconfig
import threading

import pytest

from stress._probe import (
    AllocRecorder,
    exclude_thread,
    listed_threads,
    thread_allocated_bytes,
    thread_allocations,
    total_allocated_bytes,
)

SIZE = 1_000_000
#: What the interpreter allocates besides, in a line or two of Python.
SLACK = 10_000
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
#: What a thread itself takes, and a little.
THREAD = 80_000 if FREE_THREADED else 40_000


@pytest.fixture
def recorder():
    return AllocRecorder()


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_the_total_is_that_of_all_threads_and_a_thread_s_own_is_not(recorder):
    seen = []

    def other():
        before = thread_allocated_bytes(), thread_allocations()
        bytes(SIZE)
        seen.append((thread_allocated_bytes() - before[0], thread_allocations() - before[1]))

    recorder.start()
    total, own = total_allocated_bytes(), thread_allocated_bytes()
    in_thread(other)
    total, own = total_allocated_bytes() - total, thread_allocated_bytes() - own
    recorder.stop()
    assert SIZE < seen[0][0] < SIZE + SLACK
    assert seen[0][1] < 20
    assert own < THREAD
    assert SIZE + own < total < SIZE + own + THREAD


@pytest.mark.long
def test_threads_by_the_thousand_are_counted_as_if_inline(recorder):
    # Without the GIL a thread itself takes 25 KB, with it 4 to 7.
    size, threads = (4 * SIZE, 2_500) if FREE_THREADED else (SIZE, 10_000)
    recorder.start()
    for _ in range(100):
        bytearray(size)
    recorder.stop()
    inline = recorder.reading()[0] / 100
    recorder.start()
    for _ in range(threads):
        in_thread(lambda: bytearray(size))
    recorder.stop()
    assert recorder.reading()[0] / threads == pytest.approx(inline, rel=0.01)


def test_the_total_never_decreases_while_threads_come_and_go(recorder):
    threads = 300
    done = threading.Event()

    def come_and_go():
        for _ in range(threads):
            in_thread(lambda: bytes(SIZE))
        done.set()

    def others():
        return total_allocated_bytes() - thread_allocated_bytes()

    recorder.start()
    before = others()
    driver = threading.Thread(target=come_and_go)
    driver.start()
    falls = reads = 0
    last = total_allocated_bytes()
    while not done.is_set():
        now = total_allocated_bytes()
        falls += now < last
        reads += 1
        last = now
    driver.join()
    handed_out = others() - before
    recorder.stop()
    assert falls == 0
    assert reads > 0
    # Neither lost nor twice: with one thread more or less it would be off by SIZE.
    besides = 30_000 if FREE_THREADED else SLACK
    assert threads * SIZE < handed_out < threads * (SIZE + besides)


def test_threads_that_allocate_at_the_same_time_lose_nothing(recorder):
    threads, allocations = 8, 2_000
    start = threading.Barrier(threads)
    own = []

    def work():
        start.wait()
        before = thread_allocated_bytes()
        for _ in range(allocations):
            bytes(1000)
        own.append(thread_allocated_bytes() - before)

    recorder.start()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    recorder.stop()
    expected = allocations * sys.getsizeof(bytes(1000))
    assert all(expected <= nbytes < 2 * expected for nbytes in own)
    assert sum(own) < recorder.reading()[0] < sum(own) + threads * THREAD


def test_an_excluded_thread_is_in_no_total_and_knows_its_own(recorder):
    own = []

    def other():
        exclude_thread()
        before = thread_allocated_bytes()
        bytes(SIZE)
        own.append(thread_allocated_bytes() - before)

    recorder.start()
    in_thread(other)
    recorder.stop()
    assert recorder.reading()[0] < THREAD
    assert SIZE < own[0] < SIZE + SLACK


def test_a_thread_is_listed_while_it_lives(recorder):
    seen = []

    def other():
        bytes(SIZE)
        seen.append((threading.get_ident(), {ident: n for _, ident, n in listed_threads()}))

    recorder.start()
    bytes(1)
    in_thread(other)
    recorder.stop()
    ident, listed = seen[0]
    assert SIZE < listed[ident] < SIZE + THREAD
    assert threading.get_ident() in listed


def test_a_number_is_not_given_to_a_second_thread(recorder):
    numbers = []

    def other():
        bytes(1)
        own = threading.get_ident()
        numbers.extend(number for number, ident, _ in listed_threads() if ident == own)

    recorder.start()
    for _ in range(50):
        in_thread(other)
    recorder.stop()
    assert len(set(numbers)) == len(numbers) == 50


def test_a_forked_child_goes_on_counting_with_threads_of_its_own(run_python):
    said = run_python(
        "import os, threading, warnings\n"
        "from stress._probe import *\n"
        "warnings.simplefilter('ignore')  # of the fork beside a thread\n"
        "recorder = AllocRecorder()\n"
        "recorder.start()\n"
        "stay, staying = threading.Event(), threading.Event()\n"
        "def other(): bytes(1_000_000); staying.set(); stay.wait()\n"
        "thread = threading.Thread(target=other)\n"
        "thread.start()\n"
        "staying.wait()\n"
        "before = total_allocated_bytes()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    assert total_allocated_bytes() >= before\n"
        "    thread = threading.Thread(target=bytes, args=(2_000_000,))\n"
        "    thread.start(); thread.join()\n"
        "    assert 2_000_000 <= total_allocated_bytes() - before < 2_100_000\n"
        "    assert len(listed_threads()) <= 2\n"
        "    print('held', flush=True)\n"
        "    os._exit(0)\n"
        "_, status = os.waitpid(child, 0)\n"
        "stay.set()\n"
        "thread.join()\n"
        "print(status)"
    )
    assert said == ["held", "0"]


@pytest.mark.skipif(not FREE_THREADED, reason="the GIL keeps other threads out of the allocators")
def test_without_the_gil_counters_are_refused_beside_other_threads(run_python):
    (said,) = run_python(
        "import threading\n"
        "from stress._probe import *\n"
        "stay = threading.Event()\n"
        "thread = threading.Thread(target=stay.wait)\n"
        "thread.start()\n"
        "try: AllocRecorder()\n"
        "except RuntimeError as error: print(error)\n"
        "stay.set()\n"
        "thread.join()"
    )
    assert said == (
        "without the GIL, allocation counters have to be put in place before the first thread is"
        " started; found 1 threads"
    )
