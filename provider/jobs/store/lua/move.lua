#!lua flags=allow-oom
-- Move a job to another status, unless it changed since it was read (J4).
--
-- KEYS  1 job · 2 index · 3 lane · 4 slots · 5 due · 6 work · 7 open jobs of its payer
--       8 finished jobs, which are kept for a while
-- ARGV  1 job id · 2 version read · 3 owner, '' = no worker acts · 4 target status · 5 index base
--       6 'lane' = enter the lane, '' = leave it
--       7 ms until the sweep looks, 'deadline' = then, '' = never; of a final one: ms until its retention begins
--       8 field stamped with now, '' = none (it is not final)
--       9 claim · 10 how many fields are dropped · their names · field, value pairs
-- Returns the new version, or false when the job has another version or owner by now.
local record = redis.call('HMGET', KEYS[1], 'version', 'owner', 'created_at_ms', 'place', 'deadline_ms')
if record[1] ~= ARGV[2] or (ARGV[3] ~= '' and record[2] ~= ARGV[3]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first = 11 + ARGV[10]
local version = ARGV[2] + 1
redis.call('HSET', KEYS[1], 'status', ARGV[4], 'version', version, unpack(ARGV, first))
if ARGV[8] ~= '' then redis.call('HSET', KEYS[1], ARGV[8], now) end
if first > 11 then redis.call('HDEL', KEYS[1], unpack(ARGV, 11, first - 1)) end
if ARGV[6] == 'lane' then
  local place = record[4] or (time[1] * 1000000 + time[2])
  redis.call('HSET', KEYS[1], 'place', place)
  redis.call('ZADD', KEYS[3], place, ARGV[1])
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('ZREM', KEYS[4], ARGV[1])
if ARGV[8] ~= '' then redis.call('ZREM', KEYS[7], ARGV[9]) end
if ARGV[8] ~= '' or redis.call('HEXISTS', KEYS[1], 'output') == 1 then redis.call('UNLINK', KEYS[6]) end
local look = ARGV[7] == 'deadline' and (record[5] or '') or ARGV[7] ~= '' and now + ARGV[7] or ''
if look == '' or ARGV[8] ~= '' then redis.call('ZREM', KEYS[5], ARGV[1]) end
if look ~= '' and ARGV[8] == '' then redis.call('ZADD', KEYS[5], look, ARGV[1])
elseif look ~= '' then redis.call('ZADD', KEYS[8], look, ARGV[1]) end
redis.call('ZADD', KEYS[2], ARGV[5] + record[3], ARGV[1])
redis.call('PUBLISH', KEYS[1], ARGV[4])
return version
