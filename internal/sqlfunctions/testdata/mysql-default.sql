-- Functions for the IDs of "shop/Orders" (epoch 2026-01-01T00:00:00.000Z, 8192 nodes).
-- For MySQL 8 and MariaDB 10.5 and later. Printed by snowgrid sql.
--
-- Times are DATETIME in UTC, whatever time zone the session has. A query by time compares the column with constants,
-- and uses the index of the column:
--
--   SELECT * FROM shop_orders WHERE id BETWEEN shop_orders_min('2026-07-01') AND shop_orders_max('2026-07-01 23:59:59.999');
--   SELECT * FROM shop_orders WHERE id >= shop_orders_min(UTC_TIMESTAMP(3) - INTERVAL 1 HOUR);
--
-- NULL, and a number that is no ID of this layout, have NULL as time, node and counter. So has a time after the year
-- 9999, which DATETIME ends with. A server that writes a binary log has functions created by an account that may, or
-- after SET GLOBAL log_bin_trust_function_creators = 1.

-- The millisecond of an ID.
DROP FUNCTION IF EXISTS shop_orders_time;
CREATE FUNCTION shop_orders_time(id BIGINT) RETURNS DATETIME(3) DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807
  THEN TIMESTAMPADD(MICROSECOND, (id >> 23) * 1000, TIMESTAMP'2026-01-01 00:00:00.000') END;

-- The logical node of an ID, 0 to 8191.
DROP FUNCTION IF EXISTS shop_orders_node;
CREATE FUNCTION shop_orders_node(id BIGINT) RETURNS INT DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN (id >> 10) & 8191 END;

-- The counter of an ID within its node and millisecond, 0 to 1023.
DROP FUNCTION IF EXISTS shop_orders_counter;
CREATE FUNCTION shop_orders_counter(id BIGINT) RETURNS INT DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN id & 1023 END;

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last.
DROP FUNCTION IF EXISTS shop_orders_min;
CREATE FUNCTION shop_orders_min(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
RETURN CASE WHEN t < TIMESTAMP'2026-01-01 00:00:00.000' THEN 0
  WHEN t >= TIMESTAMP'2060-11-03 19:53:47.776' THEN 1099511627775
  ELSE TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'2026-01-01 00:00:00.000', t) DIV 1000 END << 23;

-- The largest ID of a millisecond.
DROP FUNCTION IF EXISTS shop_orders_max;
CREATE FUNCTION shop_orders_max(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
RETURN shop_orders_min(t) | 8388607;

-- The 13 digits of an ID in Crockford's Base32, NULL for a negative number. They sort like the IDs.
DROP FUNCTION IF EXISTS shop_orders_base32;
CREATE FUNCTION shop_orders_base32(id BIGINT) RETURNS CHAR(13) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
RETURN CASE WHEN id >= 0 THEN CONCAT(
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 60) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 55) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 50) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 45) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 40) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 35) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 30) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 25) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 20) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 15) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 10) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 5) & 31) + 1, 1),
    SUBSTR('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 0) & 31) + 1, 1)) END;

-- The ID of a text in Base32, in lower case; NULL for any other text.
DROP FUNCTION IF EXISTS shop_orders_from_base32;
CREATE FUNCTION shop_orders_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL
RETURN CASE WHEN CHAR_LENGTH(digits) = 13 AND digits REGEXP '^[0-7][0123456789abcdefghjkmnpqrstvwxyz]{12}$' THEN
    ((LOCATE(SUBSTR(digits, 1, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 60)
    | ((LOCATE(SUBSTR(digits, 2, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 55)
    | ((LOCATE(SUBSTR(digits, 3, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 50)
    | ((LOCATE(SUBSTR(digits, 4, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 45)
    | ((LOCATE(SUBSTR(digits, 5, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 40)
    | ((LOCATE(SUBSTR(digits, 6, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 35)
    | ((LOCATE(SUBSTR(digits, 7, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 30)
    | ((LOCATE(SUBSTR(digits, 8, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 25)
    | ((LOCATE(SUBSTR(digits, 9, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 20)
    | ((LOCATE(SUBSTR(digits, 10, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 15)
    | ((LOCATE(SUBSTR(digits, 11, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 10)
    | ((LOCATE(SUBSTR(digits, 12, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 5)
    | ((LOCATE(SUBSTR(digits, 13, 1), '0123456789abcdefghjkmnpqrstvwxyz') - 1) << 0) END;
