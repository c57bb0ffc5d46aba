-- SPDX-License-Identifier: MIT
-- KEYS 1 jobs (of {_fleet})      ARGV 1 job  2 done  3 retention
-- The newest settled turn of a job, for hello.lua. It only grows, but back from the server's future.
local jobs, job, done, keep = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local old = tonumber(redis.call('HGET', jobs, job) or 0) or 0
if not (old >= done and old <= now) then redis.call('HSET', jobs, job, ARGV[2]) end
if redis.call('PTTL', jobs) < keep then redis.call('PEXPIRE', jobs, ARGV[3]) end
return {'indexed', now}
