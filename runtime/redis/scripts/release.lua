-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim      ARGV 1 token, as it was shown
-- A person frees the lock, as long as it is the one that was shown: that of a run here marks its claim too, so that no renewal
-- that comes late brings it back (PROTOCOL rule 5). 'other' says what is there instead; '': nothing. What is not rota's may be
-- longer than what is shown of it, and have bytes that are shown as \xNN (base/text.h).
local lock, claim, token = KEYS[1], KEYS[2], ARGV[1]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local holder = redis.call('GETRANGE', lock, 0, 128)
local c = redis.call('HMGET', claim, 'token', 'state')
local bytes = string.gsub(token, '\\x(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
if holder == '' or (holder ~= token and holder ~= bytes) then return {'other', now, holder} end
redis.call('DEL', lock)                                     -- a first write that a full Redis accepts
if c[1] == holder and c[2] == 'running' then redis.call('HSET', claim, 'state', 'released') end
return {'released', now, holder}
