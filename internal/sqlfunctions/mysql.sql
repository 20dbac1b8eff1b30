-- Functions for the IDs of {definition}.
-- For MySQL 8 and MariaDB 10.5 and later. Printed by snowgrid sql.
--
-- Times are DATETIME in UTC, whatever time zone the session has. A query by time compares the column with constants,
-- and uses the index of the column:
--
--   SELECT * FROM {prefix} WHERE id BETWEEN {prefix}_min('2026-07-01') AND {prefix}_max('2026-07-01 23:59:59.999');
--   SELECT * FROM {prefix} WHERE id >= {prefix}_min(UTC_TIMESTAMP(3) - INTERVAL 1 HOUR);
--
-- NULL, and a number that is no ID of this layout, have NULL as time, node and counter. So has a time after the year
-- 9999, which DATETIME ends with. A server that writes a binary log has functions created by an account that may, or
-- after SET GLOBAL log_bin_trust_function_creators = 1.

-- The millisecond of an ID.
DROP FUNCTION IF EXISTS {prefix}_time;
CREATE FUNCTION {prefix}_time(id BIGINT) RETURNS DATETIME(3) DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND {datetimemost}
  THEN TIMESTAMPADD(MICROSECOND, (id >> {lowbits}) * 1000, TIMESTAMP'{epoch}') END;

-- The logical node of an ID, 0 to {lastnode}.
DROP FUNCTION IF EXISTS {prefix}_node;
CREATE FUNCTION {prefix}_node(id BIGINT) RETURNS INT DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND {most} THEN (id >> {counterbits}) & {lastnode} END;

-- The counter of an ID within its node and millisecond, 0 to {lastcounter}.
DROP FUNCTION IF EXISTS {prefix}_counter;
CREATE FUNCTION {prefix}_counter(id BIGINT) RETURNS INT DETERMINISTIC NO SQL
RETURN CASE WHEN id BETWEEN 0 AND {most} THEN id & {lastcounter} END;

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last.
DROP FUNCTION IF EXISTS {prefix}_min;
CREATE FUNCTION {prefix}_min(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
RETURN CASE WHEN t < TIMESTAMP'{epoch}' THEN 0{datetimeend}
  ELSE TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'{epoch}', t) DIV 1000 END << {lowbits};

-- The largest ID of a millisecond.
DROP FUNCTION IF EXISTS {prefix}_max;
CREATE FUNCTION {prefix}_max(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
RETURN {prefix}_min(t) | {lowmask};

-- The 13 digits of an ID in Crockford's Base32, NULL for a negative number. They sort like the IDs.
DROP FUNCTION IF EXISTS {prefix}_base32;
CREATE FUNCTION {prefix}_base32(id BIGINT) RETURNS CHAR(13) CHARACTER SET ascii COLLATE ascii_bin DETERMINISTIC NO SQL
RETURN CASE WHEN id >= 0 THEN CONCAT(
    {base32}) END;

-- The ID of a text in Base32, in lower case; NULL for any other text.
DROP FUNCTION IF EXISTS {prefix}_from_base32;
CREATE FUNCTION {prefix}_from_base32(digits VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin) RETURNS BIGINT
DETERMINISTIC NO SQL
RETURN CASE WHEN CHAR_LENGTH(digits) = 13 AND digits REGEXP '^[0-7][{digits}]{12}$' THEN
    {parse32} END;
