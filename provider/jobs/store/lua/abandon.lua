#!lua flags=allow-oom
-- Let a claim end whose job was never written, once its payment has surely expired (J7).
--
-- KEYS  1 claim
-- ARGV  1 job id · 2 ms until then
-- Returns 1, or 0 when the payment was claimed for another job, or for none.
if redis.call('HGET', KEYS[1], 'job') ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
