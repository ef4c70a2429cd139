#!lua flags=allow-oom
-- Complete a unit of work, or note where an open one stands, while the lease is held (R5).
--
-- KEYS  1 job · 2 work
-- ARGV  1 owner · 2 unit · 3 cursor as JSON, '' = the unit is complete
-- Returns 1 when written, 0 when the lease is lost.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
  redis.call('HSET', KEYS[2], 'u:' .. ARGV[2], 1)
  redis.call('HDEL', KEYS[2], 'c:' .. ARGV[2])
elseif redis.call('HEXISTS', KEYS[2], 'u:' .. ARGV[2]) == 0 then
  redis.call('HSET', KEYS[2], 'c:' .. ARGV[2], ARGV[3])
end
return 1
