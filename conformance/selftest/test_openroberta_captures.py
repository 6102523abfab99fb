"""The openroberta codec, and its oracle for conversations of several connections."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.definitions import locations, protocols
from conformance.generation import valid
from conformance.judging import captures
from conformance.judging.judge import Judge
from conformance.openroberta import message_names
from conformance.openroberta.bodies import guess_object, json_object
from conformance.openroberta.codec import (
    LIMIT,
    Decoder,
    brief,
    chunks,
    content,
    encode,
    request,
    response,
)
from conformance.openroberta.courses import Step
from conformance.openroberta.message_names import MANDATORY
from conformance.openroberta.oracle import ANSWERS, Conversation, Oracle

FOLDER = locations.folder("captures", "openroberta") or Path()
VIOLATIONS = sorted(FOLDER.glob("violation-*.jsonl"))
PROTOCOL = protocols.load("openroberta")


# The oracle


def test_every_mandatory_field_has_a_violation() -> None:
    shown = {captures.read(path).extra["violates"] for path in VIOLATIONS}
    assert {f"refuses.{name}" for name in MANDATORY} <= shown
    assert {f"data.{name}" for name in MANDATORY} <= shown
    assert shown <= PROTOCOL.requirements.keys()


def test_the_table_of_answers_is_closed() -> None:
    names = {name for _, name in PROTOCOL.messages}
    assert names >= {*ANSWERS, *(name for answers in ANSWERS.values() for name in answers)}


def exchange(asked: Any, answered: Any, robot: Judge, lab: Judge) -> None:
    for judge in (robot, lab):
        for sender, value in (("robot", asked), ("lab", answered)):
            for frame in judge.decode(sender, encode(value)):
                judge.frame(None, sender, frame)


def test_connections_are_one_conversation() -> None:
    """The oracle follows a robot that opens a connection for each request."""
    conversation = Conversation()
    data = dict.fromkeys(MANDATORY, "a")
    plan = [
        ("register", response(200, {}, {"cmd": "repeat"})),
        ("push", response(200, {}, {"cmd": "download"})),
        ("push", response(200, {}, {"cmd": "repeat"})),
    ]
    found = []
    for cmd, answer in plan:
        judges = [
            Judge(PROTOCOL, ["robot"], conversation=conversation),
            Judge(PROTOCOL, ["lab"], conversation=Conversation()),
        ]
        exchange(request("POST", message_names.PUSHCMD, {}, {**data, "cmd": cmd}), answer, *judges)
        found += [finding.requirement for finding in judges[0].findings]
        assert judges[1].findings == []
    assert found == ["run.silent-while-fetching"]


def test_an_answer_that_a_reset_may_have_lost_was_read_if_what_follows_says_so() -> None:
    """After a reset, the robot's next request shows whether it has read the answer."""
    data = dict.fromkeys(MANDATORY, "a")

    def violated(reset: bool, *further: str) -> list[str]:
        conversation, found = Conversation(), list[str]()
        asks = [("register", "repeat"), ("push", "download"), *((cmd, "repeat") for cmd in further)]
        for cmd, answered in asks:
            judge = Judge(PROTOCOL, ["robot"], conversation=conversation)
            path = message_names.DOWNLOAD if cmd == "download" else message_names.PUSHCMD
            asked = request("POST", path, {}, {**data, "cmd": "push" if cmd == "download" else cmd})
            exchange(asked, response(200, {}, {"cmd": answered}), judge, Judge(PROTOCOL, []))
            if reset and answered == "download":
                judge.reset("robot")
            judge.closed(None, "robot")
            found += [finding.requirement for finding in judge.findings]
        return found

    assert violated(True, "push", "push") == []
    assert violated(False, "push") == ["run.silent-while-fetching"]
    assert violated(True, "download", "push") == ["run.silent-while-fetching"]


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    conversation = Conversation()
    first, second = Oracle(conversation), Oracle(conversation)
    data = {**dict.fromkeys(MANDATORY, "a"), "cmd": "register"}
    register = request("POST", message_names.PUSHCMD, {}, data)
    list(first.message("robot", "Register", register))
    list(first.closed("robot"))
    list(first.message("lab", "Abort", response(200, {}, {"cmd": "abort"})))
    list(second.message("robot", "Register", register))
    list(second.message("lab", "Repeat", response(200, {}, {"cmd": "repeat"})))
    assert conversation.robots["a"].step is Step.LINKED


def test_a_lab_that_is_stopped_live_violates_nothing_until_it_is_so_again_and_again() -> None:
    data = {**dict.fromkeys(MANDATORY, "a"), "cmd": "register"}
    register = request("POST", message_names.PUSHCMD, {}, data)

    def found(conversation: Conversation) -> list[tuple[str, bool]]:
        connection = Oracle(conversation)
        list(connection.message("robot", "Register", register))
        return [(each.requirement, each.inconclusive) for each in connection.closed("lab")]

    alone, live = Conversation(), Conversation(running=True)
    assert found(alone) == [("register.aborted", False)]
    assert [found(live) for _ in range(3)] == [
        [("register.aborted", True)],
        [("register.aborted", True)],
        [("register.aborted", False)],
    ]


@pytest.mark.parametrize("what", ["unknown", "broken"])
def test_the_end_of_a_lab_after_bytes_that_are_no_request_is_open(what: str) -> None:
    """These bytes can come on another connection of the same lab."""
    conversation = Conversation()
    waiting, other = Oracle(conversation), Oracle(conversation)
    data = {**dict.fromkeys(MANDATORY, "a"), "cmd": "register"}
    list(waiting.message("robot", "Register", request("POST", message_names.PUSHCMD, {}, data)))
    if what == "unknown":
        list(other.unknown("robot", "Truncated", {"begins": "POST /"}, False))
    else:
        other.broken("robot")
    [finding] = waiting.closed("lab")
    assert (finding.requirement, finding.inconclusive) == ("register.aborted", True)


# The codec alone


def test_a_message_is_told_by_its_body() -> None:
    """The body identifies a message; headers come last in the decoded form."""
    asked = request("POST", message_names.PUSHCMD, {"user-agent": "a"}, {"cmd": "push"})
    [frame] = Decoder().feed(encode(asked))
    assert list(frame.value)[-2:] == ["json", "headers"]
    assert brief(frame.value) == 'POST /rest/pushcmd {"cmd": "push"}'
    assert brief(response(200, {"filename": "a"}, bytes(range(256)))) == "200 OK 256 bytes"
    assert brief(response(500, {}, b"no robot")) == "500 Internal Server Error no robot"


@settings(max_examples=20, database=None)
@given(data=st.data())
def test_what_the_schemas_allow_can_be_encoded(data: st.DataObject) -> None:
    contents = PROTOCOL.schemas.schema("types/robot-data.json")
    body = {**dict.fromkeys(MANDATORY, "a"), **data.draw(valid(contents)), "cmd": "register"}
    [frame] = Decoder().feed(encode(request("POST", message_names.PUSHCMD, {}, body)))
    assert (frame.name, frame.value["json"]) == ("Register", body)


@settings(max_examples=100, database=None)
@given(data=st.binary(max_size=300), size=st.integers(1, 20))
def test_any_bytes_are_bounded(data: bytes, size: int) -> None:
    decoder = Decoder()
    frames = [
        frame for at in range(0, len(data), size) for frame in decoder.feed(data[at : at + size])
    ]
    assert sum(len(frame.raw) for frame in frames + decoder.end()) <= len(data)


@pytest.mark.parametrize("body", [bytes(range(256)), b"", b"\r\n0\r\n\r\n" * 9, b"{}"])
@pytest.mark.parametrize("chunked", [False, True])
def test_files_keep_every_byte(body: bytes, chunked: bool) -> None:
    headers = {"filename": "a"} | ({"transfer-encoding": "chunked"} if chunked else {})
    [frame] = Decoder().feed(encode(response(200, headers, body)))
    assert (frame.name, content(frame.value)) == ("File", body)
    assert Decoder().feed(encode(frame.value)) == [frame]


def test_chunks_of_any_size() -> None:
    head = b"HTTP/1.1 200 OK\r\nFilename: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    [frame] = Decoder().feed(head + chunks([b"ab", b"", b"c"]))
    assert frame.value["base64"] == "YWJj"


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"POST /rest/pushcmd HTTP/1.1\r\nContent-Length: -1\r\nHost: a\r\n\r\n",
        b"POST /rest/pushcmd HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
    ],
)
def test_what_is_no_http(data: bytes) -> None:
    decoder = Decoder()
    [frame] = decoder.feed(data)
    assert (frame.name, frame.requirement) == (None, "http.messages")
    assert decoder.lost
    assert decoder.feed(data) == decoder.end() == []


def test_gigabytes_are_not_held() -> None:
    decoder = Decoder()
    head = b"POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n"
    assert decoder.feed(head) == []
    names = [frame.name for _ in range(20) for frame in decoder.feed(bytes(LIMIT // 10))]
    assert names == ["Oversized"]
    websocket = Decoder()
    upgrade = request("GET", "/ws/", {"connection": "Upgrade", "upgrade": "websocket"})
    frames = websocket.feed(encode(upgrade) + b"\x81\xff" + b"\x7f" * 8)
    assert [frame.name for frame in frames] == ["SensorUpgrade", "Oversized"]


@pytest.mark.parametrize("value", [None, {}, {"status": 200}, {"opcode": "x", "masked": True}])
def test_what_is_no_message(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot encode"):
        encode(value)


def test_a_response_without_an_end_lasts_to_the_end() -> None:
    decoder = Decoder()
    assert decoder.feed(b'HTTP/1.0 200 OK\r\n\r\n{"cmd":') == []
    assert decoder.feed(b'"abort"}') == []
    [frame] = decoder.end()
    assert (frame.name, frame.value["version"]) == ("Abort", "1.0")


def test_a_refused_upgrade_is_followed_by_requests() -> None:
    decoder = Decoder()
    upgrade = request("GET", "/ws/", {"connection": "Upgrade", "upgrade": "websocket"})
    names = [f.name for f in decoder.feed(encode(upgrade) + encode(request("GET", "/")))]
    assert names == ["SensorUpgrade", "Request"]


def test_interim_answers() -> None:
    """Interim responses of a lab are not judged, and the final answer is read."""
    [frame] = Decoder().feed(
        b"HTTP/1.1 100 Continue\r\n\r\n" + encode(response(200, {}, {"cmd": "repeat"}))
    )
    assert frame.name == "Repeat"


@pytest.mark.parametrize(("behind", "wrong"), [(b"", False), (b"HTTP/1.1 2", True)])
def test_a_lab_may_close_upon_its_interim_answer(behind: bytes, wrong: bool) -> None:
    decoder = Decoder()
    assert decoder.feed(b"HTTP/1.1 102 Processing\r\n\r\n" + behind) == []
    assert bool(decoder.end()) is wrong


def test_who_keeps_a_body_back_is_told_to_send_it() -> None:
    """The lab must send 100 Continue once, and only if the body has not come yet."""
    value = request("POST", message_names.PUSHCMD, {"expect": "100-continue"}, {"cmd": "register"})
    top, end, body = encode(value).partition(b"\r\n\r\n")
    decoder = Decoder()
    assert decoder.prompt() == b""
    assert (decoder.feed(top + end), decoder.prompt() != b"", decoder.prompt()) == ([], True, b"")
    assert [frame.value for frame in decoder.feed(body)] == [value]
    assert len(decoder.feed(top + end + body)) == 1
    assert decoder.prompt() == b""


# Bodies


@pytest.mark.parametrize(
    ("body", "how"),
    [
        (b'[{"cmd": "push"}]', "within an array"),
        (b'"{\\"cmd\\": \\"push\\"}"', "within a string"),
        (b'{"cmd": "push"}\0', "followed by '\\x00'"),
        (b'{"cmd": "push"} {}', "followed by '{}'"),
        (b"{'cmd': 'push'}", "as Python writes it"),
        (b"{'cmd': 'push',}", "as Python writes it"),
        (b'{"cmd": "push",\n}\n', "with a comma after its last member"),
        (b"cmd=push", "as an HTML form"),
        (b'\xef\xbb\xbf{"cmd": "push"}', "after a byte order mark"),
        ('\ufeff{"cmd": "push"}'.encode("utf-16-le"), "in another encoding: b'\\xff' is not UTF-8"),
    ],
)
def test_what_a_body_means_is_read(body: bytes, how: str) -> None:
    assert json_object(body) is None
    assert guess_object(body) == ({"cmd": "push"}, f"received the object {how}")


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[", b"null", b"[1]", b"[{}, {}]", b"{'a': {1}}", b"{" * 5000, b"push", b"<html>"),
        *(b"\x00" * 40, b"{'a': 1" + b"0" * 5000 + b"}", b"x=1" * 40000, b'{"a": NaN}'),
    ],
)
def test_what_means_nothing_is_told(body: bytes) -> None:
    found, came = guess_object(body)
    assert found is None
    assert came.startswith("received ")


def test_a_page_of_the_lab_is_no_data_object() -> None:
    """A page with equals signs reads like an HTML form."""
    head = {"status": 200, "headers": {"content-type": "text/html"}}
    decoded, wrong = message_names.with_body(head, b'<html lang="en">')
    assert ("json" in decoded, wrong) == (False, "")


def test_what_comes_in_another_encoding_is_read() -> None:
    found, came = guess_object('{"brickname": "Töy"}'.encode("latin-1"))
    assert found == {"brickname": "Töy"}
    assert came == "received the object in another encoding: b'\\xf6' is not UTF-8"
