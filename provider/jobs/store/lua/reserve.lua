#!lua
-- Keep a place in the lane for a payment that is verified, if the lane admits one more (Q2, Q3) and its payer has neither
-- as many open jobs as it may, nor so many unpaid endings (S5).
-- A place that the job has already is not counted against it: it is kept for longer. One whose time is over counts
-- no more; the sweep drops it.
--
-- KEYS  1 reserved · 2 index · 3 slots · 4 pace · 5 open jobs of the payer · 6 unpaid endings of the payer
-- ARGV  1 place · 2 ms the place is kept (0: only ask) · 3 max queued · 4 max wait (ms) · 5 concurrency
--       6 average (ms) while none was measured · 7, 8 index range of pending · 9, 10 index range of queued
--       11 claim · 12 most open jobs of the payer (0: no payer is known, or it pays first) · 13 most unpaid endings
--       14 ms until its payment has surely expired
-- Returns {admitted (1 or 0), places taken, expected wait in ms, average in ms}, or {'open' or 'unpaid', ms to wait}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local average = tonumber(redis.call('HGET', KEYS[4], 'average_ms') or ARGV[6])
if ARGV[12] ~= '0' then
  local open = redis.call('ZCOUNT', KEYS[5], '(' .. now, '+inf')
  if tonumber(redis.call('ZSCORE', KEYS[5], ARGV[11]) or 0) > now then open = open - 1 end
  if open >= tonumber(ARGV[12]) then return {'open', average} end
  local unpaid = tonumber(redis.call('GET', KEYS[6]) or 0)
  if unpaid >= tonumber(ARGV[13]) then return {'unpaid', redis.call('PTTL', KEYS[6])} end
end
local taken = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')
  + redis.call('ZCOUNT', KEYS[2], ARGV[7], ARGV[8])
  + redis.call('ZCOUNT', KEYS[2], ARGV[9], ARGV[10])
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) > now then taken = taken - 1 end
local concurrency = tonumber(ARGV[5])
local ahead = taken + redis.call('ZCARD', KEYS[3])
local wait = math.floor(math.max(0, ahead - concurrency + 1) / concurrency * average)
if taken >= tonumber(ARGV[3]) or wait > tonumber(ARGV[4]) then return {0, taken, wait, average} end
if ARGV[2] ~= '0' then redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) end
if ARGV[2] ~= '0' and ARGV[12] ~= '0' then
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
  redis.call('ZADD', KEYS[5], now + ARGV[14], ARGV[11])
  redis.call('PEXPIRE', KEYS[5], ARGV[14])
end
return {1, taken, wait, average}
