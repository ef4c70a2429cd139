#!lua flags=allow-oom
-- Ask the lease holder of a job to stop its handler (R7). The version changes, so that no other end is recorded
-- by a process that has not seen it.
--
-- KEYS  1 job
-- ARGV  1 owner of the lease
-- Returns the new version, or false when the owner runs the handler no more.
local record = redis.call('HMGET', KEYS[1], 'owner', 'cancel', 'version')
if record[1] ~= ARGV[1] then return false end
if record[2] == '1' then return record[3] end
redis.call('HSET', KEYS[1], 'cancel', 1)
redis.call('PUBLISH', KEYS[1], 'cancel')
return redis.call('HINCRBY', KEYS[1], 'version', 1)
