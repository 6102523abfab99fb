"""An Open Roberta robot on urllib: openroberta_robot.py URL [SWITCH[,SWITCH…]]."""

import base64
import json
import random
import string
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

LAB, SWITCHES = sys.argv[1].rstrip("/"), "".join(sys.argv[2:]).split(",")
LETTERS = string.digits + string.ascii_uppercase
HOLDS = {"register": 330, "push": 15}  # seconds to wait for an answer

data: dict[str, Any] = {
    "firmwarename": "ev3dev",
    "robot": "ev3",
    "macaddr": "02:fc:00:00:00:01",
    "cmd": "register",
    "firmwareversion": "Linux ev3 4.9\n",
    "token": "".join(random.choices(LETTERS, k=8)),
    "brickname": "EV3",
    "battery": "8.400",
    "menuversion": "1.3.0",
}
programs: list[dict[str, str]] = []
exits = {"next": 0, "before": 0}
lock = threading.Lock()


def ask(path: str, cmd: str) -> Any:
    with lock:
        body = json.dumps({**data, "cmd": cmd}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(LAB + path, body, headers)
    return urllib.request.urlopen(request, timeout=HOLDS[cmd])


def run() -> None:
    with ask("/rest/download", "push") as answer:
        code, name = answer.read(), answer.headers["Filename"].strip()
    if "text" in SWITCHES:
        code = code.decode(errors="ignore").encode()
    with lock:
        programs.append({"name": name, "base64": base64.b64encode(code).decode()})
    if code.startswith(b"wait "):
        time.sleep(float(code[5:]))
    with lock:
        late = "exit-before" in SWITCHES and len(programs) > 1
        data["nepoexitvalue"] = exits["before"] if late else exits["next"]
        exits["before"], exits["next"] = exits["next"], 0


def update() -> None:
    for path in ("v1/runtime", "v1/ev3menu"):
        with urllib.request.urlopen(f"{LAB}/rest/update/{path}", timeout=15) as file:
            file.read()


def work() -> None:
    cmd = "register"
    while True:
        try:
            with ask("/rest/pushcmd", cmd) as answer:
                command = json.load(answer)["cmd"]
            if command == "repeat":
                cmd = "push"
            elif command == "abort":
                cmd = "register"
            elif command == "download":
                run()
            elif command == "update":
                cmd = "register"
                update()
        except Exception as error:
            print(cmd, repr(error), file=sys.stderr)
            if "error-ends" in SWITCHES and isinstance(error, urllib.error.HTTPError):
                return
            time.sleep(0.3)


threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    result: dict[str, Any] = {"id": asked["id"], "ok": True}
    with lock:
        match asked["op"]:
            case "battery":
                data["battery"] = str(asked["args"]["value"])
            case "name":
                data["brickname"] = asked["args"]["value"]
            case "shown":
                result["result"] = data["token"]
            case "exit":
                exits["next"] = asked["args"]["value"]
            case "executed":
                result["result"] = programs
            case _:
                result |= {"ok": False, "offered": False}
    print(json.dumps(result), flush=True)
