#!lua flags=allow-oom
-- Count a call that carried another envelope for the same nonce (J3).
--
-- KEYS  1 claim
-- Returns how many there were, 0 when the claim is gone.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HINCRBY', KEYS[1], 'mismatches', 1)
