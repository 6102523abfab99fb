// A MessagePack-RPC client: node rpc_client.mjs HOST PORT [SWITCH[,SWITCH…]]
import { connect } from "node:net";
import { createInterface } from "node:readline";

const [host, port, words = ""] = process.argv.slice(2);
const has = (name) => words.split(",").includes(name);
const waiting = new Map(); // by id: resolve, reject and timer of a call
let socket = null, rest = Buffer.alloc(0), ids = 0, timeouts = 0;

function pack(value) {
  const head = (first, size) => { const bytes = Buffer.alloc(5); bytes[0] = first; bytes.writeUInt32BE(size, 1); return bytes; };
  if (value === null || value === undefined) return Buffer.from([0xc0]);
  if (typeof value === "boolean") return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === "number" && Number.isSafeInteger(value) && !Object.is(value, -0)) {
    const bytes = Buffer.alloc(9, 0xd3);
    if (value >= 0 && value < 2 ** 32) return head(0xce, value);
    bytes.writeBigInt64BE(BigInt(value), 1);
    return bytes;
  }
  if (typeof value === "number") {
    const bytes = Buffer.alloc(9, 0xcb);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === "string") return Buffer.concat([head(0xdb, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) return Buffer.concat([head(0xdd, value.length), ...value.map(pack)]);
  const entries = Object.entries(value);
  return Buffer.concat([head(0xdf, entries.length), ...entries.flat().map(pack)]);
}

class Incomplete extends Error {}

// Reads one object from a buffer; "at" is where the next one begins.
class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }

  take(size) {
    if (this.at + size > this.bytes.length) throw new Incomplete();
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  uint(size) { return size === 8 ? Number(this.take(8).readBigUInt64BE()) : this.take(size).readUIntBE(0, size); }

  read(depth = 0) {
    if (depth > 200) throw new Error("nested too deep");
    const first = this.take(1)[0];
    if (first < 0x80) return first;
    if (first < 0x90) return this.map(first & 15, depth);
    if (first < 0xa0) return this.list(first & 15, depth);
    if (first < 0xc0) return this.take(first & 31).toString();
    if (first >= 0xe0) return first - 0x100;
    switch (first) {
      case 0xc0: return null;
      case 0xc2: case 0xc3: return first === 0xc3;
      case 0xc4: case 0xc5: case 0xc6: return this.take(this.uint(1 << (first - 0xc4))).toString("latin1");
      case 0xca: return this.take(4).readFloatBE();
      case 0xcb: return this.take(8).readDoubleBE();
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.uint(1 << (first - 0xcc));
      case 0xd0: case 0xd1: case 0xd2: return this.take(1 << (first - 0xd0)).readIntBE(0, 1 << (first - 0xd0));
      case 0xd3: return Number(this.take(8).readBigInt64BE());
      case 0xd9: case 0xda: case 0xdb: return this.take(this.uint(1 << (first - 0xd9))).toString();
      case 0xdc: case 0xdd: return this.list(this.uint(2 << (first - 0xdc)), depth);
      case 0xde: case 0xdf: return this.map(this.uint(2 << (first - 0xde)), depth);
    }
    throw new Error(`cannot read 0x${first.toString(16)}`);
  }

  list(size, depth) {
    const items = [];
    while (size-- > 0) items.push(this.read(depth + 1));
    return items;
  }

  map(size, depth) {
    const items = this.list(2 * size, depth);
    return Object.fromEntries(items.flatMap((key, index) => (index % 2 ? [] : [[String(key), items[index + 1]]])));
  }
}

function settle(id, act) {
  const call = waiting.get(id);
  if (!call && !has("die-unknown-id")) return;
  clearTimeout(call.timer);
  waiting.delete(id);
  act(call);
}

function handle(message) {
  if (!Array.isArray(message) || message.length !== 4 || message[0] !== 1) return;
  const [, id, error, result] = message;
  if (error === null) return settle(id, (call) => call.resolve(result));
  const text = has("die-error") ? error.message.trim() : JSON.stringify(error);
  if (has("no-false-error") && !error) return;
  settle(id, (call) => call.reject(new Error(text)));
}

function opened() {
  if (socket) return socket;
  socket = connect({ host, port: Number(port), noDelay: true });
  const own = socket;
  rest = Buffer.alloc(0);
  own.on("error", (error) => console.error(error.message));
  own.on("close", () => {
    if (socket === own) socket = null;
    for (const id of [...waiting.keys()]) settle(id, (call) => call.reject(new Error("the connection ended")));
  });
  own.on("data", (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const reader = new Reader(rest);
    let message;
    while (rest.length) {
      try {
        message = reader.read();
      } catch (error) {
        if (!(error instanceof Incomplete) || has("close-split")) own.destroy();
        return;
      }
      rest = rest.subarray(reader.at);
      reader.bytes = rest;
      reader.at = 0;
      handle(message);
    }
  });
  return own;
}

const operations = {
  call: ({ method, params = [], timeout = 5 }) => new Promise((resolve, reject) => {
    const id = ++ids;
    const expire = (call) => { timeouts++; call.reject(new Error("timeout")); };
    waiting.set(id, { resolve, reject, timer: setTimeout(settle, timeout * 1000, id, expire) });
    if (!has("none-after-timeout") || !timeouts) opened().write(pack([0, id, method, params]));
  }),
  async notify({ method, params = [] }) { opened().write(pack([2, method, params])); },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, op, args } = JSON.parse(line);
  const answer = { id, ok: true };
  try {
    if (operations[op]) answer.result = (await operations[op](args)) ?? null;
    else Object.assign(answer, { ok: false, offered: false });
  } catch (error) {
    Object.assign(answer, { ok: false, error: error.message });
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}).on("close", () => process.exit(0));
