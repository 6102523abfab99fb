"""A client with the session of pynvim (PyPI), whose calls wait for each other."""

import json
import sys

from pynvim.msgpack_rpc import tcp_session

session = tcp_session(sys.argv[1], int(sys.argv[2]))
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "ok": True}
    given = asked["args"]
    try:
        if asked["op"] == "call":
            answer["result"] = session.request(given["method"], *given["params"])
        elif asked["op"] == "notify":
            session.request(given["method"], *given["params"], async_=True)
        else:
            answer |= {"ok": False, "offered": False}
    except Exception as error:
        answer |= {"ok": False, "error": str(error)}
    print(json.dumps(answer, default=repr), flush=True)
