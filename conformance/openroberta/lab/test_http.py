"""What a lab makes of HTTP in all its spellings, and of what is none."""

from collections.abc import Callable, Sequence

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import chunks, encode, request
from conformance.openroberta.lab.stage import Robot, Stage, staged
from conformance.segmentation import Segmentation, byte_by_byte, in_halves, split_at

pytestmark = in_one_loop

_LENGTH_REQUIRED = 411
_ONCE = {"Connection": "close"}  # what a lab need not read of a request is not read as the next

TLS_HELLO = bytes.fromhex(
    "16030100c8010000c40303" + "5a" * 32 + "0000" + "0004130113020100" + "00" * 40
)


async def served(stage: Stage, robot: Robot, after: str) -> None:
    """Raise Violation unless a robot can register, and be linked where the user can."""
    expected = f"a robot to be served after {after}"
    held = await robot.register()
    refusal = await held.session.watch("Refusal", within=stage.seconds("quiet"))
    check(not refusal and not held.session.ended, expected, "it was not")
    if stage.offers("pair"):
        await robot.linked_by(held, None)


@requirement("http.messages")
async def test_messages(iut: Iut) -> None:
    """All that comes in a whole conversation are messages of HTTP."""
    async with staged(iut) as stage:
        robot = stage.robot()
        held = await robot.ask(naming.PUSHCMD, robot.object("register", "token"))
        await held.answer()
        if stage.offers("pair"):
            await robot.link()
            if stage.offers("run"):
                await robot.fetch()


SPELLINGS: Sequence[Callable[[str], str]] = (str.lower, str.upper, str.title, str.swapcase)


@requirement("http.header-names")
async def test_header_names(iut: Iut) -> None:
    """Names of header fields may be written in any case."""
    async with staged(iut) as stage:
        for spell in SPELLINGS:
            robot = stage.robot()
            value = request("POST", naming.PUSHCMD, {}, robot.object("register"))
            spelt = {spell(name.title()): text for name, text in value["headers"].items()}
            session = await stage.connection()
            await session.send({**value, "headers": spelt})
            refusal = await session.watch("Refusal", within=stage.seconds("quiet"))
            names = ", ".join(spelt)
            check(refusal is None, f"the registration with {names} to be held", "it was refused")
            if stage.offers("pair"):
                await stage.user("pair", token=robot.token)
                await session.expect("Repeat", within=stage.seconds("response"))


@requirement("http.persistence")
async def test_one_connection(iut: Iut) -> None:
    """A robot that keeps to one connection, as long as the lab keeps it, is served."""
    async with staged(iut) as stage:
        robot = stage.robot()
        robot.keeps = True
        for _ in range(2):
            held = await robot.ask(naming.PUSHCMD, robot.object("register", "battery"))
            await held.refused("refuses.battery")
        held = await robot.register()
        await held.taken()
        if stage.offers("pair"):
            await robot.linked_by(held, None)
            if stage.offers("run"):
                await robot.told("run", "Download", None)


@requirement("http.persistence")
async def test_closing(iut: Iut) -> None:
    """A robot that closes each connection after its answer gets that answer, and its end."""
    async with staged(iut) as stage:
        robot = stage.robot()
        for version in ("1.0", "1.1"):
            told = robot.object("register", "battery")
            value = request("POST", naming.PUSHCMD, {"Connection": "close"}, told)
            session = await stage.connection()
            await session.send({**value, "version": version})
            ended = await session.until_closed(stage.seconds("response"))
            check(bool(session.received), "an answer", "none came")
            check(ended, "the connection to be closed after it, as was asked", "it stays open")
        await served(stage, robot, "connections that were closed")


CUTS: Sequence[Segmentation] = (
    byte_by_byte,
    in_halves,
    split_at([5, 30, -60, -1]),
    split_at([-2]),
)


@requirement("http.segmentation")
async def test_segmentation(iut: Iut) -> None:
    """A registration counts in full however its bytes arrive; so does a wrong one."""
    async with staged(iut) as stage:
        for cut in CUTS:
            robot = stage.robot()
            told = robot.object("register", "firmwarename")
            wrong = await robot.ask(naming.PUSHCMD, told, segmentation=cut)
            await wrong.refused("refuses.firmwarename")
            held = await robot.register(segmentation=cut)
            await held.taken()
            if stage.offers("pair"):
                await robot.linked_by(held)


@requirement("robustness.chunked-requests")
async def test_chunked_request(iut: Iut) -> None:
    """A registration whose body comes in chunks is held like any other, or its length required."""
    async with staged(iut) as stage:
        robot = stage.robot()
        value = request("POST", naming.PUSHCMD, {"transfer-encoding": "chunked"}, {})
        head = encode({name: part for name, part in value.items() if name != "json"})
        body = encode(request("POST", "/", {}, robot.object("register"))).partition(b"\r\n\r\n")[2]
        session = await stage.connection()
        await session.send_bytes(
            head.removesuffix(b"0\r\n\r\n") + chunks([body[:40], body[40:41], body[41:]])
        )
        refusal = await session.watch("Refusal", within=stage.seconds("quiet"))
        if refusal is not None and refusal.value["status"] == _LENGTH_REQUIRED:
            return
        check(refusal is None, "the registration to be held", "it was refused")
        if stage.offers("pair"):
            await stage.user("pair", token=robot.token)
            await session.expect("Repeat", within=stage.seconds("response"))


@requirement("robustness.other-methods")
async def test_other_methods(iut: Iut) -> None:
    """A registration by another method gets an error."""
    async with staged(iut) as stage:
        for method in ("GET", "PUT", "DELETE"):
            robot = stage.robot()
            robot.headers = _ONCE
            held = await robot.ask(naming.PUSHCMD, robot.object("register"), method=method)
            await held.refused()


@requirement("robustness.other-paths")
async def test_other_paths(iut: Iut) -> None:
    """A registration at a path that there is not gets 404, and then at the right one is held."""
    async with staged(iut) as stage:
        robot = stage.robot()
        robot.headers = _ONCE
        for path in ("/pushcmd", "/rest/pushcmds", "/rest", "/rest/nothing"):
            held = await robot.ask(path, robot.object("register"))
            message = await held.answer()
            status = message.value["status"]
            check(status == 404, f"status 404 at {path}", f"{status} came", message.event)
        await served(stage, robot, "a wrong path")


HALVES: dict[str, Sequence[bytes]] = {
    "request line": [b"POST /rest/pu"],
    "headers": [b"POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Le"],
    "body": [b'POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{"cmd":'],
    "nothing": [b""],
    "gigabytes": [
        b"POST /rest/pushcmd HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n{",
        bytes(100_000),
    ],
    "endless headers": [b"POST /rest/pushcmd HTTP/1.1\r\n", b"X-Long: " + b"x" * 300_000],
    "no HTTP": [b"\x00\x01\x02\x03hello\r\n\r\n"],
}


@requirement("robustness.half-requests")
async def test_half_requests(iut: Iut) -> None:
    """A request that breaks off, or does not end, keeps nobody else from being served."""
    async with staged(iut) as stage:
        for what, pieces in HALVES.items():
            left, stays = await stage.connection(), await stage.connection()
            for piece in pieces:
                await left.send_bytes(piece)
                await stays.send_bytes(piece)
            await left.taken()
            await left.close()
            await served(stage, stage.robot(), f"a request of which only this came: {what}")


@requirement("robustness.tls-hello")
async def test_tls_hello(iut: Iut) -> None:
    """A robot that tries TLS first, before each of its requests, is served over plain HTTP."""
    async with staged(iut) as stage:
        robot = stage.robot()
        for _ in range(2):
            session = await stage.connection()
            await session.send_bytes(TLS_HELLO)
            await session.until_closed(stage.seconds("quiet"))
        await served(stage, robot, "a TLS hello")
