#!lua flags=allow-oom
-- Take the one right to ask the facilitator to settle a claim (S4).
--
-- KEYS  1 job · 2 due
-- ARGV  1 job id · 2 version read · 3 settler · 4 ms until the sweep gives the settlement up
-- Returns the new version, or false when the job changed or a settlement was begun before. A settler that
-- has the right already gets it again: a client repeats a script whose reply was lost.
local record = redis.call('HMGET', KEYS[1], 'version', 'settling_since_ms', 'settler')
if record[2] and record[3] == ARGV[3] then return record[1] end
if record[1] ~= ARGV[2] or record[2] then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'settling_since_ms', now, 'settler', ARGV[3])
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
