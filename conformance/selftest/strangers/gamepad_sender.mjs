// A sender of gamepads in the style of a browser: gamepad_sender.mjs HOST PORT [SWITCH]
import dgram from "node:dgram";
import readline from "node:readline";

const [host, port, mistakes = ""] = process.argv.slice(2);
const has = (mistake) => mistakes.split(",").includes(mistake);
const DEAD = 0.08; // the zone around the centre in which a worn joystick rests
const INNER = 0.99999; // single precision must not round a position out of the unit circle

class Packer {
  constructor() {
    this.buffer = Buffer.alloc(4096);
    this.size = 0;
  }

  byte(value) {
    this.size = this.buffer.writeUInt8(value, this.size);
  }

  map(count) {
    if (count < 16) return this.byte(0x80 | count);
    this.byte(0xde);
    this.size = this.buffer.writeUInt16BE(count, this.size);
  }

  text(value) {
    this.byte(0xa0 | value.length); // all texts are short and ASCII
    this.size += this.buffer.write(value, this.size);
  }

  float(value) {
    this.byte(0xca);
    this.size = this.buffer.writeFloatBE(value, this.size);
  }

  whole(value) {
    this.byte(0xce); // always 32 bits
    this.size = this.buffer.writeUInt32BE(value, this.size);
  }
}

function position(x, y) {
  if (has("die-right") && x === 1) throw new RangeError("the table of 256 steps has no step 256");
  if (has("exit-right") && x === 1) process.exit(0);
  const radius = Math.hypot(x, y);
  if (radius < DEAD) return [0, 0];
  const reach = Math.min(1, (radius - DEAD) / (1 - DEAD)) * INNER;
  return [(x / radius) * reach, (y / radius) * reach];
}

function bitmask(buttons) {
  const pressed = buttons.flatMap((down, index) => (down ? [index] : []));
  if (has("die-many") && pressed.length > 3) throw new TypeError("no chord of this size");
  return pressed.reduce((mask, index) => mask | (1 << index), 0) >>> 0;
}

const socket = dgram.createSocket("udp4");
let sticks = "";

function send(pads) {
  const packer = new Packer();
  const entries = Object.entries(pads).reverse();
  packer.map(1);
  packer.text("gamepads");
  packer.map(entries.length);
  for (const [index, { axes, buttons }] of entries) {
    const [lx, ly] = position(axes[0], axes[1]);
    const [rx, ry] = position(axes[2], axes[3]);
    packer.text(index);
    packer.map(5);
    packer.text("btn");
    packer.whole(bitmask(buttons));
    for (const [name, value] of Object.entries({ ry, rx, ly, lx })) {
      packer.text(name);
      packer.float(value);
    }
  }
  const moved = JSON.stringify(entries.map(([, pad]) => pad.axes));
  if (has("no-buttons") && moved === sticks) return;
  sticks = moved;
  socket.send(packer.buffer.subarray(0, packer.size), Number(port), host);
}

const operations = readline.createInterface({ input: process.stdin });
operations.on("line", (line) => {
  const { id, op, args } = JSON.parse(line);
  const offered = op === "gamepads";
  if (offered) send(args);
  console.log(JSON.stringify(offered ? { ok: true, id } : { ok: false, offered, id }));
});
operations.on("close", () => socket.close());
