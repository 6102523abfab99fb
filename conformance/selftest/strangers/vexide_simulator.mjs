// A Vexide simulator on its standard streams: node vexide_simulator.mjs PROGRAM [SWITCH[,SWITCH…]]
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";

const [program, words = ""] = process.argv.slice(2);
const has = (name) => words.split(",").includes(name);
const devices = new Map();
const seen = new Map(); // what the robot program has reported: the last line of each kind
let competition = { enabled: true, connected: false, mode: "Driver", is_competition: false };
let capacity = 14, controller = null, sdcard = null, touch = null, updates = 0;
let handshaken = false, ready = false, started = false, configured = false;

const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const serial = (data) => send({ Serial: { channel: 1, data: Buffer.from(data).toString("base64") } });

function leave(exited = true) {
  if (exited) send("Exited");
  process.stdout.end(() => process.exit(0));
}

function report(kind, text) {
  if (seen.get(kind) === text) return;
  seen.set(kind, text);
  serial(`${kind} ${text}\n`);
}

function tryCard() {
  if (typeof sdcard !== "string" || !existsSync(sdcard)) return "absent";
  const file = join(sdcard, "probe.txt");
  writeFileSync(file, "probe");
  const text = readFileSync(file, "utf8");
  rmSync(file);
  return text === "probe" ? "present" : "absent";
}

function probe() {
  if (program !== "probe" || !started) return;
  const { enabled, connected, mode, is_competition } = competition;
  report("competition", `enabled=${enabled} connected=${connected} mode=${mode} is_competition=${is_competition}`);
  report("battery", Number.isInteger(capacity) ? capacity.toFixed(1) : `${capacity}`);
  report("controller", controller ? `axis1=${controller.axis1}` : "none");
  const active = Object.entries(controller ?? {}).filter(([name, value]) =>
    value !== 0 && value !== false && /^(axis[234]|button_.*)$/.test(name));
  report("inputs", active.map(([name, value]) => `${name}=${value}`).join(" ") || "rest");
  report("sdcard", tryCard());
  if (touch) report("touch", touch);
}

function update(port, motor, velocity) {
  if (has("update-once") && updates++) return;
  const status = { velocity, reversed: false, power_draw: 0.5, torque_output: 0.5, flags: 0, position: velocity / 10,
    target_position: null, voltage: 6, gearset: motor.physical_gearset, brake_mode: "Coast" };
  send({ DeviceUpdate: { port: JSON.parse(port), status: { Motor: status } } });
}

function drive(time = 0.05) {
  for (const [port, device] of devices)
    if (device?.Motor) update(port, device.Motor, time / device.Motor.moment_of_inertia);
  setTimeout(drive, 50, time + 0.05);
}

function draw() {
  const color = { r: 255, g: 128, b: 0 };
  const shape = { Rectangle: { top_left: { x: 0, y: 0 }, bottom_right: { x: 10, y: 10 } } };
  send({ ScreenDoubleBufferMode: { enable: true } });
  send({ ScreenDraw: { command: { Fill: { shape } }, color, background: color } });
  send("ScreenRender");
}

function begin() {
  started = true;
  if (["print", "slow", "demo"].includes(program)) serial("Hello World!\n");
  if (program === "bytes") serial(Uint8Array.from({ length: 256 }, (_, index) => index));
  if (["drive", "demo"].includes(program)) drive();
  if (["draw", "demo"].includes(program)) draw();
  probe();
  if (program === "crash") send({ Log: { level: "Error", message: "the program has trapped" } });
  if (["return", "exit", "crash", "demo"].includes(program))
    setTimeout(leave, program === "demo" ? 300 : 10, !(has("no-exited-crash") && program === "crash"));
}

function shake(offered) {
  if (handshaken) return;
  if (offered.version < 1 || (has("close-extensions") && offered.extensions?.length)) return leave(false);
  handshaken = true;
  send({ Handshake: { version: 1, extensions: [] } });
  const header = Buffer.alloc(24);
  header.write("XVX5\x02");
  if (!has("no-signature")) send({ VCodeSig: header.toString("base64") });
  setTimeout(() => {
    if (has("no-ready-configured") && configured) return;
    ready = true;
    send("Ready");
  }, program === "slow" ? 600 : 20);
}

const commands = {
  Handshake: shake,
  ConfigureDevice({ port, device }) {
    configured = true;
    if (has("die-blue") && device?.Motor?.physical_gearset === "Blue") ({ Red: 100, Green: 200 }).Blue.toFixed(1);
    devices.set(JSON.stringify(port), device);
  },
  CompetitionMode(mode) { competition = mode; },
  SetBatteryCapacity(battery) { capacity = Number(battery.capacity); },
  ControllerUpdate(update) {
    if (has("close-uuid") && !update.Raw) return leave(false);
    controller = update.Raw ?? null;
  },
  USD({ root = null }) {
    if (has("die-unmount") && root === null) join(root, "probe.txt");
    sdcard = root;
  },
  Touch({ pos, event }) { touch = event === "Released" ? event : `${event} ${pos?.x} ${pos?.y}`; },
  StartExecution() { if (ready && !started) begin(); },
};

function take(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch (error) {
    if (line.trim()) console.error("not JSON:", error.message);
    return;
  }
  const [name, content] = typeof message === "string" ? [message, null] : Object.entries(message ?? {})[0] ?? [];
  if (!Object.hasOwn(commands, name) || (name !== "Handshake" && !handshaken)) return console.error("unknown:", name);
  const object = content !== null && typeof content === "object";
  if (!object && name !== "StartExecution") return console.error("not an object:", name);
  commands[name](content);
  probe();
}

const decoder = new StringDecoder("utf8");
let rest = "";
process.stdin.on("data", (bytes) => {
  const lines = (rest + decoder.write(bytes)).split("\n");
  rest = lines.pop();
  lines.forEach(take);
});
process.stdin.on("end", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));
