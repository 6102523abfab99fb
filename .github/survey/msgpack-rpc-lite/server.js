// A server with msgpack-rpc-lite (npm).
const rpc = require("msgpack-rpc-lite");
let calls = 0;
const procedures = {
  echo: (given) => given,
  subtract: ([first, second, ...more]) => {
    if (more.length || typeof first !== "number" || typeof second !== "number") throw new Error("two numbers");
    return first - second;
  },
  fail: () => { throw new Error("this procedure fails"); },
  nothing: () => null,
  count: () => ++calls,
};
const server = rpc.createServer();
for (const [name, call] of Object.entries(procedures)) {
  server.on(name, (given, answer = () => {}) => {
    let result;
    try { result = call(given); } catch (error) { return answer(error); }
    answer(null, result);
  });
}
server.on("sleep", ([seconds], answer = () => {}) => setTimeout(() => answer(null, null), 1000 * seconds));
server.on("connection", (socket) => socket.on("error", () => {}));
server.listen(Number(process.argv[2]), "127.0.0.1");
