"""Find the line of a program's output that explains its end."""

import re

MAX_LENGTH = 400  # characters of the line that are reported
_MAX_REASON = 240  # characters of the reason below "Caused by", which must not cut off the error
LAST_LINES = 3  # lines at the end; a program can log the end of its work after the error

_FATAL = r"(?:PHP )?[Ff]atal error"
_RUBY = r"^\S+:\d+:in .+ \(\S+\)$"
_TCL = "    while executing"
_ELIXIR = r"\*\* \(\w+"
# Perl writes warnings in the same form, so only the last line counts.
_PERL = r"^.+ at \S+ line \d+(?:, <\w+> (?:line|chunk) \d+)?\.\s*\Z"

_ERROR_OF = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # Sanitizers and assertions of C and C++
        r"^.*ERROR: \w+Sanitizer: .*$",
        r"^.*: runtime error: .*$",
        r"^.*[Aa]ssertion .*failed.*$",
        r"^terminate called .*(?:\n\s+what\(\): .*)?$",
        # Rust: the message follows the source location; since 1.73 it is on a line of its own
        r"^thread .* panicked at .*?(?:',.*|:\n.*)$",
        # Go, PHP, OCaml, Swift
        rf"^(?:panic|{_FATAL}): .*$",
        # Ruby, Lua, Tcl, Elixir
        _RUBY,
        r"^lua\S*: .*$",
        rf"^.*(?=\n{_TCL}$)",
        rf"^{_ELIXIR}.*$",
        _PERL,
        # Handlers of signals that only a crash raises: their message is a line of the log
        r"^.*\bsignal (?:4|6|7|8|11)\b.*$",
        r"^.*(?:\bSIG(?:ILL|ABRT|BUS|FPE|SEGV)\b|[Ss]egmentation fault).*$",
    )
)
# Java: the last of these lines is the original cause
_CAUSED_BY = re.compile(r"^Caused by: .*$", re.MULTILINE)
# Rust's error crates: indented lines, numbered if there are several; the last one is the reason
_REASONS = re.compile(r"^Caused by:[ \t]*\n((?:[ \t]+\S.*(?:\n|\Z))+)", re.MULTILINE)
_NUMBER = re.compile(r"^\d+: ")
_THREAD = re.compile(r"^thread .*? (?=panicked at)")
_JAVA = re.compile(r"^Exception in thread .*$", re.MULTILINE)
_DOTNET = re.compile(r"^Unhandled exception\. .*$|(?<=^Unhandled Exception:\n).*$", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last):"
_CAUSE = re.compile(
    r"\b(?:error|exception|errno|fail\w*|fatal|abort\w*|panic\w*|cannot|can't|could not|unable|"
    r"refus\w+|reject\w*|invalid|malformed|unexpected|unhandled|unknown|illegal|denied|broken|missing|"
    r"too \w+|timed out|no such|not \w+)\b"
    r"|(?:Error|Exception)\b|^[A-Za-z_]\w*(?:\.\w+)+: ",
    re.IGNORECASE,
)
"""Words of a line that can explain the end of a program in any language."""
_NODE = re.compile(r"^(?:Uncaught )?(?:[A-Za-z_$][\w$.]*)?Error(?: \[\w+\])?: .*$", re.MULTILINE)


_UNHANDLED = re.compile(
    # Python, Rust, Go, Zig, OCaml, Swift, PHP, C++, Java, Node.js, .NET, Mono, Nim, Dart, shell
    rf"Traceback \(most recent call last\)|panicked at|\bpanic: |^{_FATAL}: "
    r"|terminate called|^Exception in thread|^\s+at .*:\d+:\d+\)?$|(?i:unhandled exception)"
    r"|Segmentation fault|AddressSanitizer"
    # Julia, Ada
    r"|^ERROR: LoadError|^raised [A-Z_]+_ERROR"
    # Ruby, Lua, Tcl, Elixir, Haskell, Perl
    rf"|{_RUBY}|^stack traceback:$|^{_TCL}$|^{_ELIXIR}"
    rf"|^CallStack \(from HasCallStack\)|{_PERL}",
    re.MULTILINE,
)
"""Texts by which a runtime reports an unhandled error.

If a program exits intentionally, its output does not contain these texts.
"""


def has_unhandled_error(output: str) -> bool:
    """True if an output reports an unhandled error."""
    return _UNHANDLED.search(output) is not None


def explaining_line(output: str) -> str:
    """Return the line that explains the end, or else the last line.

    Only this line becomes part of a verdict's text. The innermost reason below a line "Caused by:"
    is appended to the line.
    """
    found = _python_error(output) or _runtime_error(output)
    if reason := _reason(output):
        error = _THREAD.sub("", " ".join((found or _before_reason(output)).split()))
        return f"{error[: MAX_LENGTH - len(reason) - 12]} caused by: {reason}".strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    error = next((line for line in reversed(lines[-LAST_LINES:]) if _CAUSE.search(line)), "")
    chosen = found or error or (lines[-1] if lines else "")
    return " ".join(chosen.split())[:MAX_LENGTH]


def is_error_line(line: str) -> bool:
    """True if the line names an error, and is not merely the last output."""
    return bool(_runtime_error(line)) or "panicked at" in line


def can_explain(line: str) -> bool:
    """True if the line looks like an explanation, not like any line of a log."""
    return is_error_line(line) or _CAUSE.search(line) is not None


def quote(line: str) -> str:
    """Return the line as the program's message, or as the end of its log."""
    return f"it said: {line}" if can_explain(line) else f"the last line of its log was: {line}"


def _reason(output: str) -> str:
    """Return the last reason below the last line "Caused by:", which is the innermost."""
    blocks = _REASONS.findall(output)
    return _NUMBER.sub("", blocks[-1].splitlines()[-1].strip())[:_MAX_REASON] if blocks else ""


def _before_reason(output: str) -> str:
    """Return the last line before the last "Caused by:"."""
    lines = output[: output.rfind("\nCaused by:")].strip().splitlines()
    return lines[-1] if lines else ""


def _python_error(output: str) -> str:
    """Return the exception at the end of the last traceback."""
    _, mark, trace = output.rpartition(_TRACEBACK)
    lines = trace.splitlines()[1:] if mark else []
    return next((line for line in lines if line.strip() and not line[0].isspace()), "")


def _runtime_error(output: str) -> str:
    for pattern in _ERROR_OF:
        if found := pattern.search(output):
            return found[0]
    if causes := _CAUSED_BY.findall(output):
        return str(causes[-1])
    for pattern in (_JAVA, _DOTNET, _NODE):
        if found := pattern.search(output):
            return found[0]
    return ""
