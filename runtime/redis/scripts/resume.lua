-- SPDX-License-Identifier: MIT
-- KEYS 1 pause  2 claim      ARGV 1 catch up (1: what fell due while it was paused is taken after all; 0: it has passed)
-- Failures in a row are counted from here anew.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local before = redis.call('GETRANGE', KEYS[1], 0, 255)
redis.call('HEXISTS', KEYS[2], 'v')
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], 'fails')
if ARGV[1] == '1' then redis.call('HDEL', KEYS[2], 'paused') end
return {'resumed', now, before}
