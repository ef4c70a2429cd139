#!lua
-- Take a payment for a job, unless another call took it before (J2).
--
-- KEYS  1 claim
-- ARGV  1 job id · 2 digest of service and input · 3 digest of the envelope · 4 payment identifier or ''
-- Returns false when taken now, else the earlier claim as {field, value, …}. One that this very job has lasts
-- from now on, though the sweep gave it up meanwhile (J7).
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HGET', KEYS[1], 'job') == ARGV[1] then redis.call('PERSIST', KEYS[1]) end
  return redis.call('HGETALL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'job', ARGV[1], 'call', ARGV[2], 'envelope', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'identifier', ARGV[4]) end
return false
