#!lua flags=allow-oom
-- Delete a finished job, unless it changed since it was read (J15).
--
-- KEYS  1 job · 2 index · 3 due · 4 work · 5, 6 finished jobs: charged, uncharged
-- ARGV  1 job id · 2 version read
-- Returns 1 when deleted, else 0.
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[2] then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('ZREM', KEYS[6], ARGV[1])
return redis.call('DEL', KEYS[1], KEYS[4])
