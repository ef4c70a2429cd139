#!lua flags=allow-oom
-- Prolong a lease, while its owner still holds it (R1).
--
-- KEYS  1 job · 2 slots · 3 due
-- ARGV  1 job id · 2 owner · 3 lease (ms), 0 = as it is · 4 when the pairs were reported (ms), 0 = in their order
--       5… field, value pairs (progress), left out when something later is stored
-- Returns {version, cancel asked for (1 or 0)}, or false when the lease is lost.
local record = redis.call('HMGET', KEYS[1], 'owner', 'cancel', 'reported_at_ms')
if record[1] ~= ARGV[2] then return false end
if ARGV[3] ~= '0' then
  local time = redis.call('TIME')
  local lease_until = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
  redis.call('HSET', KEYS[1], 'lease_until_ms', lease_until)
  redis.call('ZADD', KEYS[2], lease_until, ARGV[1])
  redis.call('ZADD', KEYS[3], lease_until, ARGV[1])
end
if ARGV[5] and (ARGV[4] == '0' or tonumber(ARGV[4]) >= tonumber(record[3] or 0)) then
  redis.call('HSET', KEYS[1], unpack(ARGV, 5))
  redis.call('PUBLISH', KEYS[1], 'progress')
end
return {redis.call('HINCRBY', KEYS[1], 'version', 1), record[2] == '1' and 1 or 0}
