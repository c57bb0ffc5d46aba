-- SPDX-License-Identifier: MIT
-- KEYS 1 seats  2 claim  3 pause  4 devices  5 history  6 lock  7 queue
-- ARGV 1 token  2 turn (0: manual, the server's now)  3 next (first turn after it, 0: manual, -1: also while
--      the job is paused)  4 ttl  5 attempts  6 fresh  7 retention  8 history cap  9 fingerprint  10 schedule print  11 version (0: off)
--     12 concurrency  13 device  14 boot  15 stop_after_failures (0: off)
--
-- A seat is a member of `seats` until its score: the token, or ~token where its run has ended and what it left behind is
-- unknown (rule 9). What a device did last is one text in `devices`; `queue` has the devices that found no seat, by the
-- time of their first refusal. Of the claim the seats use v, scope, fingerprint, by, version, paused, done, fails, mean,
-- runs and seat_ttl.
local seats, claim, pause, devices, history, lock, queue = unpack(KEYS)
local token, turn, nxt, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local attempts, fresh, keep, cap = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local fingerprint, print, version, most = ARGV[9], ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
local device, boot, stop_after = ARGV[13], ARGV[14], tonumber(ARGV[15])
local layout = 1                                            -- of claims; the newest that this script knows
local function int(x) return string.format('%.0f', x) end
-- A field that somebody has damaged counts as 0, and harms nobody else.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
-- A text that somebody has damaged may be of any length, and is to cost nobody a connection: a reply has 64 KiB.
local function short(x) return string.sub(x or '', 1, 128) end
-- The record of a device: ten numbers, three words, the token of its newest attempt. nil: none, or a damaged one.
local function read(text)
  local f = {string.match(text or '', '^' .. string.rep('(%d+) ', 10) .. '(%S+) (%S+) (%S+) (.*)$')}
  if not f[1] then return nil end
  return {turn = num(f[1]), attempt = num(f[2]), done = num(f[3]), retry = num(f[4]), delay = num(f[5]), started = num(f[6]),
    ended = num(f[7]), blank = num(f[8]), ask = num(f[9]), flags = num(f[10]), state = short(f[11]), boot = f[12], print = f[13],
    token = short(f[14])}
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- All reads before any write: a key of a wrong type ends the script with nothing changed.
local c = redis.call('HMGET', claim, 'v', 'version', 'scope', 'fingerprint', 'by', 'paused', 'done', 'fails', 'mean', 'token',
  'seat_ttl', 'ttl')
local c_paused, c_done, fails, mean = num(c[6]), num(c[7]), num(c[8]), num(c[9])
local why, pause_left = redis.call('GETRANGE', pause, 0, 255), redis.call('PTTL', pause)
local holder = redis.call('GETRANGE', lock, 0, 127)
local r = read(redis.call('HGET', devices, device))
local score = num(redis.call('ZSCORE', seats, token))
local taken = redis.call('ZCOUNT', seats, '(' .. int(now), '+inf')
local over = redis.call('ZRANGEBYSCORE', seats, '-inf', int(now))
local longest = math.max(ttl, num(c[11]))                   -- that was ever asked for
local ahead = redis.call('ZRANGEBYSCORE', seats, '(' .. int(now + longest), '+inf')
local waiting = redis.call('ZCARD', queue)
local heads = redis.call('ZRANGE', queue, 0, 1)
if turn == 0 then turn = now end
local due = nxt > 0                                         -- of the schedule, not by hand (rule 15)
if mean == 0 then mean = math.floor(ttl / 4) end            -- nothing is known yet of how long a run takes
r = r or {turn = 0, attempt = 0, done = 0, retry = 0, delay = 0, started = 0, ended = 0, blank = 0, ask = 0, flags = 0,
  state = 'new', boot = boot, print = '-', token = ''}

-- An answer says last whose the claim is, where that is another configuration: its fingerprint, and the token.
local theirs = c[3] == 'device' and string.sub(c[4] or '', 1, 32) or ''
local function say(...)
  local answer = {...}
  if theirs ~= '' and theirs ~= fingerprint then
    answer[#answer + 1], answer[#answer + 2] = theirs, short(c[5])
  end
  return answer
end
local function write(call)
  call('HSET', devices, device, table.concat({int(r.turn), int(r.attempt), int(r.done), int(r.retry), int(r.delay),
    int(r.started), int(r.ended), int(r.blank), int(r.ask), int(r.flags), r.state, r.boot, r.print, r.token}, ' '))
  call('PEXPIRE', devices, int(keep))
end
local function sit()
  redis.call('ZADD', seats, int(now + ttl), token)
  -- Much longer than its seats, so that whoever asks next finds those that ended without a word.
  redis.call('PEXPIRE', seats, int(keep + longest))
end

-- 1. The same token again: the answer is the same, and the time to live starts anew.
local mine = r.token == token
if mine and r.state ~= 'running' then return {'over', now, r.state} end
if mine and (score > now or taken < most) then
  sit()
  local manual = math.floor(r.flags / 4) % 2 == 1
  return say(r.turn <= r.done and not manual and 'spare' or 'acquired', now, 0, r.attempt, r.turn)
end
-- 2. Not for this device (as acquire.lua, 2). A run of the other scope, or what it left behind, holds the lock. That is cut
-- where it has more left than was asked for, as acquire.lua does (rule 8).
if num(c[1]) > layout then return {'newer', now, num(c[1])} end
-- Its claim may tell of another attempt, where two masters became one: in a lock of the job's own every token counts.
local runs = holder == c[10] or
  string.sub(lock, 1, -5) == string.sub(claim, 1, -6) and string.find(holder, '.:' .. string.rep('%x', 32) .. '$')
if holder ~= '' and runs then
  local lock_left, lock_most = redis.call('PTTL', lock), math.max(num(c[12]), ttl)
  if lock_left > lock_most or lock_left < 0 then redis.call('PEXPIRE', lock, int(lock_most)) end
  return {'mismatch', now, 'device', 'fleet', holder}
end
if version < num(c[2]) then return {'outdated', now, num(c[2])} end
-- 3. A seat has never more left than was asked for, and no record lies more than one turn in the server's future: else its
-- clock was set back (as acquire.lua, 3).
for _, seat in ipairs(ahead) do redis.pcall('ZADD', seats, 'XX', int(now + longest), seat) end
local left = math.max(num(redis.call('ZSCORE', seats, r.token)), num(redis.call('ZSCORE', seats, '~' .. r.token))) - now
local most_ahead = turn > now and now + nxt - turn or math.max(now, nxt)
if due and c_paused > most_ahead then
  redis.call('HSET', claim, 'paused', 0)
  c_paused = 0
end
local ahead = due and math.max(r.turn, r.done) > most_ahead
if ahead and left <= 0 then
  local upto = math.min(turn, now)
  r.turn, r.attempt, r.done, r.retry, r.blank, r.state, r.token, r.print = upto, 0, upto, 0, 0, 'assumed', '', print
  write(redis.call)
  if turn <= now then return say('done', now, turn, 'clock', '') end
end
if turn > now then return {'early', now, turn - now} end
-- 4. Settled here, or overtaken. What was asked for while the job was paused has passed for every device, whether it asked
-- or waited (rule 17).
-- A record from the future says nothing of that: its seat, which is still there, ends first (5).
if turn <= r.done and not ahead then return say('done', now, r.done, '', r.turn == r.done and r.token or '') end
if due and turn <= c_paused and why == '' then return say('done', now, c_paused, 'paused', '') end
if turn < r.turn and not ahead then return say('passed', now, r.turn) end
-- 5. The seat of this device's run before, which ended without a word or left something behind: it is not taken from it.
if left > 0 and not mine then return say('held', now, left, r.token, r.turn, 0, 0) end
-- 6. Seats that ran out without a finish are runs that vanished: failures, for the brake. Their devices may never come back.
local vanished
for _, seat in ipairs(over) do
  if seat ~= token and string.sub(seat, 1, 1) ~= '~' then fails, vanished = fails + 1, short(seat) end
end
if #over > 0 then redis.call('ZREMRANGEBYSCORE', seats, '-inf', int(now)) end
if vanished then
  redis.call('HSET', claim, 'v', layout, 'fails', fails)
  redis.call('PEXPIRE', claim, int(keep))
  if stop_after > 0 and fails >= stop_after and why == '' then
    why = 'rota: stopped after ' .. fails .. (fails == 1 and ' failure' or ' failures in a row') .. '; last: ' ..
      (string.match(vanished, '^(.*):') or vanished) .. ', vanished'
    pause_left = -1
    redis.call('SET', pause, why)
  end
end
-- 7. Paused.
if why ~= '' and nxt >= 0 then
  if due then
    redis.pcall('HSET', claim, 'v', layout, 'paused', int(math.max(turn, c_paused)))
    redis.pcall('PEXPIRE', claim, int(keep))
  end
  return {'paused', now, why, pause_left}
end
-- 8. First sight: this device has no record, or one of another schedule (rule 7). One that was written by a run that
-- outlived it knows no schedule: that is no edit. Whoever had a seat in lost data has one lease to take it back, also where
-- the first question came late: it may be one of long ago, with newer turns behind it that are old as well.
if due and (r.state == 'new' or (r.print ~= '-' and r.print ~= print)) then
  local late = now - turn > fresh
  r.print = print
  r.blank = now + ttl
  if late then r.done = turn end
  if r.state == 'new' then r.turn, r.state = turn, late and 'assumed' or 'blank' end
  write(redis.call)
  if late then return say('done', now, turn, 'assumed', '') end
  return say('wait', now, ttl, 'blank')
end
-- 9. Waiting, never longer than was asked for (rule 8); then the tries that this device has had.
if due and r.blank > now then
  if r.blank > now + ttl then
    r.blank = now + ttl
    write(redis.pcall)
  end
  return say('wait', now, r.blank - now, 'blank')
end
if turn == r.turn and r.attempt < attempts and r.retry > now and not mine then
  if r.retry > now + r.delay then
    r.retry = now + r.delay
    write(redis.pcall)
  end
  return say('wait', now, r.retry - now, r.state)
end
local gone = r.state == 'running' and not mine and
  {'turn', int(r.turn), 'attempt', int(r.attempt), 'token', r.token, 'outcome', 'vanished', 'detail', r.boot ~= boot and 'rebooted' or ''}
local function tell()
  if not gone or cap == '0' then return end
  local entry = redis.pcall('XADD', history, 'MAXLEN', '~', cap, '*', unpack(gone))
  if type(entry) == 'string' then redis.pcall('PEXPIRE', history, int(keep)) end   -- else the key is not ours
end
if turn == r.turn and r.attempt >= attempts and not mine then
  local first = r.state ~= 'gave_up' and 1 or 0
  r.state = 'gave_up'
  write(redis.call)
  tell()
  return say('exhausted', now, r.attempt, first)
end
-- 10. A seat is for the front of the queue: as many as there are seats, or a twentieth of it where that is more; so those in
-- it who come a little early are not sent away. Nobody is overtaken by who is new, nor by who came later than it takes to
-- serve that front: two who take turns would pass a third for ever. Who gets none is told when its turn should be, by its
-- place and how long runs take, and one run more, or a twentieth of the lease: one that crashed keeps its seat so long. Heads
-- that did not come when told are dropped.
local run = math.max(mean, math.floor(ttl / 20))
for _, head in ipairs(heads) do
  local record = head ~= device and read(redis.call('HGET', devices, head))
  local ask = record and record.ask or 0
  if head ~= device and (ask + math.max(ttl, mean) < now or ask > now + keep) then
    redis.call('ZREM', queue, head)
    waiting = waiting - 1
  end
end
local queued = redis.call('ZRANK', queue, device)
local place, front = queued or waiting, queued and math.max(20 * most, waiting) or 0   -- twenty times as many
if queued then
  local since = num(redis.call('ZSCORE', queue, device)) - num(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2])
  if 20 * most * since > run * front then front = 0 end
end
local free = most - redis.call('ZCOUNT', seats, '(' .. int(now), '+inf')
if free <= 0 or 20 * (place - free) >= front then
  local wait = math.ceil(run + mean * (place + 1) / most)
  if due then wait = math.min(wait, math.max(1, math.floor((nxt - turn) / 4))) end
  redis.pcall('ZADD', queue, 'NX', int(now), device)
  redis.pcall('PEXPIRE', queue, int(math.max(wait + math.max(ttl, mean), redis.call('PTTL', queue))))
  r.ask = now + wait
  write(redis.pcall)
  return say('full', now, wait, most - free, place + 1)
end
-- 11. Granted. The seat first: where it is refused, nothing else has changed. The record is there before the run starts.
sit()
redis.call('ZREM', queue, device)
if not mine then
  r.attempt = turn == r.turn and r.attempt + 1 or 1
  r.turn, r.state, r.boot, r.token, r.retry, r.delay = turn, 'running', boot, token, 0, 0
  r.started, r.ended, r.flags = now, 0, due and 0 or 4
  if due then r.print = print end
end
r.ask = 0
write(redis.call)
-- `done` is for acquire.lua: the turns of an edited job that the seats have had do not run again in the other scope.
redis.call('HSET', claim, 'v', layout, 'scope', 'device', 'fingerprint', fingerprint, 'by', token,
  'seat_ttl', int(longest), 'done', int(math.max(c_done, due and turn or 0)))
redis.call('PEXPIRE', claim, int(keep))
-- Devices that are no more are forgotten, two looked at each time.
local some = redis.pcall('HRANDFIELD', devices, 2)
for _, other in ipairs(some.err and {} or some) do
  local record = other == device and r or read(redis.call('HGET', devices, other))
  local last = record and math.max(record.turn, record.done, record.ended, record.blank, record.ask) or 0
  if record ~= r and last + keep < now then redis.call('HDEL', devices, other) end
end
tell()
return say('acquired', now, 0, r.attempt, r.turn)
