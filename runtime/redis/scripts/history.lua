-- SPDX-License-Identifier: MIT
-- KEYS 1 history      ARGV 1 how many, from 1 to 100
-- A job's newest runs, the newest first, for people; each is eight elements: when it was written down, turn, attempt, token,
-- outcome, fence, how long it ran (ms), detail.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
local function short(x, most) return string.sub(x or '', 1, most) end
local t = redis.call('TIME')
local runs = {}
for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', math.max(1, math.min(tonumber(ARGV[1]), 100)))) do
  local f = {}
  for i = 1, #entry[2], 2 do f[entry[2][i]] = entry[2][i + 1] end
  for _, value in ipairs({num(string.match(entry[1], '^%d+')), num(f.turn), num(f.attempt), short(f.token, 128), short(f.outcome, 32),
    num(f.fence), num(f.ran), short(f.detail, 256)}) do
    runs[#runs + 1] = value
  end
end
return {'history', t[1] * 1000 + math.floor(t[2] / 1000), runs}
