"""Error output of crashing programs in several languages, and its most useful line."""

import pytest

from conformance.harness.crash_output import (
    MAX_LENGTH,
    explaining_line,
    has_unhandled_error,
    quote,
)
from conformance.harness.process import TAIL, Tail

PYTHON = """cycle 1
Traceback (most recent call last):
  File "robot.py", line 7, in <module>
    main()
    ~~~~^^
  File "robot.py", line 4, in main
    return table["x"]
           ~~~~~^^^^^
KeyError: 'x'
"""
CHAINED = PYTHON + (
    "\nDuring handling of the above exception, another exception occurred:\n\n"
    'Traceback (most recent call last):\n  File "robot.py", line 9, in <module>\n'
    "    fall()\nrobot.Fallen: it fell\n"
)
NODE = """/home/robot/index.js:3
    throw new TypeError("x is not a function");
    ^

TypeError: x is not a function
    at serve (/home/robot/index.js:3:11)
    at Object.<anonymous> (/home/robot/index.js:9:1)

Node.js v20.11.1
"""
RUST = """INFO simulator listens
thread 'main' panicked at src/main.rs:41:18:
called `Option::unwrap()` on a `None` value
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
OLD_RUST = "thread 'main' panicked at 'no device 3', src/main.rs:41:18\nnote: run with `RUST_\n"
JAVA = """Exception in thread "main" java.lang.RuntimeException: cannot serve
\tat Robot.main(Robot.java:5)
Caused by: java.io.IOException: closed
\tat Robot.read(Robot.java:9)
\t... 1 more
Caused by: java.net.SocketException: reset
\t... 2 more
"""
RUST_CAUSED = (
    RUST.partition("note")[0]
    + """
Caused by:
    0: failed deserializing JSON
    1: invalid type: map, expected a tuple of size 2 at line 1 column 21
"""
)
RUST_ERROR = "INFO loaded\nError: cannot read the program\n\nCaused by:\n    no such file\n"
C = "server: main.c:12: read_frame: Assertion `size < 4096' failed.\nAborted (core dumped)\n"
ASAN = """=================================================================
==812==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x4f
READ of size 1 at 0x602 thread T0
    #0 0x4f in read_frame main.c:12
SUMMARY: AddressSanitizer: heap-buffer-overflow main.c:12 in read_frame
"""
CPP = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  no port 21\n"
GO = """2026/01/01 listening
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
\t/tmp/main.go:8 +0x1d
exit status 2
"""


SCRIPTS = {
    "ready\nno device 3 at robot.pl line 30, <STDIN> line 2.\n": "no device 3 at robot.pl line 30",
    "robot.rb:3:in `serve': no device 3 (RuntimeError)\n\tfrom robot.rb:7:in `<main>'\n": (
        "robot.rb:3:in `serve': no device 3 (RuntimeError)"
    ),
    "lua: robot.lua:3: no device 3\nstack traceback:\n\t[C]: in function 'error'\n\t[C]: in ?\n": (
        "lua: robot.lua:3: no device 3"
    ),
    'no device 3\n    while executing\n"error {no device 3}"\n    (file "robot.tcl" line 1)\n': (
        "no device 3"
    ),
    "PHP Fatal error:  Uncaught Exception: no device 3 in robot.php:3\n#0 {main}\n  thrown\n": (
        "PHP Fatal error: Uncaught Exception: no device 3 in robot.php:3"
    ),
    'Fatal error: exception Failure("no device 3")\n': "Fatal error: exception Failure",
    "** (RuntimeError) no device 3\n    robot.exs:3: (file)\n": "** (RuntimeError) no device 3",
}
"""Unhandled errors of Perl, Ruby, Lua, Tcl, PHP, OCaml and Elixir, with the explaining lines."""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (PYTHON, "KeyError: 'x'"),
        (CHAINED, "robot.Fallen: it fell"),
        (NODE, "TypeError: x is not a function"),
        (
            RUST,
            "thread 'main' panicked at src/main.rs:41:18: "
            "called `Option::unwrap()` on a `None` value",
        ),
        (
            RUST_CAUSED,
            "panicked at src/main.rs:41:18: called `Option::unwrap()` on a `None` value caused by: "
            "invalid type: map, expected a tuple of size 2 at line 1 column 21",
        ),
        (RUST_ERROR, "Error: cannot read the program caused by: no such file"),
        (OLD_RUST, "thread 'main' panicked at 'no device 3', src/main.rs:41:18"),
        (JAVA, "Caused by: java.net.SocketException: reset"),
        (JAVA.partition("Caused")[0], 'Exception in thread "main" java.lang.RuntimeException: '),
        (C, "server: main.c:12: read_frame: Assertion `size < 4096' failed."),
        (ASAN, "==812==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x4f"),
        (
            CPP,
            "terminate called after throwing an instance of 'std::out_of_range' what(): no port 21",
        ),
        (GO, "panic: runtime error: index out of range [3] with length 3"),
        *SCRIPTS.items(),
        ("cycle 1\ncaught signal 11\n" + "cycle 2\n" * 3, "caught signal 11"),
        ("cycle 1\nSegmentation fault at 0x0\ncycle 2\n", "Segmentation fault at 0x0"),
        ("cycle 1\ncycle 2\n\n", "cycle 2"),
        ("cycle 1\nparse: class not ready\nclosing\n", "parse: class not ready"),
        ("", ""),
    ],
)
def test_the_line_that_tells(output: str, line: str) -> None:
    assert explaining_line(output).startswith(line.strip())
    assert "\n" not in explaining_line(output)


MONO = (
    "\nUnhandled Exception:\nSystem.IO.IOException: connection lost\n  at Robot.Main () [0x00000]\n"
)
OTHERS = (
    MONO,
    "Error: unhandled exception: index 3 not in 0 .. 2 [IndexDefect]\n",
    "ERROR: LoadError: KeyError: key 3 not found\n",
    "raised CONSTRAINT_ERROR : robot.adb:7 index check failed\n",
)
"""Unhandled errors of Mono, Nim, Julia and Ada."""


@pytest.mark.parametrize("output", [PYTHON, NODE, RUST, JAVA, CPP, GO, *SCRIPTS, *OTHERS])
def test_an_unhandled_error_is_a_crash(output: str) -> None:
    assert has_unhandled_error(output)


@pytest.mark.parametrize("output", ["", "bad level at line 3\n", "level Trace\nclosing\n"])
def test_an_exit_on_purpose_is_no_crash(output: str) -> None:
    assert not has_unhandled_error(output)


def test_it_is_bounded() -> None:
    assert len(explaining_line("x" * 100_000)) == MAX_LENGTH


def test_a_long_error_does_not_hide_its_reason() -> None:
    line = explaining_line("Error: " + "x" * 1000 + "\n\nCaused by:\n    0: open\n    1: the end\n")
    assert len(line) <= MAX_LENGTH
    assert line.endswith("xxx caused by: the end")


@pytest.mark.parametrize(
    "output", [PYTHON, CHAINED, NODE, RUST, JAVA, C, ASAN, CPP, GO, "too long\n"]
)
def test_a_reason_is_quoted_as_one(output: str) -> None:
    assert quote(explaining_line(output)) == f"it said: {explaining_line(output)}"


@pytest.mark.parametrize(
    "line", ["1: connected from 127.0.0.1:4242", "cycle 2", "INFO Ping 7", "ready"]
)
def test_a_line_of_a_log_is_no_reason(line: str) -> None:
    assert quote(line) == f"the last line of its log was: {line}"


def test_an_error_before_a_long_trace_is_kept() -> None:
    """A Java stack overflow prints a thousand lines, which would push the error out."""
    overflow = b'Exception in thread "main" java.lang.StackOverflowError\n'
    trace = b"\tat Robot.deeper(Robot.java:12)\n" * TAIL
    tail = Tail()
    for line in (b"cycle\n" * TAIL + overflow + trace).splitlines(keepends=True):
        tail.add(line)
    assert explaining_line(tail.text) == overflow.decode().strip()
    assert len(tail.text) < 3 * TAIL
    tail.add(b"it goes on\n" * TAIL)
    assert explaining_line(tail.text) == "it goes on"


def test_a_line_is_complete_with_its_line_feed() -> None:
    """The only line of a program counts too, as soon as it has ended."""
    tail = Tail()
    tail.add(b"warning: lx was cl")
    assert tail.complete_lines == []
    tail.add(b"amped\n")
    assert tail.complete_lines == ["warning: lx was clamped"]
    tail.add(b"warning: ly")
    assert tail.complete_lines == ["warning: lx was clamped"]
