-- SPDX-License-Identifier: MIT
-- ARGV 1 prefix  2 ... each lock_key
-- What rotad --check --online asks: what the server says of itself, and what its access rules keep the user from. Nothing is
-- written: a command is called only where they refuse just that call, since the refusal says why.
local own, pattern = ARGV[1] .. '{rota}:claim', '~' .. ARGV[1] .. '{*'
local t = redis.pcall('TIME')
local now = t.err and 1 or t[1] * 1000 + math.floor(t[2] / 1000)
local info = redis.pcall('INFO')
local told = type(info) == 'string'
local renamed = not told and string.find(info.err, 'nknown')
local function field(name) return told and string.match(info, '\n' .. name .. ':([^\r\n]*)') or '' end
local function number(name) return tonumber(field(name)) or 0 end
local valkey = field('valkey_version')
local age = math.max(0, math.floor(now / 1000) - number('rdb_last_save_time'))
-- 0 nothing known  1 the last try failed  2 an append-only file  3 a snapshot, of `age` seconds  4 none since the server began,
-- which counts as one  5 the same, for longer than a server that saves at all leaves a change unsaved (`save 3600 1`)
local saved = (t.err or not told) and 0 or
  (field('aof_last_write_status') == 'err' or field('rdb_last_bgsave_status') == 'err') and 1 or
  field('aof_enabled') == '1' and 2 or age + 2 < number('uptime_in_seconds') and 3 or
  number('rdb_changes_since_last_save') > 0 and age > 7200 and 5 or 4
-- What is spent and refused where nothing is evicted; as Redis counts it, without what it sends to replicas and to the disk.
local most = number('maxmemory')
local full = field('maxmemory_policy') == 'noeviction' and most > 0 and
  number('used_memory') - number('mem_not_counted_for_evict') >= most and most or 0
-- Of replicas only with min-replicas-to-write it tells how many follow closely: one more than those, 0 without it.
local close = tonumber(field('min_slaves_good_slaves')) or -1
local places = number('maxclients')
if number('connected_clients') * 10 < places * 9 then places = 0 end
local answer = {'survey', now, valkey ~= '' and 'valkey ' .. valkey or told and 'redis ' .. field('redis_version') or '',
  field('cluster_enabled') == '1' and 2 or field('role') == 'slave' and 1 or renamed and 3 or 0,
  field('maxmemory_policy'), saved, age, '', '?', '', '', full,
  number('connected_slaves'), close + 1, places, math.floor(number('latest_fork_usec') / 1000)}
if not redis.acl_check_cmd then return answer end             -- before Redis 7

local missing, unknown = {}, nil
local function lacks(right)
  if not missing[right] then missing[#missing + 1] = right end
  missing[right] = true
end
-- True where the user may do it. How many arguments the command takes is found out: Redis 8 looks up nothing for another
-- number, Redis 7 any. TIME takes none.
local function may(command, key, called)
  local right, call, free = '+' .. string.lower(command), {command, key}, nil
  for _ = 1, 5 do
    local known, answered = pcall(redis.acl_check_cmd, unpack(call))
    if known then
      free = answered
      local why = not free and redis.pcall(unpack(call)).err or ''
      if string.find(why, 'access a key') or string.find(why, 'of the keys') then right = called end
      if not string.find(why, 'args') then break end
    end
    call[#call + 1] = '1'
  end
  if free == nil then
    local known, answered = pcall(redis.acl_check_cmd, command)
    if not known then unknown = command end                   -- renamed away: no access rule brings it back
    free = not known or answered
  end
  if not free then lacks(right) end
  return free
end
local known, evalsha = pcall(redis.acl_check_cmd, 'EVALSHA', string.rep('0', 40), '0')
if not known then unknown = 'EVALSHA' elseif not evalsha then lacks('+evalsha') end
-- Which of the scripts may not run, and what is missing that was not told yet. Each is there with what it calls, which
-- embed.cmake reads in their texts. An asterisk: on the lock, too.
local told_missing = 0
local function look(scripts)
  local barred, asked = {}, 0
  for script, commands in string.gmatch(scripts, '([%l_]+):([^;]*)') do
    local free = evalsha
    asked = asked + 1
    for command, lock in string.gmatch(commands, '(%u+)(%*?)') do
      free = may(command, own, pattern) and free
      for i = 2, lock == '*' and #ARGV or 0 do free = may(command, ARGV[i], '~' .. ARGV[i]) and free end
    end
    if not free then barred[#barred + 1] = script end
  end
  local rights = table.concat(missing, ' ', told_missing + 1)
  told_missing = #missing
  return #barred == asked and 'all ' .. asked or table.concat(barred, ', '), string.sub(rights, 1, 1000)
end
answer[8], answer[9] = look('@DEVICES@')
answer[10], answer[11] = look('@PEOPLE@')
if unknown then return redis.error_reply("ERR unknown command '" .. unknown .. "'") end
return answer
