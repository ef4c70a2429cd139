#!lua flags=allow-oom
-- Drop a reserved place that was never used, unless it is kept anew; a job that was written needs none.
--
-- KEYS  1 reserved · 2 job
-- ARGV  1 place · 2 kept until (ms) as it was read
-- Returns 1 when it was dropped, else 0.
local written = redis.call('EXISTS', KEYS[2]) == 1
local kept_until = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)
if not written and kept_until > tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
return written and 0 or 1
