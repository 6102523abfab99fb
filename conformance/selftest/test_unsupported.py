"""IUTs with missing optional parts: no setup of a test uses these parts."""

from importlib import resources

from conformance.selftest.driving import SIMULATOR, TIMINGS, Place

PARTS = {
    "battery": "SetBatteryCapacity",
    "controller": "ControllerUpdate",
    "devices": "ConfigureDevice",
    "sdcard": "USD",
    "touch": "Touch",
}
"""Optional parts of a simulator, and the command of each part."""


def test_no_setup_uses_what_is_left_out(place: Place) -> None:
    """An IUT that crashes on every command of its unsupported parts gets no such command."""
    iut = place.simulator(f"""
for command in commands():
    if set(command) & {set(PARTS.values())}:
        os.abort()
    if "Handshake" in command:
        say(HELLO, SIGNATURE, "Ready")
    if command == "StartExecution":
        say("Exited")
        break
""")
    left_out = "".join(f'{part} = "there is none"\n' for part in PARTS)
    place.file("conformance.toml", f'[iut]\nrole = "{SIMULATOR}"\n[unsupported]\n{left_out}')
    done = place.run(SIMULATOR, *TIMINGS, "-k", "test_setup or test_inputs", iut=iut)
    assert done.code == 0
    assert not done.report["causes"]
    assert "pass" in done.tests.values()


def test_no_robot_is_told_of_an_update_that_it_lacks(place: Place) -> None:
    """A robot that crashes on an update survives, and its other requirements are exercised."""
    place.program(
        "import os, sys\n"
        "from mocks.__main__ import play\n"
        "from mocks.openroberta import robot\n"
        "robot.Robot.updates = lambda self: os._exit(9)\n"
        "play(sys.argv[1:])\n"
    )
    usual = (resources.files("mocks.openroberta") / "robot.toml").read_text()
    changed = usual.replace('"-m", "mocks"', f'"{place.folder / "iut.py"}"')
    assert changed != usual
    place.file("conformance.toml", f'{changed}\n[unsupported]\nupdate = "there is none"\n')
    done = place.run(
        "openroberta/robot", "-k", "test_update or test_messages or when_registered_again"
    )
    assert done.code == 0
    assert not done.report["causes"]
    assert done.verdict("update.gets") == "not-applicable"
    assert done.verdict("http.messages") == "pass"
