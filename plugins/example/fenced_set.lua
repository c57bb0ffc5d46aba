-- SPDX-License-Identifier: MIT
-- Sets a string, unless a run with a newer fence has set it. All in one step of the server.
--
--   redis-cli --eval fenced_set.lua KEY FENCE-KEY , VALUE FENCE [TURN] [DEVICE] [MILLISECONDS]
--
-- KEYS  1 the string that is set
--       2 who has set it last: a hash of fence, turn and device. In a Redis Cluster both have to be in one
--         slot, which a tag in braces gives them: stock:{milk} and stock:{milk}:fence
-- ARGV  1 the value   2 the fence, a whole number from 1 to 2^53 - 1   3 the turn   4 the device, both for people
--       5 after how many milliseconds the string goes by itself; left out or empty: never. Its fence stays: were it
--         forgotten, an older one would be taken for the newest
-- Gives {1, fence} where it is set. The same fence may set it again: that is the same run, which has not heard.
--       {0, fence, turn, device} where it is not: those of the newer one.
--       An error that begins with FENCE where a key or a number is not what it should be. Nothing is changed then.
local key, mark = KEYS[1], KEYS[2]
local value, text, turn, device, ms = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4] or '', ARGV[5] or ''

local function refuse(...) return redis.error_reply('FENCE ' .. table.concat({...})) end

-- Lua's numbers are exact below 2^53: "9" is less than "10" as a number, and not as text.
local function whole(digits)
  local number = string.match(digits or '', '^[1-9]%d*$') and tonumber(digits)
  return number and number < 2^53 and number or nil
end

-- All reads before any write.
if #KEYS ~= 2 or key == mark or not value or not text then
  return refuse('it takes two keys that differ, a value and a fence')
end
local fence = whole(text)
if not fence then
  return refuse('the fence given is "', string.sub(text, 1, 20), '", which is no whole number from 1 to 2^53 - 1')
end
if ms ~= '' and not whole(ms) then
  return refuse('the time given is "', string.sub(ms, 1, 20), '", which is no number of milliseconds')
end
local kind = redis.call('TYPE', key).ok
if kind ~= 'none' and kind ~= 'string' then return refuse(key, ' is a ', kind, ', and no string to be set') end
kind = redis.call('TYPE', mark).ok
if kind ~= 'none' and kind ~= 'hash' then return refuse(mark, ' is a ', kind, ', and no hash with a fence') end
local last = redis.call('HMGET', mark, 'fence', 'turn', 'device')
local newest = whole(last[1])
if kind == 'hash' and not newest then return refuse(mark, ' is a hash with no fence that is a number') end
if newest and newest > fence then return {0, last[1], last[2] or '', last[3] or ''} end

redis.call('HSET', mark, 'fence', text, 'turn', turn, 'device', device)
if ms == '' then redis.call('SET', key, value) else redis.call('SET', key, value, 'PX', ms) end
return {1, text}
