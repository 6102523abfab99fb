// A client with msgpack-rpc-lite (npm).
const rpc = require("msgpack-rpc-lite");
const client = rpc.createClient(Number(process.argv[3]), process.argv[2]);
require("../operations.js")(
  (method, given) => client.request(method, ...given).then(([result]) => result),
  (method, given) => client.notify(method, ...given),
);
