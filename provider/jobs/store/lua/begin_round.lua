#!lua flags=allow-oom
-- Begin the next round of an entry of beat's schedule, unless another beat did since it was read (C3).
--
-- KEYS  1 round
-- ARGV  1 number of the round that was read
-- Returns the number of the new round, or false.
if (redis.call('HGET', KEYS[1], 'number') or '0') ~= ARGV[1] then return false end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'at_ms', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('HINCRBY', KEYS[1], 'number', 1)
