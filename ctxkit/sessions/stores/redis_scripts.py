"""The scripts of `RedisStore`: each runs on the server in one step."""

__all__ = ["APPEND", "CHECKPOINT", "LEASE", "RELEASE", "REWRITE"]

_NOW = """
local function seconds(given)
  if given ~= '' then return given end
  local t = redis.call('TIME')
  return string.format('%d.%06d', t[1], t[2])
end
"""

APPEND = (
    _NOW
    + """
-- KEYS log, meta, keys, checkpoints; ARGV after, key, limit of a record, limit of the session, now, ttl, bodies
local position = redis.call('LLEN', KEYS[1])
if ARGV[2] ~= '' then
  local held = redis.call('HGET', KEYS[3], ARGV[2])
  if held then return {'known', tonumber(held), 0} end
end
local size = tonumber(redis.call('HGET', KEYS[2], 'size') or '0')
if tonumber(ARGV[1]) ~= position then return {'conflict', position, size} end
if #ARGV < 7 then return {'done', position, size} end
local more = 0
for i = 7, #ARGV do
  if #ARGV[i] > tonumber(ARGV[3]) then return {'limit', position, size} end
  more = more + #ARGV[i]
end
if size + more > tonumber(ARGV[4]) then return {'limit', position, size} end
for i = 7, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
position = position + #ARGV - 6
redis.call('HSET', KEYS[2], 'size', size + more, 'position', position, 'touched', seconds(ARGV[5]))
if ARGV[2] ~= '' then redis.call('HSET', KEYS[3], ARGV[2], position) end
if ARGV[6] ~= '0' then
  for i = 1, 4 do redis.call('EXPIRE', KEYS[i], ARGV[6]) end
end
return {'done', position, size + more}
"""
)

REWRITE = """
-- KEYS log, meta, checkpoints; ARGV position, body, position, body, ...
local position = redis.call('LLEN', KEYS[1])
for i = 1, #ARGV, 2 do
  local at = tonumber(ARGV[i])
  if at < 1 or at > position then return {'wrong', at, position} end
end
local size = tonumber(redis.call('HGET', KEYS[2], 'size') or '0')
for i = 1, #ARGV, 2 do
  local at = tonumber(ARGV[i]) - 1
  size = size + #ARGV[i + 1] - #redis.call('LINDEX', KEYS[1], at)
  redis.call('LSET', KEYS[1], at, ARGV[i + 1])
end
if position > 0 then redis.call('HSET', KEYS[2], 'size', size) end
redis.call('DEL', KEYS[3])
return {'done', 0, position}
"""

CHECKPOINT = """
-- KEYS log, checkpoints; ARGV position, body, how many are kept
local position = redis.call('LLEN', KEYS[1])
if position == 0 or tonumber(ARGV[1]) > position then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local held = redis.call('HKEYS', KEYS[2])
table.sort(held, function(a, b) return tonumber(a) > tonumber(b) end)
for i = tonumber(ARGV[3]) + 1, #held do redis.call('HDEL', KEYS[2], held[i]) end
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('PEXPIRE', KEYS[2], left) end
return 1
"""

LEASE = (
    _NOW
    + """
-- KEYS leases; ARGV name, holder, seconds, now
local now = tonumber(seconds(ARGV[4]))
local held = redis.call('HMGET', KEYS[1], 'holder:' .. ARGV[1], 'until:' .. ARGV[1])
if held[1] and held[1] ~= ARGV[2] and tonumber(held[2]) > now then return 0 end
local ends = string.format('%.6f', now + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'holder:' .. ARGV[1], ARGV[2], 'until:' .. ARGV[1], ends)
local kept = math.ceil(tonumber(ARGV[3])) + 3600
if ARGV[4] == '' and redis.call('TTL', KEYS[1]) < kept then redis.call('EXPIRE', KEYS[1], kept) end
return 1
"""
)

RELEASE = """
-- KEYS leases; ARGV name, holder
if redis.call('HGET', KEYS[1], 'holder:' .. ARGV[1]) == ARGV[2] then
  redis.call('HDEL', KEYS[1], 'holder:' .. ARGV[1], 'until:' .. ARGV[1])
end
return 1
"""
