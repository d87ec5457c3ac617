-- The requests of wrk. Arguments: the number of the first plant and `create`, or how many plants are stored and the target of
-- a GET, in which `%.0f` stands for an id; then the tokens, which take turns.

local headers = {}
local target, number
local sent = 0

function init(arguments)
  number, target = tonumber(arguments[1]), arguments[2]
  for i = 3, #arguments do
    headers[#headers + 1] = {
      ["Authorization"] = "Bearer " .. arguments[i],
      ["Content-Type"] = target == "create" and "application/json" or nil,
    }
  end
end

-- Scattered, as ids from many clients are. The same as plantOf() in load.ts.
local function id(n)
  local scattered = n * 2654435761 % 67108864
  return scattered * (2 * scattered + 1) % 1099511627776 * 2 + 1
end

function request()
  local n = sent
  sent = sent + 1
  local head = headers[n % #headers + 1]
  if target ~= "create" then
    return wrk.format("GET", string.format(target, id(n % number)), head)
  end
  local new = id(number + n)
  return wrk.format("POST", "/plants", head,
    string.format('{"id":%.0f,"name":"Plant %.0f","tag":"indoor"}', new, new))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"answers":%d,"refused":%d,"broken":%d,"seconds":%f,"latency":[%f,%f,%f,%f,%f]}\n',
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(75) / 1e3, latency:percentile(90) / 1e3,
    latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3))
end
