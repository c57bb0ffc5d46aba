-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim  3 pause  4 seats  5 devices
-- What is known of a job, for people. Numbers that are not there are 0, times are the server's.
local lock, claim, pause, seats, devices = unpack(KEYS)
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
-- A text that somebody has damaged may be of any length, and is to cost nobody a connection: a reply has 64 KiB.
local function short(x) return string.sub(x or '', 1, 256) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local c = redis.call('HMGET', claim, 'turn', 'attempt', 'token', 'state', 'fence', 'done', 'retry', 'started', 'ended', 'detail', 'scope',
  'fingerprint', 'version', 'v', 'paused', 'fails', 'streak')
return {'job', now, num(c[1]), num(c[2]), short(c[3]), short(c[4]), num(c[5]), num(c[6]), num(c[7]), num(c[8]), num(c[9]), short(c[10]),
  short(c[11]), short(c[12]), num(c[13]), num(c[14]), num(c[15]), num(c[16]), num(c[17]), redis.call('GETRANGE', lock, 0, 128),
  redis.call('PTTL', lock), redis.call('GETRANGE', pause, 0, 255), redis.call('PTTL', pause),
  redis.call('ZCOUNT', seats, '(' .. string.format('%.0f', now), '+inf'), redis.call('HLEN', devices)}
