-- SPDX-License-Identifier: MIT
-- KEYS 1 jobs  2 devices      all of {_fleet}
-- What people want to know of a fleet's Redis: what it is and what it does when it is full ('' where it may not be asked), how
-- many jobs and devices it knows.
local t = redis.call('TIME')
local info = redis.pcall('INFO')
local function field(name)
  return type(info) == 'string' and string.sub(string.match(info, '\n' .. name .. ':([^\r\n]*)') or '', 1, 64) or ''
end
local kind, version = 'redis ', field('redis_version')
if field('valkey_version') ~= '' then kind, version = 'valkey ', field('valkey_version') end
return {'server', t[1] * 1000 + math.floor(t[2] / 1000), version ~= '' and kind .. version or '', field('maxmemory_policy'),
  redis.call('HLEN', KEYS[1]), redis.call('HLEN', KEYS[2])}
