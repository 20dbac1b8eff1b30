-- Functions for the IDs of "shop/Orders" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024).
-- For ClickHouse 23 and later. Printed by snowgrid sql.
--
-- A query by time compares the column with constants, and uses the primary key:
--
--   SELECT * FROM shop_orders WHERE id BETWEEN shop_orders_min('2026-07-01 00:00:00') AND shop_orders_max(now());
--   SELECT * FROM shop_orders WHERE shop_orders_between(id, now() - INTERVAL 1 HOUR, now());
--
-- Times have the type DateTime64(3, 'UTC'), which ends with the year 2299; texts are read in UTC. The parts of a number
-- that is no ID of this layout have no meaning.

-- The millisecond of an ID.
CREATE OR REPLACE FUNCTION shop_orders_time AS (id) ->
  fromUnixTimestamp64Milli(bitShiftRight(toInt64(id), 22) + 1288834974657, 'UTC');

-- The logical node of an ID, 0 to 1023.
CREATE OR REPLACE FUNCTION shop_orders_node AS (id) -> toUInt16(bitAnd(bitShiftRight(id, 12), 1023));

-- The counter of an ID within its node and millisecond, 0 to 4095.
CREATE OR REPLACE FUNCTION shop_orders_counter AS (id) -> toUInt32(bitAnd(id, 4095));

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last.
CREATE OR REPLACE FUNCTION shop_orders_min AS (t) -> bitShiftLeft(multiIf(
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) < 1288834974657, toInt64(0),
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) > 3487858230208, toInt64(2199023255551),
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) - 1288834974657), 22);

-- The largest ID of a millisecond.
CREATE OR REPLACE FUNCTION shop_orders_max AS (t) -> bitOr(shop_orders_min(t), 4194303);

-- Reports whether an ID is of a millisecond from the first time to the second, both included.
CREATE OR REPLACE FUNCTION shop_orders_between AS (id, first, last) ->
  id BETWEEN shop_orders_min(first) AND shop_orders_max(last);

-- The 13 digits of an ID in Crockford's Base32. They sort like the IDs.
CREATE OR REPLACE FUNCTION shop_orders_base32 AS (id) -> concat(
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 60), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 55), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 50), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 45), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 40), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 35), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 30), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 25), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 20), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 15), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 10), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 5), 31) + 1, 1),
    substring('0123456789abcdefghjkmnpqrstvwxyz', bitAnd(bitShiftRight(id, 0), 31) + 1, 1));

-- The ID of a text in Base32, in lower case; NULL for any other text.
CREATE OR REPLACE FUNCTION shop_orders_from_base32 AS (digits) -> if(match(digits, '^[0-7][0123456789abcdefghjkmnpqrstvwxyz]{12}$'),
    bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 1, 1))) - 1, 60)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 2, 1))) - 1, 55)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 3, 1))) - 1, 50)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 4, 1))) - 1, 45)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 5, 1))) - 1, 40)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 6, 1))) - 1, 35)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 7, 1))) - 1, 30)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 8, 1))) - 1, 25)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 9, 1))) - 1, 20)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 10, 1))) - 1, 15)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 11, 1))) - 1, 10)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 12, 1))) - 1, 5)
    + bitShiftLeft(toInt64(position('0123456789abcdefghjkmnpqrstvwxyz', substring(digits, 13, 1))) - 1, 0), NULL);
