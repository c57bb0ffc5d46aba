-- SPDX-License-Identifier: MIT
-- KEYS 1 lock  2 claim  3 pause  4 history  5 seats  6 devices  7 queue
-- All that is known of a retired job goes. 'held': something runs, by that token. UNLINK, since what each device of a large
-- fleet did last would keep the server busy.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local holder = redis.call('GETRANGE', KEYS[1], 0, 128)
local seat = redis.call('ZRANGEBYSCORE', KEYS[5], '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 1)[1]
if holder ~= '' or seat then return {'held', now, holder ~= '' and holder or string.sub(seat, 1, 128)} end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return {'forgotten', now, ''}
