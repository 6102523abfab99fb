-- A client with the RPC channels of Neovim, whose calls wait for each other.
-- Start: nvim --headless --clean --cmd "luafile client.lua" with HOST and PORT in the environment.
local address = os.getenv("HOST") .. ":" .. os.getenv("PORT")
local channel = vim.fn.sockconnect("tcp", address, { rpc = true })
for line in io.lines() do
  local asked = vim.fn.json_decode(line)
  local answer = { id = asked.id, ok = true }
  local send = ({ call = vim.rpcrequest, notify = vim.rpcnotify })[asked.op]
  if send then
    local done, result = pcall(send, channel, asked.args.method, unpack(asked.args.params))
    if not done then
      answer.ok, answer.error = false, tostring(result)
    elseif asked.op == "call" then
      answer.result = result
    end
  else
    answer.ok, answer.offered = false, false
  end
  io.stdout:write(vim.fn.json_encode(answer), "\n")
  io.stdout:flush()
end
vim.cmd("qall!")
