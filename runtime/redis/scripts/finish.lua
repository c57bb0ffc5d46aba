-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim  3 history
-- ARGV 1 token  2 turn  3 attempt  4 fence  5 outcome  6 covers  7 retry_delay  8 attempts  9 retention  10 history cap  11 detail  12 ran (ms)  13 clean (0: some of the tree could not be killed)
--     14 version (0: off)  15 lease (the largest ttl)
local lock, claim, history = KEYS[1], KEYS[2], KEYS[3]
local token, turn, att, fence, outcome = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local covers, delay, attempts, keep, cap = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]
local detail, ran, clean = ARGV[11], ARGV[12], ARGV[13] == '1'
local version, lease = tonumber(ARGV[14]), tonumber(ARGV[15])
local function int(x) return string.format('%.0f', x) end
-- A field that somebody has damaged counts as 0, and harms nobody else.
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
--            settles the turn, frees the lock, tried again, gives the attempt back
local kind = ({ succeeded = {1, 1, 0, 0}, nothing = {1, 1, 0, 0}, stopped = {1, 1, 0, 0}, failed = {0, 1, 1, 0}, refused = {0, 1, 1, 0},
                declined = {0, 1, 0, 1}, unstarted = {0, 1, 0, 1},
                crashed = {0, 0, 1, 0}, overrun = {0, 0, 1, 0}, lost = {0, 0, 1, 0} })[outcome]
if not kind then return redis.error_reply('ERR rota: unknown outcome') end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local holder = redis.call('GETRANGE', lock, 0, 127)
local c = redis.call('HMGET', claim, 'turn', 'attempt', 'token', 'state', 'fence', 'done', 'held', 'streak', 'ended', 'manual', 'v', 'version',
  'retry', 'delay', 'sights')
local c_turn, c_att, c_tok, c_state, c_fence, c_done = num(c[1]), num(c[2]), c[3] or '', c[4] or '', num(c[5]), num(c[6])

-- A repeat: the same answer, nothing twice. A run that others gave up (acquire) or took away has a state, but no end yet.
if c_tok == token and c_state ~= 'running' and (c[9] or '') ~= '' then
  return {'recorded', now, num(c[7]), c_state == 'gave_up' and 1 or 0}
end
local held = holder == token and 1 or 0
local mine = c_tok == token
local manual = mine and c[10] == '1'                          -- by hand: one attempt, and never a change of `streak`
-- The record is gone, or older than this run. A try that was declined was one all the same; one that never started was
-- none (renew).
local tries = c_att + (c_state == 'declined' and 1 or 0)
local behind = c_turn < turn or (c_turn == turn and tries < att)
if outcome == 'unstarted' and not mine then return {'recorded', now, held, 0} end
-- Who gives a grant back that it was never told of does not know which attempt that was: the claim does.
if outcome == 'unstarted' then turn, att = c_turn, c_att end
-- The first write is one that a full Redis accepts; the ones after it are then accepted too.
if held == 1 and kind[2] == 1 and clean then redis.call('DEL', lock) else redis.call('PEXPIRE', claim, keep) end
if kind[1] == 1 then
  local settled = turn
  if covers <= now and covers > settled then settled = covers end
  if settled > c_done then redis.call('HSET', claim, 'done', int(settled)) end
  if settled > c_done and not manual then redis.call('HSET', claim, 'streak', 0) end
end
-- The highest version that has succeeded: a broken one never switches the others off.
if outcome == 'succeeded' and version > num(c[12]) then redis.call('HSET', claim, 'version', int(version)) end
local gave_up = 0
local back = (outcome == 'declined' and attempts == 1) and 0 or kind[4]      -- attempts = 1: what was started is never started again
if mine or behind or c_state == 'blank' or c_state == 'assumed' then
  -- Where the record was gone, a newer run may have outlived it: the wait for its holder begins, or goes on, for every
  -- turn and schedule (acquire, 8).
  local till, most = num(c[13]), num(c[14])
  if c_state == '' then till, most = now + lease, lease end
  if till > now and (c_state == '' or c_state == 'blank' or c_state == 'assumed') then
    local first = '*:' .. int(till) .. ':' .. int(most)
    local count, list = 1, first
    for old in string.gmatch(c[15] or '', '%S+') do
      if old ~= first and count < 4 then count, list = count + 1, list .. ' ' .. old end
    end
    redis.call('HSET', claim, 'sights', list)
  end
  local state = outcome
  local streak = num(c[8])
  if kind[3] == 1 and (manual or att >= attempts or streak > 0 or outcome == 'refused') then
    state, gave_up = 'gave_up', 1
    if not manual and turn > c_done and not (mine and c_state == 'gave_up') then
      redis.call('HSET', claim, 'streak', streak + 1)
    end
  end
  redis.call('HSET', claim, 'v', math.max(1, num(c[11])), 'turn', int(turn), 'attempt', int(att - back), 'token', token, 'state', state,
    'fence', int(math.max(fence, c_fence)), 'ended', int(now), 'detail', detail, 'held', held,
    'retry', kind[3] == 1 and int(now + delay) or 0, 'delay', kind[3] == 1 and int(delay) or 0)
end
redis.call('PEXPIRE', claim, keep)
if cap ~= '0' then
  local entry = redis.pcall('XADD', history, 'MAXLEN', '~', cap, '*', 'turn', int(turn), 'attempt', int(att), 'token', token,
    'outcome', outcome, 'held', held, 'fence', int(fence), 'ran', ran, 'detail', detail)
  if type(entry) == 'string' then redis.pcall('PEXPIRE', history, keep) end   -- else the key is not ours
end
return {'recorded', now, held, gave_up}
