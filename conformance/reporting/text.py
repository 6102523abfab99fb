"""Makes text from an IUT safe to show: visible, bounded, and on one line.

The writers of HTML, XML and Markdown escape the resulting text for their format.
"""

import re

LIMIT = 20_000  # characters of any text: people do not read more


def make_visible(text: object, limit: int = LIMIT, keep: str = "\n\t") -> str:
    r"""The text with escapes for characters that print nothing or move other text.

    Escaped are control characters, bidirectional controls, zero-width characters, separators other
    than the space, lone surrogates and unassigned code points; ESC becomes ``\x1b``. Characters in
    ``keep`` stay. A text longer than ``limit`` characters is cut, with the number of characters
    that were cut.
    """
    whole = str(text)
    shown = whole[:limit]
    if not shown.translate(str.maketrans("", "", keep)).isprintable():
        shown = "".join(c if c.isprintable() or c in keep else _escape(c) for c in shown)
    if len(whole) > limit:
        shown += f" … [{len(whole) - limit:,} more characters]"
    return shown


def one_line(text: object, limit: int = 200) -> str:
    """The text on one line of about ``limit`` characters or less."""
    # Twice the limit is enough to fill a line after white space has been folded.
    folded = re.sub(r"[ \t\r\n]+", " ", str(text)[: 2 * limit + 2]).strip()
    if len(folded) > limit:
        folded = folded[: limit - 1].rstrip() + "…"
    return make_visible(folded, keep="")


def hexdump_ranges(dump: str, start: int, end: int) -> list[tuple[int, int]]:
    """The ranges of characters in a dump that show some bytes.

    The bytes are those from ``start`` to before ``end``. Each line of the dump has two ranges: hex
    and printable characters.
    """
    ranges = []
    digits = dump.find(" ")
    hexes, characters = digits + 2, digits + _HEX_WIDTH
    for row in range(start // 16, (end + 15) // 16):
        line = row * (characters + 17)  # each line before is full, and has a newline
        first, last = max(start - 16 * row, 0), min(end - 16 * row, 16) - 1
        ranges.append((line + hexes + _column(first), line + hexes + _column(last) + 2))
        ranges.append((line + characters + first, line + characters + last + 1))
    return ranges


_DIGITS = 4  # digits of an offset, unless the last offset has more
_HEX_WIDTH = 52  # characters of a line of a dump between its offset and its printable characters


def _column(place: int) -> int:
    return 3 * place + (1 if place >= 8 else 0)


def hexdump(data: bytes, first: int = 0) -> str:
    """Sixteen bytes a line: offset, hex, printable characters; offsets begin with ``first``."""
    lines = []
    digits = max(_DIGITS, len(f"{first + len(data):x}"))
    characters = data.translate(_PRINTABLE).decode("ascii")
    for offset in range(0, len(data), 16):
        left = data[offset : offset + 8].hex(" ")
        right = data[offset + 8 : offset + 16].hex(" ")
        row = characters[offset : offset + 16]
        lines.append(f"{first + offset:0{digits}x}  {left:<23}  {right:<23}  {row}")
    return "\n".join(lines)


_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else ord(".") for byte in range(256))


def hexdump_size(count: int) -> int:
    """The number of characters of a dump of ``count`` bytes, with offsets of `_DIGITS` digits."""
    rows, rest = divmod(count, 16)
    before = _DIGITS + _HEX_WIDTH
    return rows * (before + 17) + (before + rest if rest else -1) if count else 0


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
