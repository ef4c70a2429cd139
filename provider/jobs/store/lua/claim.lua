#!lua
-- Take a payment for a job, unless another call took it before (J2).
--
-- KEYS  1 claim
-- ARGV  1 job id · 2 digest of service and input · 3 digest of the envelope · 4 digest of the authorisation
--       5 payment identifier or '' · 6 digest of the client or '' · 7 ms for which that counts
-- Returns false when taken now, else the earlier claim as {field, value, …}. One that this very job has lasts
-- from now on, though the sweep gave it up meanwhile (J7).
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HGET', KEYS[1], 'job') == ARGV[1] then redis.call('PERSIST', KEYS[1]) end
  return redis.call('HGETALL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'job', ARGV[1], 'call', ARGV[2], 'envelope', ARGV[3], 'authorization', ARGV[4])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'identifier', ARGV[5]) end
if ARGV[6] ~= '' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', KEYS[1], 'client', ARGV[6], 'client_until_ms', now + ARGV[7])
end
return false
