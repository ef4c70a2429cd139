#!lua flags=allow-oom
-- Take a job without a record out of its lists. A lease that is over gives its slot back in any case, since the
-- record of a job that this is called for is gone or cannot be read.
--
-- KEYS  1 job · 2 index · 3 lane · 4 slots · 5 due
-- ARGV  1 job id
-- Returns how many lists had an entry without a record, 0 for a job that has one.
local gone = redis.call('EXISTS', KEYS[1]) == 0
local time = redis.call('TIME')
local lease_until = tonumber(redis.call('ZSCORE', KEYS[4], ARGV[1]) or 0)
local entries = 0
if lease_until <= time[1] * 1000 then entries = redis.call('ZREM', KEYS[4], ARGV[1]) end
return not gone and 0
  or entries + redis.call('ZREM', KEYS[2], ARGV[1]) + redis.call('ZREM', KEYS[3], ARGV[1])
    + redis.call('ZREM', KEYS[5], ARGV[1])
