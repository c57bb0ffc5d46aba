-- SPDX-License-Identifier: MIT
-- KEYS 1 pause      ARGV 1 text  2 how long (ms; 0: until it is resumed)
-- The text is WHO: WHY, one line of at most 256 bytes; WHO has no colon, and is `rota` where seat_finish.lua or
-- seat_acquire.lua stopped the job. Its end is the key's expiry.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local before = redis.call('GETRANGE', KEYS[1], 0, 255)
redis.call('DEL', KEYS[1])                                  -- a first write that a full Redis accepts
if ARGV[2] == '0' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {'paused', now, before}
