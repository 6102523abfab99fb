// The procedures of every server in JavaScript; each server has a sleep of its own.
let calls = 0;
module.exports = {
  echo: (given) => given,
  subtract: ([first, second, ...more]) => {
    if (more.length || typeof first !== "number" || typeof second !== "number") throw new Error("two numbers");
    return first - second;
  },
  fail: () => { throw new Error("this procedure fails"); },
  nothing: () => null,
  count: () => ++calls,
};
