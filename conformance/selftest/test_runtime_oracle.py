"""The runtime's oracle: exercised requirements, and its state in a session."""

from pathlib import Path

from conformance.bounded_dict import MAX_ENTRIES
from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.judging.connections import judge_capture
from conformance.judging.judge import Judge
from conformance.runtime.oracle import Conversation, Oracle

FOLDER = locations.folder("captures", "runtime") or Path()


def test_what_a_session_exercises() -> None:
    protocol = protocols.load("runtime")
    capture = captures.read(FOLDER / "session-rpc-pipelined.jsonl")
    judge = judge_capture(protocol, capture, protocol.roles)
    assert {"rpc.ids-differ", "rpc.response-id", "encoding.messagepack"} <= judge.exercised
    assert judge.exercised <= protocol.requirements.keys()


def test_what_stands_behind_a_message_may_be_its_own() -> None:
    """If an array declares too few elements, the rest is read as further objects."""
    protocol = protocols.load("runtime")
    judge = Judge(protocol, ["rpc-server"])
    short = bytes.fromhex("94 01 05 c0 90 07")
    for index, frame in enumerate(judge.decode("rpc-server", short)):
        judge.frame(index, "rpc-server", frame)
    [_, finding] = judge.findings
    assert (finding.requirement, finding.event) == ("encoding.messagepack", 0)
    assert "received 7 after [1, 5, null, []]" in finding.message


def test_who_cannot_read_a_key_may_close() -> None:
    """A reader that supports only text keys can close after another key in a map."""
    for keys, findings in (([1, "value"], 0), (["text", "value"], 1)):
        oracle = Oracle()
        request = [0, 1, "echo", [["first", {"$map": [keys]}]]]
        assert not list(oracle.message("rpc-client", "Request", request))
        assert len(list(oracle.closed("rpc-server"))) == findings


def test_a_server_can_end_at_unusual_messages_of_another_client() -> None:
    """A request that waits at this moment is no violation of its own."""
    for unusual, findings in (([0, 1, "echo"], 0), ([0, 1, "echo", []], 1)):
        conversation = Conversation()
        one, other = Oracle(conversation), Oracle(conversation)
        assert not list(one.message("rpc-client", "Request", [0, 2, "echo", []]))
        assert not list(other.message("rpc-client", "Request", unusual))
        assert len(list(other.closed("rpc-server"))) == findings
        assert len(list(one.closed("rpc-server"))) == findings


def test_a_long_session_takes_no_memory() -> None:
    oracle = Oracle()
    for number in range(2 * MAX_ENTRIES):
        assert not list(oracle.message("rpc-client", "Request", [0, number, "echo", []]))
        assert not list(oracle.message("rpc-server", "Response", [1, number, None, []]))
    assert not oracle._open
    assert len(oracle._answered) == MAX_ENTRIES


def test_a_strange_id_is_judged_once_the_open_request_is_answered() -> None:
    """After a notification, a strange id can belong to it, or to an open request."""
    oracle = Oracle()
    assert not list(oracle.message("rpc-client", "Notification", [2, "echo", []]))
    assert not list(oracle.message("rpc-client", "Request", [0, 7, "echo", []]))
    assert not list(oracle.message("rpc-server", "Response", [1, 0, None, []]))
    [finding] = oracle.message("rpc-server", "Response", [1, 7, None, []])
    assert finding.requirement == "rpc.notification-unanswered"
    assert finding.message.endswith("the id 0")
    [finding] = oracle.message("rpc-server", "Response", [1, 9, None, []])
    assert finding.requirement == "rpc.response-id"


def test_an_id_that_is_used_again_can_be_the_id_of_a_call_that_has_timed_out() -> None:
    """Bytes do not show if the earlier call still waits. Both requests need answers."""
    for answers, missing in ((2, 0), (1, 1)):
        oracle = Oracle()
        assert not list(oracle.message("rpc-client", "Request", [0, 1, "echo", []]))
        [again] = oracle.message("rpc-client", "Request", [0, 1, "echo", []])
        assert (again.requirement, again.inconclusive) == ("rpc.ids-differ", True)
        for _ in range(answers):
            assert not list(oracle.message("rpc-server", "Response", [1, 1, None, []]))
        assert len(list(oracle.closed("rpc-server"))) == missing
    [more] = oracle.message("rpc-server", "Response", [1, 2, None, []])
    assert more.requirement == "rpc.response-id"
