#!lua flags=allow-oom
-- Write something, so that `WAITAOF` has a write of this connection to wait for (C7).
--
-- KEYS  1 fence
-- Returns nothing.
redis.call('SET', KEYS[1], 1)
