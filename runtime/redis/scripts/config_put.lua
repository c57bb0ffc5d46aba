-- SPDX-License-Identifier: MIT
-- KEYS 1 confs  2 seen      ARGV 1 digest  2 text  3 retention
-- A configuration's text, which hello.lua wanted. The eldest gives way where there are too many.
local confs, seen, digest, keep = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HEXISTS', confs, digest)
local over = redis.call('ZCARD', seen) - 64
redis.call('HSET', confs, digest, ARGV[2])
redis.call('ZADD', seen, string.format('%.0f', now), digest)
if over >= 0 then
  for _, eldest in ipairs(redis.call('ZRANGE', seen, 0, over)) do
    if eldest ~= digest then
      redis.call('ZREM', seen, eldest)
      redis.call('HDEL', confs, eldest)
    end
  end
end
for _, key in ipairs({confs, seen}) do
  if redis.call('PTTL', key) < keep then redis.call('PEXPIRE', key, ARGV[3]) end
end
return {'stored', now}
