// A server with msgpack5rpc (npm), whose sessions know no transport.
const net = require("net");
const Session = require("msgpack5rpc");
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
  sleep: ([seconds]) => new Promise((resolve) => setTimeout(() => resolve(null), 1000 * seconds)),
};
const run = async (method, given) => {
  if (!Object.hasOwn(procedures, method)) throw new Error("no such procedure");
  return procedures[method](given);
};
net.createServer((socket) => {
  const session = new Session();
  session.on("request", (method, given, response) => run(method, given).then(
    (result) => response.send(result),
    (error) => response.send(error.message, true),
  ));
  session.on("notification", (method, given) => run(method, given).catch(() => {}));
  socket.on("error", () => {});
  session.attach(socket, socket);
}).listen(Number(process.argv[2]), "127.0.0.1");
