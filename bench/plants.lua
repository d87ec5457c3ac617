-- The requests of wrk: each creates another plant. Arguments: the token, and the number of the first one.

local created = 0

function init(arguments)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. arguments[1]
  created = tonumber(arguments[2])
end

function request()
  -- Scattered, as ids from many clients are. The same as plantOf() in load.ts.
  local id = created * 2654435761 % 1099511627776 * 2 + 1
  created = created + 1
  return wrk.format(nil, nil, nil,
    string.format('{"id":%.0f,"name":"Plant %.0f","tag":"indoor"}', id, id))
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
