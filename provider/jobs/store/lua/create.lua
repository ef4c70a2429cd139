#!lua
-- Write the record of a claimed job, once, in place of its reservation.
--
-- KEYS  1 job · 2 index · 3 lane · 4 due · 5 reserved · 6 slots
-- ARGV  1 job id · 2 status (pending or queued) · 3 index base · 4 ms until the deadline, '' = none
--       5 ms until the payment has surely expired · 6 ms until the sweep looks, '' = never · 7 its reserved place
--       8… field, value pairs
-- Returns {record as {field, value, …}, jobs ahead of it in the lane, slots taken}, the record alone for one that
-- stands in no lane or exists already; false when its reservation is over.
local exists = redis.call('EXISTS', KEYS[1]) == 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not exists and tonumber(redis.call('ZSCORE', KEYS[5], ARGV[7]) or 0) <= now then return false end
redis.call('ZREM', KEYS[5], ARGV[7])
if exists then return {redis.call('HGETALL', KEYS[1])} end
redis.call('HSET', KEYS[1], 'version', 1, 'status', ARGV[2], 'created_at_ms', now,
  'expires_at_ms', now + ARGV[5], unpack(ARGV, 8))
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'deadline_ms', now + ARGV[4]) end
local ahead, busy
if ARGV[2] == 'queued' then
  ahead, busy = redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[6])
  local place = time[1] * 1000000 + time[2]
  redis.call('HSET', KEYS[1], 'place', place)
  redis.call('ZADD', KEYS[3], place, ARGV[1])
end
redis.call('ZADD', KEYS[2], ARGV[3] + now, ARGV[1])
if ARGV[6] ~= '' then redis.call('ZADD', KEYS[4], now + ARGV[6], ARGV[1]) end
redis.call('PUBLISH', KEYS[1], ARGV[2])
return {redis.call('HGETALL', KEYS[1]), ahead, busy}
