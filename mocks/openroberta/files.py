"""Files of the reference lab: programs for robots, and files for updates."""

from pathlib import Path

from mocks.openroberta.known_robot import Program

PROGRAMS = {
    "NEPOprog.bin": bytes(range(256)),
    "hello.toy": b"say Hello!\nwait 0.5\nexit 0\n",
    "drive.toy": b"motor A 50\nmotor B 50\nwait 1\nmotor A 0\nmotor B 0\nsay there\n",
    "fails.toy": b"say oh no\nexit 2\n",
    "hello.py": b'print("Hello!")\n',
    "Hello.java": b"class Hello {\n"
    b'    public static void main(String[] a) { System.out.println("Hello!"); }\n}\n',
    "hello.c": b'#include <stdio.h>\nint main(void) { puts("Hello!"); return 0; }\n',
}
"""Programs by name. The default is the first: it has every byte, so that any loss shows."""

UPDATES = {
    "v1/runtime": Program("EV3Runtime.jar", b"PK\x03\x04runtime\r\n\0\xff" * 9),
    "v1/ev3menu": Program("EV3Menu.jar", b"PK\x03\x04menu\x1a"),
    "ev3dev/runtime": Program("roberta.zip", b"PK\x05\x06" + bytes(18)),
}
"""Update files, by path below /rest/update/."""


def programs_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder. Raises ValueError if there are none."""
    found = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    if not found:
        raise ValueError(f"{folder} has no programs")
    return found
