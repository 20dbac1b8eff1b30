-- The parts of the IDs of "shop/Orders" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024).
-- For SQLite 3.38 and later. Printed by snowgrid sql.
--
-- SQLite has no functions in SQL. This view has the parts of each ID in the column id of the table shop_orders. Times
-- are texts in UTC. A number that is no ID of this layout has NULL as time, node and counter; so has a time after the
-- year 9999. The base32 of a negative number is NULL.

DROP VIEW IF EXISTS shop_orders_parts;
CREATE VIEW shop_orders_parts AS SELECT id,
  CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN
    strftime('%Y-%m-%d %H:%M:%S', ((id >> 22) + 1288834974657) / 1000, 'unixepoch')
    || printf('.%03d', ((id >> 22) + 1288834974657) % 1000) END AS time,
  CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN (id >> 12) & 1023 END AS node,
  CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN id & 4095 END AS counter,
  CASE WHEN id >= 0 THEN
    substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 60) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 55) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 50) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 45) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 40) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 35) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 30) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 25) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 20) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 15) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 10) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 5) & 31) + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 0) & 31) + 1, 1) END AS base32
FROM "shop_orders";

-- The rows of a time range, both ends included, by the index of the column. A time before the epoch counts as the first
-- millisecond, a time after the last one as the last:
--
--   WITH range(first, last) AS (SELECT
--     max(0, min(2199023255551, unixepoch(:first) * 1000 + substr(strftime('%f', :first), 4) - 1288834974657)) << 22,
--     (max(0, min(2199023255551, unixepoch(:last) * 1000 + substr(strftime('%f', :last), 4) - 1288834974657)) << 22) | 4194303)
--   SELECT "shop_orders".* FROM range CROSS JOIN "shop_orders" WHERE id BETWEEN first AND last;
--
-- The ID of a text in Base32:
--
--   SELECT CASE WHEN length(:digits) = 13 AND :digits GLOB '[0-7]*' AND :digits NOT GLOB '*[^0123456789abcdefghjkmnpqrstvwxyz]*' THEN
--     ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 1, 1)) - 1) << 60)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 2, 1)) - 1) << 55)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 3, 1)) - 1) << 50)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 4, 1)) - 1) << 45)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 5, 1)) - 1) << 40)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 6, 1)) - 1) << 35)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 7, 1)) - 1) << 30)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 8, 1)) - 1) << 25)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 9, 1)) - 1) << 20)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 10, 1)) - 1) << 15)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 11, 1)) - 1) << 10)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 12, 1)) - 1) << 5)
--     | ((instr('0123456789abcdefghjkmnpqrstvwxyz', substr(:digits, 13, 1)) - 1) << 0) END;
