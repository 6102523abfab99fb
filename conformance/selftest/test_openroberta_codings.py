"""Content codings: compressed bodies are read, and written again, as their headers say."""

import gzip
import zlib

import pytest

from conformance.openroberta.codec import Decoder, encode, plain_content, response
from conformance.openroberta.codings import coding_of, without_coding

COMMAND = b'{"cmd":"repeat"}'


@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", gzip.compress(COMMAND)), ("deflate", zlib.compress(COMMAND)), ("identity", COMMAND)],
    ids=["gzip", "deflate", "identity"],
)
def test_a_compressed_command(coding: str, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    [frame] = Decoder().feed(head.encode() + body)
    assert (frame.name, frame.error) == ("Repeat", None)
    assert frame.value["json"] == {"cmd": "repeat"}
    [again] = Decoder().feed(encode(frame.value))
    assert again.value["json"] == frame.value["json"]


def test_a_compressed_program() -> None:
    program = bytes(range(256))
    headers = {"filename": "a.bin", "content-encoding": "gzip"}
    [frame] = Decoder().feed(encode(response(200, headers, gzip.compress(program))))
    assert frame.name == "File"
    assert plain_content(frame.value) == program


def test_bodies_without_the_coding_that_they_announce() -> None:
    assert without_coding(COMMAND, {"content-encoding": "gzip"}, 100) == COMMAND
    assert without_coding(COMMAND, {"content-encoding": "br"}, 100) == COMMAND
    assert coding_of({"content-encoding": " GZIP "}) == "gzip"


def test_a_bomb_is_bounded() -> None:
    bomb = gzip.compress(bytes(1 << 20))
    assert len(without_coding(bomb, {"content-encoding": "gzip"}, 1000)) == 1000
