// A server with msgpack-rpc-lite (npm).
const rpc = require("msgpack-rpc-lite");
const procedures = require("../procedures.js");
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
