"""What csrc/spinners.h declares, as cffi hands it out."""

from typing import NewType

Spinners = NewType("Spinners", object)

class FFI:
    NULL: Spinners
    errno: int

class Lib:
    def spinners_start(self, count: int, /) -> Spinners: ...
    def spinners_unpark(self, spinners: Spinners, /) -> None: ...
    def spinners_park(self, spinners: Spinners, /) -> None: ...
    def spinners_work(self, spinners: Spinners, /) -> int: ...
    def spinners_thread_id(self, spinners: Spinners, index: int, /) -> int: ...
    def spinners_stop(self, spinners: Spinners, /) -> None: ...

ffi: FFI
lib: Lib
