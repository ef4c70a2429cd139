#!lua flags=allow-oom
-- Count a call that carried the same authorisation in another envelope, or with another input (J3).
--
-- KEYS  1 claim
-- Returns how many there were, 0 when the claim is gone.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HINCRBY', KEYS[1], 'mismatches', 1)
