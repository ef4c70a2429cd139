#!lua flags=allow-oom
-- Complete a unit of work, or note where an open one stands, while the lease is held (R5).
--
-- KEYS  1 job · 2 work
-- ARGV  1 owner · 2 unit · 3 cursor as JSON, '' = the unit is complete
--       4 most bytes of a name · 5 most bytes of a cursor · 6 most units · 7 most bytes of all together
-- Returns 'stored', 'lost' (the lease), or which limit is passed: 'name', 'cursor', 'units', 'total'.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 'lost' end
if #ARGV[2] > tonumber(ARGV[4]) then return 'name' end
if #ARGV[3] > tonumber(ARGV[5]) then return 'cursor' end
local done, open = 'u:' .. ARGV[2], 'c:' .. ARGV[2]
if redis.call('HEXISTS', KEYS[2], done) == 1 then return 'stored' end
local before = redis.call('HGET', KEYS[2], open)
local grown = #ARGV[3] + (before and -#before or #ARGV[2])
local total = (redis.call('HGET', KEYS[2], 'bytes') or 0) + grown
-- One field counts the bytes, each other one is a unit.
if not before and redis.call('HLEN', KEYS[2]) > tonumber(ARGV[6]) then return 'units' end
if grown > 0 and total > tonumber(ARGV[7]) then return 'total' end
redis.call('HSET', KEYS[2], 'bytes', total, ARGV[3] == '' and done or open, ARGV[3])
if ARGV[3] == '' then redis.call('HDEL', KEYS[2], open) end
return 'stored'
