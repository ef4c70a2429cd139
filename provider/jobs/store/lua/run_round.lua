#!lua flags=allow-oom
-- Take the work that the message of a round asks for, unless a run that began after the round has done it (C3).
--
-- KEYS  1 round
-- ARGV  1 number of the round in the message
-- Returns 1, or 0 when there is nothing left to do. A run serves all rounds begun before it.
local record = redis.call('HMGET', KEYS[1], 'number', 'ran')
if tonumber(ARGV[1]) <= tonumber(record[2] or 0) then return 0 end
redis.call('HSET', KEYS[1], 'ran', record[1] or 0)
return 1
