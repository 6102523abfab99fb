"""The reader of S-expressions: accepted texts, places of errors, and depth."""

import pytest

from conformance.simspark.codec import LIMIT, Decoder, encode, frame, name_of
from conformance.simspark.sexp import SexpError, read, read_deep, write


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", []),
        (b" \t\r\n", []),
        (b"a", ["a"]),
        (b"()", [[]]),
        (b"(a(b)(c d)e)", [["a", ["b"], ["c", "d"], "e"]]),
        (b"(a)(b)\n", [["a"], ["b"]]),
        (b"( ( ) )", [[[]]]),
        (
            b"(x 1 1.0 -0 1e-05 nan +.5 00.10)",
            [["x", "1", "1.0", "-0", "1e-05", "nan", "+.5", "00.10"]],
        ),
        (b'("a b" \'c ; d)', [['"a', 'b"', "'c", ";", "d"]]),
    ],
)
def test_what_is_read(text: bytes, value: list[object]) -> None:
    assert read(text) == value
    assert read(write(value)) == value


@pytest.mark.parametrize(
    ("text", "offset", "ascii_"),
    [
        (b"(", 0, True),
        (b"(a (b)", 0, True),
        (b"(a)(b (c)", 3, True),
        (b")", 0, True),
        (b"(a))(b)", 3, True),
        (b"(a\xc3\xa4)", 2, False),
        (b"(a\xff", 2, False),
    ],
)
def test_where_it_is_wrong(text: bytes, offset: int, ascii_: bool) -> None:
    with pytest.raises(SexpError, match=f"at offset {offset}") as error:
        read(text)
    assert (error.value.offset, error.value.ascii) == (offset, ascii_)


@pytest.mark.parametrize(
    "text", [b'(a"b \\\\ "x")', b'(",)', b'(a",b)', b"(\x01\x1f \x00)", b"[,] {}"]
)
def test_atoms_that_look_like_json(text: bytes) -> None:
    deep = b"(" * 300 + b")" * 300
    assert read(text) == read(text + deep)[:-1]
    assert write(read(text)) == text


def test_a_hundred_thousand_levels_take_no_stack() -> None:
    depth = 100_000
    value, deepest = read_deep(b"(" * depth + b"x" + b")" * depth)
    assert deepest == depth
    assert write(value) == b"(" * depth + b"x" + b")" * depth
    with pytest.raises(SexpError, match=f"at offset {depth - 1}"):
        read(b"(" * depth)


@pytest.mark.parametrize("value", [[1], [None], ["a b"], ["("], [""], ["ä"], [{"a": "b"}]])
def test_what_cannot_be_written(value: list[object]) -> None:
    with pytest.raises(ValueError, match=r"not an atom|neither"):
        write(value)


def test_frames_come_as_they_are_cut() -> None:
    values: list[object] = [[["time", "1"]], [], [["ball", ["pos", "0", "0", "1"]]]]
    data = b"".join(map(encode, values))
    for size in range(1, len(data) + 1):
        decoder = Decoder()
        frames = [
            frame
            for at in range(0, len(data), size)
            for frame in decoder.feed(data[at : at + size])
        ]
        assert [frame.value for frame in frames] == values
        assert decoder.end() == []


def test_what_is_too_long_is_not_held() -> None:
    decoder = Decoder()
    [broken] = decoder.feed((LIMIT + 1).to_bytes(4, "big") + b"x")
    assert (broken.name, broken.requirement) == (None, "frame.length-prefix")
    assert decoder.feed(b"y" * 1000) == []
    assert decoder.end() == []


def test_what_is_too_deep_is_no_message_of_the_protocol() -> None:
    [deep] = Decoder().feed(frame(b"(" * 101 + b")" * 101))
    assert (deep.name, deep.value) == ("TooDeep", {"depth": 101, "bytes": 202})


def test_what_the_end_cuts_off() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\0\0\0\x0c(ba") == []
    [rest] = decoder.end()
    assert (rest.name, rest.value) == ("Truncated", {"announced": 12, "came": 3})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"((time 0))(RDS 0 1)()", "without a length"),
        (b"\x15\0\0\0((time 0))(RDS 0 1)()", "least significant byte first"),
        (b"\0\0\0\x19((time 0))(RDS 0 1)()\0\0\0\x19", "4 bytes too many"),
        (b"\0\0\0\x14((time 0))(RDS 0 1)()", "too few"),
        (b"\xff\xff\xff\xff", "more than any message has"),
        (b"0021((time 0))(RDS 0 1)()", "in digits"),
        (b"\0\0\0\x14((time 0))(RDS \0\0\0\x15((tim", "after 15 bytes of text"),
    ],
)
def test_what_is_wrong_with_a_length(data: bytes, why: str) -> None:
    broken = next(frame for frame in Decoder().feed(data) if frame.name is None)
    assert broken.requirement == "frame.length-prefix"
    assert why in str(broken.error)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"(init)", "Commands"),
        (b"(init (unum 1)(teamname x))", "Init"),
        (b"(scene a)(init (unum 1)(teamname x))", "Scene"),
        (b"(time 5)", "Commands"),
        (b"(time (now 5))", "Perceptors"),
        (b"(he1 5)", "Effectors"),
        (b"(wheel 5)", "Expressions"),
        (b"((ball (pos 0 0 50))(getAck a))", "Commands"),
        (b"((time 0))(RDS 0 1)()", "PartialState"),
        (b"()(RSG 0 1)()", "FullState"),
        (b"()(HJ (n hj1) (ax 1.00))", "Perceptors"),
        (b"()(he1 0.5)", "Effectors"),
        (b"((BallMass 1))(RSG 0 1)()", "Environment"),
        (b"(ack a)", "Ack"),
        (b"word", "Expressions"),
    ],
)
def test_names(text: bytes, name: str) -> None:
    assert name_of(read(text)) == name
