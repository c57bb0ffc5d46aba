-- SPDX-License-Identifier: MIT
-- KEYS 1 confs (of {_fleet})      ARGV 1 digest
-- The text of a configuration that hello.lua named; '' where it is gone. Of one that is longer than config_put.lua is
-- given (somebody has damaged it, or it is a later rota's) the whole lines that a reply has room for.
local t = redis.call('TIME')
local text = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if #text > 32768 then text = string.match(string.sub(text, 1, 32768), '^.*\n') or '' end
return {'config', t[1] * 1000 + math.floor(t[2] / 1000), text}
