-- SPDX-License-Identifier: MIT
-- KEYS 1 jobs  2 confs  3 seen      all of {_fleet}      ARGV 1 job  2 a configuration is in use for so many ms after a hello with it
-- A retired job is no more in the fleet's list. 'used': a configuration in use has it; it is to be taken out there first.
local jobs, confs, seen, job = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local since = string.format('%.0f', now - tonumber(ARGV[2]))
redis.call('HEXISTS', jobs, job)
for _, digest in ipairs(redis.call('ZREVRANGEBYSCORE', seen, '+inf', since, 'LIMIT', 0, 64)) do
  local text = '\n' .. (redis.call('HGET', confs, digest) or '')
  if string.find(text, '\n' .. job .. ' ', 1, true) then return {'used', now, digest} end
end
redis.call('HDEL', jobs, job)
return {'unlisted', now, ''}
