-- SPDX-License-Identifier: MIT
-- KEYS 1 size  2 jobs  3 devices  4 confs  5 seen      all of {_fleet}
-- ARGV 1 weight: this device's refresh in ms, 0 at its first hello since it started, -1 where it goes on with one
--      2 retention  3 device  4 boot
--      5 rota's version  6 digest of its configuration ('': none)  7 names of jobs, a blank between two
--      8 a configuration is in use for so many ms after a hello with it
local size, jobs, devices, confs, seen = unpack(KEYS)
local keep, device, boot, version, digest = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local used, confs_most = tonumber(ARGV[8]), 64
local function int(x) return string.format('%.0f', x) end
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- All reads before any write: a key of a wrong type ends the script with nothing changed.
local hour = math.floor(now / 3600000)
local c = redis.call('HMGET', size, 'hour', 'now', 'before', 'boots', 'boots_before', 'hellos', 'hellos_before')
local h, cur, prev, b, bp, n, np = tonumber(c[1] or -1) or -1, num(c[2]), num(c[3]), num(c[4]), num(c[5]), num(c[6]), num(c[7])
local names = {}
for name in string.gmatch(ARGV[7], '%S+') do names[#names + 1] = name end
local done = #names > 0 and redis.call('HMGET', jobs, unpack(names)) or {}
for i = 1, #names do done[i] = num(done[i]) end
local entry = redis.call('HGET', devices, device) or ''
local heard = num(string.match(entry, '^%d+'))
local known = digest ~= '' and redis.call('HEXISTS', confs, digest) == 1
-- None was seen in the server's future: else its clock was set back, and it would count as in use until then.
for _, early in ipairs(redis.call('ZRANGEBYSCORE', seen, '(' .. int(now), '+inf')) do
  redis.pcall('ZADD', seen, int(now), early)
end
-- What this device had before, if nobody else was heard of with it since: who still has it says so with its next hello.
local former = string.match(entry, '%S+$') or ''
if former == digest or num(redis.call('ZSCORE', seen, former)) >= heard + 60000 then former = '' end
local others = {}
for _, other in ipairs(redis.call('ZREVRANGEBYSCORE', seen, '+inf', int(now - used), 'LIMIT', 0, 9)) do
  if other ~= digest and other ~= former and #others < 8 then others[#others + 1] = string.sub(other, 1, 64) end
end
local eldest = redis.call('ZRANGE', seen, 0, 0, 'WITHSCORES')
-- This configuration's text is wanted once, if there is room: full of such as are in use, the store takes no more.
local wanted = digest ~= '' and not known and (redis.call('ZCARD', seen) < confs_most or num(eldest[2]) < now - used)

-- The fleet's size: the hellos of this hour and the one before, each weighed with the time until its device's next; and how
-- many they were, beside those that say only that a device has started. One that was heard of within two hours is in there
-- already: a device that starts over and over is no fleet.
if h ~= hour then
  if h == hour - 1 then prev, bp, np = cur, b, n else prev, bp, np = 0, 0, 0 end
  cur, b, n = 0, 0, 0
end
local weight = math.min(tonumber(ARGV[1]), 2592000000)
if weight > 0 then cur, n = cur + weight, n + 1 elseif weight == 0 and now - heard >= 7200000 then b = b + 1 end
-- A first write that a full Redis accepts: without its size a large fleet would take itself for one device, and crowd.
redis.pcall('DEL', size)
redis.pcall('HSET', size, 'hour', hour, 'now', int(cur), 'before', int(prev), 'boots', b, 'boots_before', bp,
  'hellos', n, 'hellos_before', np)
redis.pcall('PEXPIRE', size, 7200000)

-- This device: time, this boot, the boot before, version, digest. A boot that comes back after another one was there is two
-- machines of one name.
local was_boot, older_boot = string.match(entry, '^%d+ (%S+) (%S+)')
local twin = older_boot == boot and boot ~= '-'               -- which stands for none
if was_boot ~= boot then older_boot = was_boot or '-' end
redis.pcall('HSET', devices, device, table.concat({int(now), boot, older_boot, version, digest ~= '' and digest or '-'}, ' '))
-- What is older than the retention goes, two looked at each time.
for _, key in ipairs({devices, jobs}) do
  local some = redis.pcall('HRANDFIELD', key, 2)
  for _, field in ipairs(some.err and {} or some) do
    local time = num(string.match(redis.call('HGET', key, field) or '', '^%d+'))
    if time + keep < now then redis.pcall('HDEL', key, field) end
  end
end
if known then redis.pcall('ZADD', seen, int(now), digest) end
if eldest[1] and eldest[1] ~= digest and num(eldest[2]) + keep < now then
  redis.pcall('ZREM', seen, eldest[1])
  redis.pcall('HDEL', confs, eldest[1])
end
redis.pcall('ZREM', seen, former)
redis.pcall('HDEL', confs, former)
for _, key in ipairs({devices, confs, seen}) do
  if redis.call('PTTL', key) < keep then redis.pcall('PEXPIRE', key, int(keep)) end
end
-- What is left of this hour is the share of the one before; in whole numbers, so that every build counts the same.
local rest = 3600000 - now % 3600000
local share = math.floor(prev / 3600000) * rest + math.floor(prev % 3600000 * rest / 3600000)
return {'hello', now, math.max(1, math.floor((cur + share) / 3600000)), n + np, b + bp, twin and 1 or 0, wanted and 1 or 0, done, others}
