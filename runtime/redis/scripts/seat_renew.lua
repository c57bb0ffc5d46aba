-- SPDX-License-Identifier: MIT
-- KEYS 1 seats  2 claim  3 devices
-- ARGV 1 token  2 ttl  3 turn  4 attempt  5 retention  6 concurrency  7 device  8 boot
local seats, claim, devices = KEYS[1], KEYS[2], KEYS[3]
local token, ttl, turn, att, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local most, device, boot = tonumber(ARGV[6]), ARGV[7], ARGV[8]
local function int(x) return string.format('%.0f', x) end
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
-- As in acquire.lua.
local function short(x) return string.sub(x or '', 1, 128) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local score = num(redis.call('ZSCORE', seats, token))
local taken = redis.call('ZCOUNT', seats, '(' .. int(now), '+inf')
-- As in seat_acquire.lua, by place: 1 turn, 2 attempt, 3 done, 11 state, 13 schedule print, 14 token.
local f = {string.match(redis.call('HGET', devices, device) or '', '^' .. string.rep('(%d+) ', 10) .. '(%S+) (%S+) (%S+) (.*)$')}
local r_turn, state, r_tok = num(f[1]), short(f[11]), short(f[14])
-- A try that was given back was one all the same.
local tries = num(f[2]) + ((state == 'declined' or state == 'unstarted') and 1 or 0)
local longest = num(redis.call('HGET', claim, 'seat_ttl'))

-- A run that was finished is not brought back by a renewal that comes late (rule 5); nor one after which this device has
-- had a turn (rule 6).
if r_tok == token and state ~= 'running' then return {'lost', now, 0, state} end
if r_tok ~= token and r_tok ~= '' and (r_turn > turn or (r_turn == turn and tries >= att)) then return {'lost', now, 0, r_tok} end
if score <= now and taken >= most then return {'lost', now, 0, ''} end
-- A first write that a full Redis accepts, so that the ones after it are accepted too.
redis.call('ZREM', seats, token)
redis.call('ZADD', seats, int(now + ttl), token)
if ttl > longest then                                         -- the claim is gone: an acquire would cut this seat
  longest = ttl
  redis.call('HSET', claim, 'seat_ttl', int(ttl))
end
redis.call('PEXPIRE', seats, int(keep + longest))
redis.call('PEXPIRE', claim, int(keep))
if r_tok ~= token then                                        -- the record is gone or older: write it again
  redis.call('HSET', devices, device, table.concat({int(turn), int(att), int(num(f[3])), 0, 0, 0, 0, 0, 0, 0, 'running', boot,
    f[13] or '-', token}, ' '))
  redis.call('PEXPIRE', devices, int(keep))
end
if score > now then return {'renewed', now, score - now} end
return {'regained', now, 0}
