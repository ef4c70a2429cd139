#!lua flags=allow-oom
-- Learn from a handler's duration, and take one wake-up that found the lane full (Q2, Q6).
--
-- KEYS  1 pace
-- ARGV  1 duration (ms), '' = none · 2 average (ms) while none was measured · 3 weight of the new value
-- Returns 1 when a wake-up is owed to the lane, else 0.
if ARGV[1] ~= '' then
  local average = tonumber(redis.call('HGET', KEYS[1], 'average_ms') or ARGV[2])
  redis.call('HSET', KEYS[1], 'average_ms', average + (ARGV[1] - average) * ARGV[3])
end
if tonumber(redis.call('HGET', KEYS[1], 'missed') or 0) <= 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'missed', -1)
return 1
