-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim      ARGV 1 token  2 ttl  3 turn  4 attempt  5 fence  6 lease (the largest ttl)  7 retention
local lock, claim = KEYS[1], KEYS[2]
local token, ttl, turn, att, fence, lease, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local function int(x) return string.format('%.0f', x) end
-- A field that somebody has damaged counts as 0, and harms nobody else.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
-- As in acquire.lua.
local function short(x) return string.sub(x or '', 1, 128) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local left = redis.call('PTTL', lock)
local holder = left ~= -2 and redis.call('GETRANGE', lock, 0, 127) or nil
local c = redis.call('HMGET', claim, 'turn', 'attempt', 'token', 'state', 'fence', 'v')
local c_turn, c_att, c_tok, c_state, c_fence = num(c[1]), num(c[2]), short(c[3]), short(c[4]), num(c[5])

-- A run that was finished, or taken away by an operator, is not brought back by a renewal that comes late.
if c_tok == token and c_state ~= 'running' then return {'lost', now, 0, c_state} end
if holder ~= nil and holder ~= token then return {'lost', now, left, holder} end
-- The key is ours, or gone. Gone: only if nobody has had a turn since.
local other = c_state ~= 'blank' and c_state ~= 'assumed' and c_tok ~= token
-- A try that was declined was one all the same. One that never started was none: of a quorum, servers that have granted
-- another device, which gave it back, join the majority's lease by this.
local tries = c_att + (c_state == 'declined' and 1 or 0)
local newer = other and (c_turn > turn or (c_turn == turn and tries >= att))
if holder == nil and newer then return {'lost', now, 0, c_tok} end
if holder == token then
  redis.call('PEXPIRE', lock, ttl)                            -- not refused by a full Redis
else
  redis.call('DEL', lock)                                     -- a first write that a full Redis accepts ...
  redis.call('SET', lock, token, 'PX', ttl)                   -- ... so that this one is accepted too
end
if c_tok ~= token and not newer then                          -- the record is gone or older: write it again
  redis.call('HSET', claim, 'v', math.max(1, num(c[6])), 'turn', int(turn), 'attempt', int(att), 'token', token, 'state', 'running',
    'fence', int(math.max(fence, c_fence)), 'ttl', lease, 'started', '', 'ended', '', 'detail', '', 'held', '', 'retry', 0, 'delay', 0,
    'manual', '')
  redis.call('PEXPIRE', claim, keep)
end
if holder == token then return {'renewed', now, left} end
return {'regained', now, 0}
