#!lua flags=allow-oom
-- Give a queued job of the lane to a worker, if the lane has a free slot (Q1, R1).
--
-- KEYS  1 job · 2 index · 3 lane · 4 slots · 5 due
-- ARGV  1 job id · 2 owner · 3 concurrency · 4 lease (ms) · 5 most work time (ms) · 6 index base of running
-- Returns {now, record as {field, value, …}}, or 'gone', 'full' or 'late' (its deadline has passed). A record that
-- does not belong in a lane, or cannot be read, leaves it: at the head it would keep all others waiting.
local record = redis.call('HMGET', KEYS[1], 'status', 'created_at_ms', 'deadline_ms', 'started_at_ms', 'owner',
  'version', 'starts')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if record[5] == ARGV[2] then return {now, redis.call('HGETALL', KEYS[1])} end
local fits = record[1] == 'queued' and tonumber(record[2]) and tonumber(record[3] or 0)
  and tonumber(record[6]) and tonumber(record[7] or 0)
if redis.call('EXISTS', KEYS[1]) == 0 or not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return 'gone' end
local work_until = now + ARGV[5]
if fits and record[3] then work_until = math.min(work_until, tonumber(record[3])) end
if work_until <= now then return 'late' end
if fits and redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[3]) then return 'full' end
if not fits then return redis.call('ZREM', KEYS[3], ARGV[1]) and 'gone' end
local lease_until = now + ARGV[4]
redis.call('HSET', KEYS[1], 'status', 'running', 'owner', ARGV[2], 'lease_until_ms', lease_until,
  'work_until_ms', work_until, 'leased_at_ms', now, 'started_at_ms', record[4] or now)
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HINCRBY', KEYS[1], 'starts', 1)
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], lease_until, ARGV[1])
redis.call('ZADD', KEYS[5], lease_until, ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[6] + record[2], ARGV[1])
redis.call('PUBLISH', KEYS[1], 'running')
return {now, redis.call('HGETALL', KEYS[1])}
