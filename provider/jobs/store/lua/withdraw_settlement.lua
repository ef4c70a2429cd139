#!lua flags=allow-oom
-- Give the right to settle back, by its owner, when provably nothing was sent (S4).
--
-- KEYS  1 job · 2 due
-- ARGV  1 job id · 2 settler · 3 ms until the sweep looks again
-- Returns the new version, or false when the settlement belongs to another settler or is over.
local record = redis.call('HMGET', KEYS[1], 'settler', 'status')
if record[1] ~= ARGV[2] or (record[2] ~= 'pending' and record[2] ~= 'running') then return false end
local time = redis.call('TIME')
redis.call('HDEL', KEYS[1], 'settling_since_ms', 'settler')
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3], ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
