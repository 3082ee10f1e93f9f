"""What a Python user would pick instead of a scope, doing the same work each.

Each allocates zeroed memory of the same size, touches it by the same stores and releases it by the
quickest means its own documentation offers. Types that could be prepared beforehand are.
"""

from suites.rows import Row

PEERS = (
    Row(
        "mmap_close",
        "mmap.mmap: an anonymous private map, closed",
        setup="""
            from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

            flags = MAP_ANONYMOUS | MAP_PRIVATE
        """,
        body="""
            memory = mmap(-1, size, flags)
            touch(memory)
            memory.close()
        """,
    ),
    Row(
        "mmap_finalize",
        "an mmap closed by weakref.finalize when its holder dies",
        setup="""
            from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
            from weakref import finalize

            flags = MAP_ANONYMOUS | MAP_PRIVATE

            class Holder:
                __slots__ = ("__weakref__", "memory")
        """,
        body="""
            holder = Holder()
            holder.memory = memory = mmap(-1, size, flags)
            finalize(holder, memory.close)
            touch(memory)
            del holder
        """,
    ),
    Row(
        "cffi_new",
        "ffi.new, released by ffi.release",
        setup="""
            from cffi import FFI

            ffi = FFI()
            new, release, array = ffi.new, ffi.release, ffi.typeof("unsigned char[]")
        """,
        body="""
            memory = new(array, size)
            touch(memory)
            release(memory)
        """,
        fill="ffi.memmove(memory, pattern, size)",
        requires="cffi",
    ),
    Row(
        "cffi_gc",
        "ffi.gc over calloc and free, dropped",
        setup="""
            from cffi import FFI

            ffi = FFI()
            ffi.cdef("unsigned char *calloc(size_t, size_t); void free(void *);")
            libc = ffi.dlopen(None)
            calloc, free, gc = libc.calloc, libc.free, ffi.gc
        """,
        body="""
            memory = gc(calloc(1, size), free)
            touch(memory)
            del memory
        """,
        fill="ffi.memmove(memory, pattern, size)",
        requires="cffi",
    ),
    Row(
        "ctypes_string_buffer",
        "ctypes.create_string_buffer, dropped",
        setup="from ctypes import create_string_buffer",
        body="""
            memory = create_string_buffer(size)
            touch(memory)
            del memory
        """,
        fill="memory.raw = pattern",
    ),
    Row(
        "bytearray",
        "bytearray, dropped",
        body="""
            memory = bytearray(size)
            touch(memory)
            del memory
        """,
        fill="memoryview(memory)[:] = pattern",  # its own assignment makes two copies
    ),
    Row(
        "numpy_zeros",
        "numpy.zeros of bytes, dropped",
        setup="""
            from numpy import dtype, zeros

            u1 = dtype("u1")
        """,
        body="""
            memory = zeros(size, u1)
            touch(memory)
            del memory
        """,
        fill="memory.data[:] = pattern",
        requires="numpy",
    ),
    Row(
        "shared_memory",
        "multiprocessing.shared_memory: created, closed, unlinked",
        setup="from multiprocessing.shared_memory import SharedMemory",
        body="""
            block = SharedMemory(None, True, size)
            memory = block.buf
            touch(memory)
            block.close()
            block.unlink()
        """,
        fill="memory[:size] = pattern",
    ),
)
