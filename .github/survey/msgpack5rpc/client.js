// A client with msgpack5rpc (npm), whose sessions know no transport.
const net = require("net");
const Session = require("msgpack5rpc");
const session = new Session();
const socket = net.connect(Number(process.argv[3]), process.argv[2]);
session.attach(socket, socket);
require("../operations.js")(
  (method, given) => new Promise((resolve, reject) => session.request(
    method, given, (error, result) => (error ? reject(error) : resolve(result)))),
  (method, given) => session.notify(method, given),
);
