-- SPDX-License-Identifier: MIT
-- KEYS 1 a hash      ARGV 1 where to go on (0: from the begin)  2 what the hash is
-- Some fields of a large hash, for people, and where to go on: 0 is the end. As Redis scans, so that it never stands still for
-- it: a field may come twice, and one that comes or goes meanwhile may be missing. A small hash, of up to 512 fields, Redis
-- gives in one piece, which may be too much for a reply: CURSOR+COUNT goes on in it. What each field gives:
--   jobs      job, newest settled turn                                       of {_fleet}
--   devices   device, when it was heard of, rota's version, digest           of {_fleet}
--   seats     device, turn, attempt, newest settled turn, end, state         of a job of device scope
local function num(x)
  x = tonumber(x or 0)
  return x and x >= 0 and x < 2^53 and math.floor(x) or 0
end
local function short(x, most) return string.sub(x or '', 1, most) end
local read = {
  jobs = function(text) return {num(text)} end,
  devices = function(text)
    local time, version, digest = string.match(text, '^(%d+) %S+ %S+ (%S+) (%S+)')
    return {num(time), short(version, 32), short(digest ~= '-' and digest, 64)}
  end,
  seats = function(text)
    local f = {string.match(text, '^' .. string.rep('(%d+) ', 10) .. '(%S+)')}
    return {num(f[1]), num(f[2]), num(f[3]), num(f[7]), short(f[11], 32)}
  end,
}
local t = redis.call('TIME')
local cursor, skip = string.match(ARGV[1], '^(%d+)%+(%d+)$')
cursor, skip = cursor or ARGV[1], tonumber(skip or 0)
local page, rows, bytes = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', 100), {}, 0
local following = page[1]
for i = 2 * skip + 1, #page[2], 2 do
  local row = read[ARGV[2]](page[2][i + 1])
  table.insert(row, 1, short(page[2][i], 128))
  -- As much as a reply of any kind may have (redis/inbox.h): 1000 elements, 64 KiB with about 20 bytes around each.
  for _, value in ipairs(row) do bytes = bytes + #tostring(value) + 20 end
  if #rows + #row > 1000 or bytes > 60000 then
    following = string.format('%s+%d', cursor, (i - 1) / 2)
    break
  end
  for _, value in ipairs(row) do rows[#rows + 1] = value end
end
return {'page', t[1] * 1000 + math.floor(t[2] / 1000), following, rows}
