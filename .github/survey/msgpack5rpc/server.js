// A server with msgpack5rpc (npm), whose sessions know no transport.
const net = require("net");
const Session = require("msgpack5rpc");
const procedures = {
  ...require("../procedures.js"),
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
