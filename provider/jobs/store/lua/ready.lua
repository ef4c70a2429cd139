#!lua flags=allow-oom
-- Put a queued job that waited for its next try into the lane (R6).
--
-- KEYS  1 job · 2 lane · 3 due
-- ARGV  1 job id · 2 version read
-- Returns the new version, or false when the job changed.
local record = redis.call('HMGET', KEYS[1], 'version', 'status', 'place', 'deadline_ms')
if record[1] ~= ARGV[2] or record[2] ~= 'queued' then return false end
redis.call('ZADD', KEYS[2], record[3], ARGV[1])
redis.call('HDEL', KEYS[1], 'not_before_ms')
redis.call('ZREM', KEYS[3], ARGV[1])
if record[4] then redis.call('ZADD', KEYS[3], record[4], ARGV[1]) end
redis.call('PUBLISH', KEYS[1], 'queued')
return redis.call('HINCRBY', KEYS[1], 'version', 1)
