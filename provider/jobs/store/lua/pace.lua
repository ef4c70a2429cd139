#!lua flags=allow-oom
-- Learn from a handler's duration: an exponentially weighted average (Q2).
--
-- KEYS  1 pace
-- ARGV  1 duration (ms) · 2 average (ms) while none was measured · 3 weight of the new value
-- Returns the new average in ms, rounded down.
local average = tonumber(redis.call('HGET', KEYS[1], 'average_ms') or ARGV[2])
average = average + (ARGV[1] - average) * ARGV[3]
redis.call('HSET', KEYS[1], 'average_ms', average)
return average
