-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim  3 pause  4 history
-- ARGV 1 token  2 turn (0: manual, the server's now)  3 next (first turn after it, 0: manual)  4 ttl
--      5 attempts  6 fence_seen  7 fresh  8 retention  9 history cap  10 first (1: this token's first ask; 0: again)
--     11 fingerprint  12 schedule print
local lock, claim, pause, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, turn, nxt, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local attempts, seen, fresh = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local keep, cap, first_ask = ARGV[8], ARGV[9], ARGV[10] == '1'
local fingerprint, print = ARGV[11], ARGV[12]
local function int(x) return string.format('%.0f', x) end
-- A field that somebody has damaged counts as 0, and harms nobody else.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x <= 9007199254740992 and math.floor(x) or 0
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- All reads before any write: a key of a wrong type ends the script with nothing changed.
local left = redis.call('PTTL', lock)                       -- -2 absent, -1 no expiry
local holder = left ~= -2 and redis.call('GETRANGE', lock, 0, 127) or nil
local c = redis.call('HMGET', claim, 'turn', 'attempt', 'token', 'state', 'fence', 'done', 'retry', 'delay', 'ttl', 'streak', 'watch',
  'paused', 'manual', 'schedules', 'sights', 'watched')
local c_turn, c_att, c_tok, c_state = num(c[1]), num(c[2]), c[3] or '', c[4] or ''
local c_fence, c_done, c_retry = num(c[5]), num(c[6]), num(c[7])
local c_delay, c_ttl = num(c[8]), num(c[9])
local streak, c_paused, c_manual = num(c[10]), num(c[12]), c[13] == '1'
local schedules, sights = c[14] or '', c[15] or ''
local why = redis.call('GETRANGE', pause, 0, 255)
if turn == 0 then turn = now end
-- Turns of the schedule, not by hand (rule 15).
local due = nxt > 0

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
    return {c_turn <= c_done and not c_manual and 'spare' or 'acquired', now, c_fence, c_att, c_turn}
  end
end
-- 2. Not yet.
if turn > now then return {'early', now, turn - now} end
-- 3. The record lies more than one turn in the server's future: its clock was set back.
local top = math.max(c_turn, c_done, c_paused)
if holder == nil and due and top > now and top > nxt then
  redis.call('HSET', claim, 'v', 1, 'turn', int(turn), 'attempt', 0, 'token', '', 'state', 'assumed', 'done', int(turn), 'retry', 0,
    'paused', 0, 'manual', '', 'sights', '', 'fingerprint', fingerprint, 'schedules', remember(schedules, print))
  redis.call('PEXPIRE', claim, keep)
  return {'done', now, turn, 'clock'}
end
-- 4. Settled, or overtaken.
if turn <= c_done then return {'done', now, c_done, '', c_turn == c_done and c_tok or ''} end
if due and turn <= c_paused then return {'done', now, c_paused, 'paused'} end
if turn < c_turn then return {'passed', now, c_turn} end
-- 5. Held. No lease of ours can have more left than it asked for; more means a clock set back.
if holder ~= nil and holder ~= token then
  local watch = num(c[16]) == turn and num(c[11]) or 0   -- of this turn: a newer one has watchers of its own
  if first_ask then
    watch = watch + 1
    redis.pcall('HSET', claim, 'v', 1, 'watch', watch, 'watched', int(turn))
    redis.pcall('PEXPIRE', claim, keep)                     -- a foreign holder's is all that the claim may hold
  else
    watch = 0
  end
  if holder == c_tok and c_ttl > 0 and left > c_ttl then
    redis.call('PEXPIRE', lock, int(c_ttl)); left = c_ttl
  end
  return {'held', now, left, holder, holder == c_tok and c_turn or 0, c_fence, watch}
end
-- 6. Paused. What falls due meanwhile has passed, also where the pause ends before its turn does.
if why ~= '' then
  if due then
    redis.pcall('HSET', claim, 'v', 1, 'paused', int(turn))
    redis.pcall('PEXPIRE', claim, keep)
  end
  return {'paused', now, why}
end
-- 7. First sight. No record at all: a new job, or a Redis that lost its data. Never granted at once.
if due and c_turn == 0 then
  local late = now - turn > fresh
  redis.call('HSET', claim, 'v', 1, 'turn', int(turn), 'attempt', 0, 'token', '', 'state', late and 'assumed' or 'blank',
    'retry', late and 0 or int(now + ttl), 'delay', late and 0 or int(ttl), 'fingerprint', fingerprint, 'schedules', remember(schedules, print))
  if late then redis.call('HSET', claim, 'done', int(turn)) end
  redis.call('PEXPIRE', claim, keep)
  if late then return {'done', now, turn, 'assumed'} end
  return {'wait', now, ttl, 'blank'}
end
-- A record, but none of this schedule: the job was edited. The record belongs to the newest attempt, whose finish may
-- still come and must find its own fields as it left them (rule 3): a wait noted in turn, state or retry would take them
-- away. So the wait stands apart, in `sights`, as schedule:until:ms, and binds only those that ask by that schedule: the
-- devices that are not yet edited go on by theirs. Nothing runs here under the lock (5 came first); a run whose key was
-- lost has the one lease to take it back. A claim without `schedules` was written by a run that outlived its record
-- (finish or renew, which do not know the schedule): it is no edit, so every schedule counts as known.
if due and schedules ~= '' and not knows(schedules, print) then
  local late = now - turn > fresh
  redis.call('HSET', claim, 'schedules', remember(schedules, print))
  if late then
    redis.call('HSET', claim, 'done', int(turn))             -- newer than the one that stands there (4)
  else
    redis.call('HSET', claim, 'sights', remember(sights, print .. ':' .. int(now + ttl) .. ':' .. int(ttl)))
  end
  redis.call('PEXPIRE', claim, keep)
  if late then return {'done', now, turn, 'assumed'} end
  return {'wait', now, ttl, 'blank'}
end
-- 8. Waiting: after a first sight, after a failure (this turn), or for a holder to come back (any). No wait has more left
-- than it asked for; more means a clock set back, and is cut for good, so that it comes to its end.
if due then
  local kept, cut, blank = {}, false, nil
  for name, till, most in string.gmatch(sights, '(%S-):(%d+):(%d+)') do
    if tonumber(till) > now + tonumber(most) then till, cut = int(now + tonumber(most)), true end
    kept[#kept + 1] = name .. ':' .. till .. ':' .. most
    if name == print then blank = blank or tonumber(till) - now end
  end
  if cut then redis.pcall('HSET', claim, 'sights', table.concat(kept, ' ')) end
  if blank and blank > 0 then return {'wait', now, blank, 'blank'} end
end
if c_retry > now + c_delay then
  c_retry = now + c_delay
  redis.pcall('HSET', claim, 'retry', int(c_retry))
end
if c_retry > now and (c_state == 'blank' or turn == c_turn and c_att < (streak > 0 and 1 or attempts)) then
  return {'wait', now, c_retry - now, c_state}
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
  return {'exhausted', now, c_att, first}
end
local attempt = turn == c_turn and c_att + 1 or 1
if turn > c_turn and gone and not c_manual and c_att >= most then streak = streak + 1 end   -- its last try vanished, and nobody asked since
-- 10. Granted. SET first: where it is refused, nothing else has changed.
local fence = math.max(c_fence + 1, seen + 1, now)
redis.call('SET', lock, token, 'PX', ttl)
redis.call('HSET', claim, 'v', 1, 'turn', int(turn), 'attempt', attempt, 'token', token, 'state', 'running',
  'fence', int(fence), 'ttl', int(ttl), 'started', int(now), 'ended', '', 'detail', '', 'held', '', 'retry', 0, 'delay', 0, 'watch', 0,
  'streak', streak, 'manual', due and '' or 1, 'fingerprint', fingerprint)
if due then redis.call('HSET', claim, 'schedules', remember(schedules, print)) end
redis.call('PEXPIRE', claim, keep)
vanished()
return {'acquired', now, fence, attempt, turn}
