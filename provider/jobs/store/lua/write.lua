#!lua flags=allow-oom
-- Run one command that writes, also when memory is full: what makes room, and what closes money, must not be refused.
--
-- KEYS  1 key
-- ARGV  1 command · 2… its other arguments
-- Returns what the command returns.
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
