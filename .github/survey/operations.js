// The upper tester of a client in JavaScript: operations arrive on standard input.
module.exports = (call, notify) => {
  const answer = (id, more) => process.stdout.write(JSON.stringify({ id, ...more }) + "\n");
  const lines = require("readline").createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const { id, op, args } = JSON.parse(line);
    try {
      if (op === "call") answer(id, { ok: true, result: await call(args.method, args.params) });
      else if (op === "notify") { await notify(args.method, args.params); answer(id, { ok: true }); }
      else answer(id, { ok: false, offered: false });
    } catch (error) {
      answer(id, { ok: false, error: error instanceof Error ? error.message : error });
    }
  });
  lines.on("close", () => process.exit(0));
};
