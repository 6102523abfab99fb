// An Open Roberta robot: node openroberta_robot.mjs URL [SWITCH[,SWITCH…]]
import { basename } from "node:path";
import { randomInt } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [url, words = ""] = process.argv.slice(2);
const has = (name) => words.split(",").includes(name);
const FILES = ["v1/runtime", "v1/ev3menu"]; // of an update
const PAUSE = 100; // milliseconds after a failure

const letters = "23456789abcdefghjkmnpqrstuvwxyz";
const token = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");
const data = {
  firmwarename: "ev3dev", robot: "ev3", macaddr: "74-DA-38-28-9F-A6", firmwareversion: "0.9.0", token,
  brickname: "Stranger", battery: "8.4", menuversion: "1.3.0",
};
const executed = [];
let nextExit = 0, exitValue; // exitValue: of the last program, to be told with the next push

async function post(path, cmd) {
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(exitValue === undefined ? { ...data, cmd } : { ...data, cmd, nepoexitvalue: exitValue }),
  });
  if (!response.ok && !(has("die-error") && path.endsWith("pushcmd"))) throw new Error(`status ${response.status}`);
  if (has("close-chunked") && response.headers.has("transfer-encoding")) process.exit(0);
  return response;
}

// The command of the lab's answer; null if there is none.
async function ask(cmd) {
  let text;
  try {
    text = await (await post("/rest/pushcmd", cmd)).text();
  } catch (error) {
    console.error(`${cmd}: ${error.message}`);
    return null;
  }
  if (has("die-error")) return JSON.parse(text).cmd;
  try {
    return JSON.parse(text).cmd ?? null;
  } catch {
    return null;
  }
}

async function runProgram() {
  if (has("no-download")) return;
  let program, name;
  try {
    const response = await post("/rest/download", "push");
    program = Buffer.from(await response.arrayBuffer());
    name = response.headers.get("filename")?.trim();
  } catch (error) {
    console.error(`download: ${error.message}`);
    return void (await sleep(PAUSE));
  }
  if (!name) return void (await sleep(PAUSE));
  executed.push({ name: basename(name), base64: program.toString("base64") });
  const seconds = /^wait ([0-9.]+)/.exec(program.toString("latin1"));
  if (seconds) await sleep(seconds[1] * 1000);
  [exitValue, nextExit] = [nextExit, 0];
  if (has("no-push-after-run")) await sleep(1e6);
}

async function update() {
  if (has("close-update")) process.exit(0);
  for (const file of has("first-file") ? FILES.slice(0, 1) : FILES) {
    try {
      await (await fetch(new URL(`/rest/update/${file}`, url))).arrayBuffer();
    } catch (error) {
      console.error(`${file}: ${error.message}`);
    }
  }
}

// Push until the robot has to register again.
async function work() {
  for (;;) {
    const sent = exitValue;
    const command = await ask("push");
    if (command !== null && exitValue === sent) exitValue = undefined;
    if (command === "download") await runProgram();
    else if (command === "update") return update();
    else if (command === "abort") return;
    else if (command === null) await sleep(PAUSE);
    else if (command !== "repeat" && has("die-command")) throw new TypeError(`commands.${command} is not a function`);
  }
}

const operations = {
  battery: ({ value }) => { data.battery = value; },
  name: ({ value }) => { data.brickname = value; },
  shown: () => token,
  exit: ({ value }) => { nextExit = value; },
  executed: () => executed,
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, op, args } = JSON.parse(line);
  const known = Object.hasOwn(operations, op);
  const answer = known ? { id, ok: true, result: operations[op](args) ?? null } : { id, ok: false, offered: false };
  process.stdout.write(JSON.stringify(answer) + "\n");
}).on("close", () => process.exit(0));

for (;;) {
  const command = await ask("register");
  if (command === "repeat") await work();
  else await sleep(PAUSE);
}
