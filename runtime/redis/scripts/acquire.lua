-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim  3 pause  4 history  5 seats
-- ARGV 1 token  2 turn (0: manual, the server's now)  3 next (first turn after it, 0: manual, -1: also while
--      the job is paused)  4 ttl  5 attempts  6 fence_seen  7 fresh  8 retention  9 history cap  10 first (1: this token's first ask; 0: again)
--     11 fingerprint  12 schedule print  13 version (0: off)
local lock, claim, pause, history, seats = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local token, turn, nxt, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local attempts, seen, fresh = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local keep, cap, first_ask = ARGV[8], ARGV[9], ARGV[10] == '1'
local fingerprint, print, version = ARGV[11], ARGV[12], tonumber(ARGV[13])
local layout = 1                                            -- of claims; the newest that this script knows
local function int(x) return string.format('%.0f', x) end
-- A field that somebody has damaged counts as 0, and harms nobody else. To one more a reply has room.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 - 1 and math.floor(x) or 0
end
-- A text that somebody has damaged may be of any length, and is to cost nobody a connection: a reply has 64 KiB.
local function short(x) return string.sub(x or '', 1, 128) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- All reads before any write: a key of a wrong type ends the script with nothing changed.
local left = redis.call('PTTL', lock)                       -- -2 absent, -1 no expiry
local holder = left ~= -2 and redis.call('GETRANGE', lock, 0, 127) or nil
local c = redis.call('HMGET', claim, 'turn', 'attempt', 'token', 'state', 'fence', 'done', 'retry', 'delay', 'ttl', 'streak', 'watch',
  'paused', 'manual', 'schedules', 'sights', 'watched', 'v', 'version', 'fingerprint', 'seat_ttl', 'scope')
local c_turn, c_att, c_tok, c_state = num(c[1]), num(c[2]), short(c[3]), short(c[4])
local c_fence, c_done, c_retry = num(c[5]), num(c[6]), num(c[7])
local c_delay, c_ttl = num(c[8]), num(c[9])
local streak, c_paused, c_manual = num(c[10]), num(c[12]), c[13] == '1'
local schedules, sights = c[14] or '', c[15] or ''
local why = redis.call('GETRANGE', pause, 0, 255)
local pause_left = redis.call('PTTL', pause)
-- A seat with more left than was ever asked for is of a clock set back (rule 8).
local longest = math.max(ttl, num(c[20]))
local beyond = redis.call('ZRANGEBYSCORE', seats, '(' .. int(now + longest), '+inf')
if turn == 0 then turn = now end
-- Turns of the schedule, not by hand (rule 15).
local due = nxt > 0

-- An answer of the claim says last whose it is, where that is another configuration: its fingerprint, and the token.
local theirs = c[21] == 'fleet' and string.sub(c[19] or '', 1, 32) or ''
local function say(...)
  local answer = {...}
  if theirs ~= '' and theirs ~= fingerprint then
    answer[#answer + 1], answer[#answer + 2] = theirs, c_tok
  end
  return answer
end

-- The newest four words, the newest first.
local function remember(words, word)
  local count, list = 1, word
  for old in string.gmatch(words, '%S+') do
    if old ~= word and count < 4 then count, list = count + 1, list .. ' ' .. old end
  end
  return list
end
local function knows(words, word)
  return string.find(' ' .. words .. ' ', ' ' .. word .. ' ', 1, true) ~= nil
end

-- 1. The same token again: the answer is the same, and the time to live starts anew.
if c_tok == token then
  if c_state ~= 'running' then return {'over', now, c_state} end
  if holder == nil or holder == token then
    redis.call('SET', lock, token, 'PX', ttl)
    -- Settled since, by a late success of an attempt before (rule 3). Who asks again was not told of its grant, so it has
    -- started nothing: `spare` says that it is to be finished as unstarted. Nothing is freed here, for this may be an old
    -- message that comes late, of a run that goes on.
    return say(c_turn <= c_done and not c_manual and 'spare' or 'acquired', now, c_fence, c_att, c_turn)
  end
end
-- 2. Not for this device: the claim is of a layout that this script does not know; the job runs in the other scope; or a
-- higher version of it has succeeded. None of these writes, but that seats are cut.
if num(c[17]) > layout then return {'newer', now, num(c[17])} end
for _, who in ipairs(beyond) do redis.pcall('ZADD', seats, 'XX', int(now + longest), who) end
local seat = redis.call('ZRANGEBYSCORE', seats, '(' .. int(now), '+inf', 'LIMIT', 0, 1)[1]
if seat then return {'mismatch', now, 'fleet', 'device', short(string.gsub(seat, '^~', ''))} end
if version < num(c[18]) then return {'outdated', now, num(c[18])} end
-- 3. The record lies more than one turn in the server's future: its clock was set back. Then it is void: settled up to
-- this turn; and up to now, where who asks has to learn of the clock first, so that this costs no turn more.
local top = math.max(c_turn, c_done, c_paused)
local ahead = due and top > (turn > now and now + nxt - turn or math.max(now, nxt))
-- A claim that has had no turn in this scope, only those of its seats or of a pause, becomes no record by that (7).
if ahead and holder == nil and c_turn == 0 then
  redis.call('HSET', claim, 'done', 0, 'paused', 0)
  c_done, c_paused, ahead = 0, 0, false
elseif ahead and holder == nil then
  local upto = int(math.min(turn, now))
  redis.call('HSET', claim, 'v', 1, 'turn', upto, 'attempt', 0, 'token', '', 'state', 'assumed', 'done', upto, 'retry', 0,
    'paused', 0, 'manual', '', 'sights', '', 'scope', 'fleet', 'fingerprint', fingerprint, 'schedules',
    remember(schedules, print))
  redis.call('PEXPIRE', claim, keep)
  if turn <= now then return say('done', now, turn, 'clock', '') end
end
-- Not yet.
if turn > now then return {'early', now, turn - now} end
-- 4. Settled, or overtaken. A record from the future says nothing of that: its lock, which is still there, ends first (5).
if not ahead then
  if turn <= c_done then return say('done', now, c_done, '', c_turn == c_done and c_tok or '') end
  if due and turn <= c_paused and why == '' then return say('done', now, c_paused, 'paused', '') end
  if turn < c_turn then return say('passed', now, c_turn) end
end
-- 5. Held. No lease of ours can have more left than it asked for; more means a clock set back. Ours is the claim's, and in
-- a lock that is not shared every token: a Redis that lost its newest writes may have an older one.
if holder ~= nil and holder ~= token then
  local watch = num(c[16]) == turn and num(c[11]) or 0   -- of this turn: a newer one has watchers of its own
  if first_ask then
    watch = watch + 1
    redis.pcall('HSET', claim, 'v', 1, 'watch', watch, 'watched', int(turn))
    redis.pcall('PEXPIRE', claim, keep)                     -- a foreign holder's is all that the claim may hold
  else
    watch = 0
  end
  local most = 0
  if holder == c_tok then
    most = c_ttl
  elseif c_ttl > 0 and string.sub(lock, 1, -5) == string.sub(claim, 1, -6) and
      string.find(holder, '.:' .. string.rep('%x', 32) .. '$') then
    most = math.max(c_ttl, ttl)
  end
  if most > 0 and (left > most or left < 0) then
    redis.call('PEXPIRE', lock, int(most)); left = most
  end
  return say('held', now, left, holder, holder == c_tok and c_turn or 0, c_fence, watch)
end
-- 6. Paused. What falls due meanwhile has passed, also where the pause ends before its turn does.
if why ~= '' and nxt >= 0 then
  if due then
    redis.pcall('HSET', claim, 'v', 1, 'paused', int(math.max(turn, c_paused)))
    redis.pcall('PEXPIRE', claim, keep)
  end
  return {'paused', now, why, pause_left}
end
-- 7. First sight. No record at all: a new job, or a Redis that lost its data. Never granted at once.
if due and c_turn == 0 then
  local late = now - turn > fresh
  redis.call('HSET', claim, 'v', 1, 'turn', int(turn), 'attempt', 0, 'token', '', 'state', late and 'assumed' or 'blank',
    'retry', int(now + ttl), 'delay', int(ttl), 'scope', 'fleet', 'fingerprint', fingerprint, 'schedules',
    remember(schedules, print))
  if late then redis.call('HSET', claim, 'done', int(turn)) end
  redis.call('PEXPIRE', claim, keep)
  if late then return say('done', now, turn, 'assumed', '') end
  return say('wait', now, ttl, 'blank')
end
-- A record, but none of this schedule: the job was edited. The record belongs to the newest attempt, whose finish may
-- still come and must find its own fields as it left them (rule 3): a wait noted in turn, state or retry would take them
-- away. So the wait stands apart, in `sights`, as schedule:until:ms, and binds only those that ask by that schedule: the
-- devices that are not yet edited go on by theirs. Nothing runs here under the lock (5 came first); a run whose key was
-- lost has the one lease to take it back. A claim without `schedules` was written by a run that outlived its record
-- (finish or renew, which do not know the schedule): it is no edit, so every schedule counts as known.
-- No edit either where the turn is the claim's own: others have begun it.
if due and schedules ~= '' and not knows(schedules, print) and not (turn == c_turn and c_att > 0) then
  local late = now - turn > fresh
  redis.call('HSET', claim, 'schedules', remember(schedules, print))
  if late then
    redis.call('HSET', claim, 'done', int(turn))             -- newer than the one that stands there (4)
  else
    redis.call('HSET', claim, 'sights', remember(sights, print .. ':' .. int(now + ttl) .. ':' .. int(ttl)))
  end
  redis.call('PEXPIRE', claim, keep)
  if late then return say('done', now, turn, 'assumed', '') end
  return say('wait', now, ttl, 'blank')
end
-- 8. Waiting: after a first sight, after a failure (this turn), or for a holder to come back (any). No wait has more left
-- than it asked for; more means a clock set back, and is cut for good, so that it comes to its end.
if due then
  local kept, cut, blank, any = {}, false, nil, nil
  for name, till, most in string.gmatch(sights, '(%S-):(%d+):(%d+)') do
    till, most = num(till), num(most)
    if till > now + most then till, cut = now + most, true end
    kept[#kept + 1] = name .. ':' .. int(till) .. ':' .. int(most)
    if name == print then blank = blank or till - now end
    if name == '*' then any = any or till - now end           -- finish, where a record was gone
  end
  if cut then redis.pcall('HSET', claim, 'sights', table.concat(kept, ' ')) end
  blank = math.max(blank or 0, any or 0)
  if blank > 0 then return say('wait', now, blank, 'blank') end
end
if c_retry > now + c_delay then
  c_retry = now + c_delay
  redis.pcall('HSET', claim, 'retry', int(c_retry))
end
-- After a first sight that came late, too: who outlived the data may still be running when the next turn falls due.
if c_retry > now and (c_state == 'blank' or c_state == 'assumed' or
    turn == c_turn and c_att < (streak > 0 and 1 or attempts)) then
  return say('wait', now, c_retry - now, c_state)
end
-- 9. How many tries this one has had. A former attempt that ended without a word is written down for it.
local gone = c_state == 'running'
local function vanished()
  if not gone or cap == '0' then return end
  local entry = redis.pcall('XADD', history, 'MAXLEN', '~', cap, '*', 'turn', int(c_turn), 'attempt', c_att, 'token', c_tok,
    'outcome', 'vanished', 'fence', int(c_fence))
  if type(entry) == 'string' then redis.pcall('PEXPIRE', history, keep) end   -- else the key is not ours
end
local most = streak > 0 and 1 or attempts                   -- given up before, and no success since: one try each
if turn == c_turn and c_att >= most then
  local first = c_state ~= 'gave_up' and 1 or 0
  redis.call('HSET', claim, 'state', 'gave_up', 'streak', streak + first)
  vanished()
  return say('exhausted', now, c_att, first)
end
local attempt = turn == c_turn and c_att + 1 or 1
-- Its last try vanished, and nobody asked since; an earlier one's late success would have settled it all the same.
if turn > c_turn and gone and not c_manual and c_att >= most and c_turn > c_done then streak = streak + 1 end
-- 10. Granted. SET first: where it is refused, nothing else has changed.
local fence = math.max(c_fence + 1, seen + 1, now)
redis.call('SET', lock, token, 'PX', ttl)
redis.call('HSET', claim, 'v', 1, 'turn', int(turn), 'attempt', attempt, 'token', token, 'state', 'running',
  'fence', int(fence), 'ttl', int(ttl), 'started', int(now), 'ended', '', 'detail', '', 'held', '', 'retry', 0, 'delay', 0, 'watch', 0,
  'streak', streak, 'manual', due and '' or 1, 'scope', 'fleet', 'fingerprint', fingerprint)
if due then redis.call('HSET', claim, 'schedules', remember(schedules, print)) end
redis.call('PEXPIRE', claim, keep)
vanished()
return say('acquired', now, fence, attempt, turn)
