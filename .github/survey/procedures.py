"""The procedures that the tests call, for wrappers in Python."""

import time

_calls = 0


def echo(*arguments):
    return list(arguments)


def subtract(first, second):
    return first - second


def fail():
    raise ValueError("this procedure fails")


def nothing():
    return None


def sleep(seconds):
    time.sleep(seconds)


def count():
    global _calls
    _calls += 1
    return _calls


ALL = {call.__name__: call for call in (echo, subtract, fail, nothing, sleep, count)}
