"""The upper tester of a client in Python: operations arrive on standard input."""

import asyncio
import json
import sys


async def serve(call, notify=None):
    """Run operations until the end of input; `call` and `notify` take a method and arguments."""
    loop = asyncio.get_running_loop()
    running = set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        task = asyncio.create_task(_operate(json.loads(line), call, notify))
        running.add(task)
        task.add_done_callback(running.discard)


async def _operate(asked, call, notify):
    answer = {"id": asked["id"], "ok": True}
    arguments = asked["args"]
    try:
        if asked["op"] == "call":
            answer["result"] = await call(arguments["method"], arguments["params"])
        elif asked["op"] == "notify" and notify:
            await notify(arguments["method"], arguments["params"])
        else:
            answer |= {"ok": False, "offered": False}
    except Exception as error:
        given = error.args[0] if error.args else str(error)
        answer |= {"ok": False, "error": given}
    print(json.dumps(answer, default=repr), flush=True)
