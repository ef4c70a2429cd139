#!lua flags=allow-oom
-- Count an ending for which its payer did not pay, though work was done (S5).
--
-- KEYS  1 unpaid endings of the payer
-- ARGV  1 ms after which they are forgotten, counted from the last
-- Returns how many count now.
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return count
