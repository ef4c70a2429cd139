#!lua flags=allow-oom
-- Bind a name to the first value that is given for it.
--
-- KEYS  1 name
-- ARGV  1 value · 2 ms for which it is bound
-- Returns the value it is bound to.
local bound = redis.call('GET', KEYS[1])
if bound then return bound end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
