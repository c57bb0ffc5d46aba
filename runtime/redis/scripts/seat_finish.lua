-- SPDX-License-Identifier: MIT
-- KEYS 1 seats  2 claim  3 devices  4 history  5 pause
-- ARGV 1 token  2 turn  3 attempt  4 outcome  5 covers  6 retry_delay  7 attempts  8 retention  9 history cap  10 detail
--     11 ran (ms)  12 clean (0: some of the tree could not be killed)  13 version (0: off)  14 device  15 boot
--     16 stop_after_failures (0: off)  17 lease (the largest ttl)
local seats, claim, devices, history, pause = unpack(KEYS)
local token, turn, att, outcome, covers = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local delay, attempts, keep, cap, detail, ran = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local clean, version, device, boot, stop_after = ARGV[12] == '1', tonumber(ARGV[13]), ARGV[14], ARGV[15], tonumber(ARGV[16])
local lease = tonumber(ARGV[17])
local function int(x) return string.format('%.0f', x) end
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
--            settles the turn, frees the seat, tried again, gives the attempt back
local kind = ({ succeeded = {1, 1, 0, 0}, nothing = {1, 1, 0, 0}, stopped = {1, 1, 0, 0}, failed = {0, 1, 1, 0}, refused = {0, 1, 1, 0},
                declined = {0, 1, 0, 1}, unstarted = {0, 1, 0, 1},
                crashed = {0, 0, 1, 0}, overrun = {0, 0, 1, 0}, lost = {0, 0, 1, 0} })[outcome]
if not kind then return redis.error_reply('ERR rota: unknown outcome') end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local score = redis.call('ZSCORE', seats, token)
local c = redis.call('HMGET', claim, 'fails', 'mean', 'runs', 'v', 'version')
local why = redis.call('GETRANGE', pause, 0, 255)
-- As in seat_acquire.lua.
local f = {string.match(redis.call('HGET', devices, device) or '', '^' .. string.rep('(%d+) ', 10) .. '(%S+) (%S+) (%S+) (.*)$')}
local r = {turn = num(f[1]), attempt = num(f[2]), done = num(f[3]), retry = num(f[4]), delay = num(f[5]), started = num(f[6]),
  ended = num(f[7]), blank = num(f[8]), ask = num(f[9]), flags = num(f[10]), state = f[11] or 'new', boot = f[12] or boot,
  print = f[13] or '-', token = f[14] or ''}
local function flag(bit) return math.floor(r.flags / bit) % 2 end   -- 1 held  2 stopped the job  4 by hand

-- A repeat: the same answer, nothing twice. A run that was given up by its device's next has a state, but no end yet.
local mine = r.token == token
if mine and r.state ~= 'running' and r.ended > 0 then
  return {'recorded', now, flag(1), r.state == 'gave_up' and 1 or 0, flag(2)}
end
local held = num(score) > now and 1 or 0
local manual = mine and flag(4) == 1
-- The record is gone, or older than this run. A try that was given back was one all the same.
local tries = r.attempt + ((r.state == 'declined' or r.state == 'unstarted') and 1 or 0)
local behind = r.turn < turn or (r.turn == turn and tries < att)
-- The first write is one that a full Redis accepts; the ones after it are then accepted too.
if score then redis.call('ZREM', seats, token) else redis.call('PEXPIRE', claim, keep) end
if outcome == 'unstarted' and not mine then return {'recorded', now, held, 0, 0} end
local frees = kind[2] == 1 and clean
if held == 1 and not frees then
  redis.call('ZADD', seats, score, '~' .. token)
  if redis.call('PTTL', seats) < 0 then redis.call('PEXPIREAT', seats, score) end   -- it was the last one, so the key is new
end

-- The brake: failures in a row over the whole fleet. Where the seat is gone, seat_acquire.lua has counted its run as
-- vanished: one that was no failure is taken back, and the brake that came of it. A lost lease is no failure of the job: the
-- way to here was gone, and is back.
local stopped, gave_up = 0, 0
local failed = kind[3] == 1 and outcome ~= 'lost'
if not failed then
  local fails, success = num(c[1]), outcome == 'succeeded' or outcome == 'nothing'
  local braked = not score and string.find(why, '^rota: [%w ]+; last: %S+, vanished$')
  if success and not braked then fails = 0
  elseif not score then fails = math.max(fails - 1, 0) end
  if braked and fails < stop_after then redis.call('DEL', pause) end
  redis.call('HSET', claim, 'fails', fails)
end
if failed and score and not manual then
  local fails = num(c[1]) + 1
  redis.call('HSET', claim, 'fails', fails)
  if stop_after > 0 and fails >= stop_after and why == '' then
    stopped = 1
    redis.call('SET', pause, string.sub('rota: stopped after ' .. fails ..
      (fails == 1 and ' failure' or ' failures in a row') .. '; last: ' .. (string.match(token, '^(.*):') or token) .. ', ' ..
      outcome .. (detail ~= '' and ': ' .. detail or ''), 1, 256))
  end
end
if outcome == 'succeeded' and version > num(c[5]) then redis.call('HSET', claim, 'version', int(version)) end
-- How long a seat is taken, over the newest 128 runs: what the queue is told by.
if mine and score and kind[4] == 0 and r.started > 0 and r.started <= now then
  local took, runs = (frees and now or math.max(now, num(score))) - r.started, math.min(num(c[3]) + 1, 128)
  redis.call('HSET', claim, 'mean', int(math.max(1, num(c[2]) + (took - num(c[2])) / runs)), 'runs', runs)
end
redis.call('HSET', claim, 'v', math.max(1, num(c[4])))
redis.call('PEXPIRE', claim, keep)

if kind[1] == 1 then r.done = math.max(r.done, turn, covers <= now and covers or 0) end
if mine or behind or r.token == '' then
  -- Where the record was gone, other runs may have outlived it: the wait for them to take their leases back begins, or goes
  -- on (seat_acquire, 9).
  if r.state == 'new' then r.blank = now + lease end
  local back = (outcome == 'declined' and attempts == 1) and 0 or kind[4]    -- attempts = 1: what was started is never started again
  r.state = outcome
  if kind[3] == 1 and (manual or att >= attempts or outcome == 'refused') then r.state, gave_up = 'gave_up', 1 end
  r.turn, r.attempt, r.token, r.ended = turn, att - back, token, now
  r.retry, r.delay = kind[3] == 1 and now + delay or 0, kind[3] == 1 and delay or 0
  r.flags = held + 2 * stopped + (manual and 4 or 0)
end
redis.call('HSET', devices, device, table.concat({int(r.turn), int(r.attempt), int(r.done), int(r.retry), int(r.delay),
  int(r.started), int(r.ended), int(r.blank), int(r.ask), int(r.flags), r.state, r.boot, r.print, r.token}, ' '))
redis.call('PEXPIRE', devices, keep)
if cap ~= '0' then
  local entry = redis.pcall('XADD', history, 'MAXLEN', '~', cap, '*', 'turn', int(turn), 'attempt', int(att), 'token', token,
    'outcome', outcome, 'held', held, 'ran', ran, 'detail', detail)
  if type(entry) == 'string' then redis.pcall('PEXPIRE', history, keep) end   -- else the key is not ours
end
return {'recorded', now, held, gave_up, stopped}
