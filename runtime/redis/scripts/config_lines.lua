-- SPDX-License-Identifier: MIT
-- KEYS 1 confs (of {_fleet})      ARGV 1 digest
-- The lines of a configuration in use, one a job (core/fleet_text.h), for people; none where it is gone.
local t = redis.call('TIME')
local lines = {}
for line in string.gmatch(string.sub(redis.call('HGET', KEYS[1], ARGV[1]) or '', 1, 32768), '([^\n]*)\n') do
  if #lines < 1000 then lines[#lines + 1] = line end
end
return {'config', t[1] * 1000 + math.floor(t[2] / 1000), lines}
