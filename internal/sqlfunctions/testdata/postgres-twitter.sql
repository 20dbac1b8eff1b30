-- Functions for the IDs of "shop/Orders" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024).
-- For PostgreSQL 14 and later. Printed by snowgrid sql.
--
-- All are immutable, so indexes and partition bounds may use them. A query by time compares the column with constants,
-- and uses the index of the column:
--
--   SELECT * FROM shop_orders WHERE id BETWEEN shop_orders_min('2026-07-01 00:00Z') AND shop_orders_max('2026-07-01 23:59:59.999Z');
--   SELECT * FROM shop_orders WHERE shop_orders_between(id, now() - interval '1 hour', now());
--
-- NULL, and a number that is no ID of this layout, have NULL as time, node and counter.

-- The millisecond of an ID.
CREATE OR REPLACE FUNCTION shop_orders_time(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807
    THEN (timestamp '2010-11-04 01:42:54.657' + (id >> 22) * interval '1 millisecond') AT TIME ZONE 'UTC' END;

-- The logical node of an ID, 0 to 1023.
CREATE OR REPLACE FUNCTION shop_orders_node(id bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN ((id >> 12) & 1023)::integer END;

-- The counter of an ID within its node and millisecond, 0 to 4095.
CREATE OR REPLACE FUNCTION shop_orders_counter(id bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND 9223372036854775807 THEN (id & 4095)::integer END;

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last; infinity, too.
CREATE OR REPLACE FUNCTION shop_orders_min(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN t < timestamptz '2010-11-04 01:42:54.657+00' THEN 0 WHEN t >= timestamptz '2080-07-10 17:30:30.209+00' THEN 2199023255551
    ELSE floor(extract(epoch FROM t AT TIME ZONE 'UTC') * 1000)::bigint - 1288834974657 END << 22;

-- The largest ID of a millisecond.
CREATE OR REPLACE FUNCTION shop_orders_max(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN shop_orders_min(t) | 4194303;

-- Reports whether an ID is of a millisecond from the first time to the second, both included.
CREATE OR REPLACE FUNCTION shop_orders_between(id bigint, first timestamptz, last timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id BETWEEN shop_orders_min(first) AND shop_orders_max(last);

-- The 13 digits of an ID in Crockford's Base32, NULL for a negative number. They sort like the IDs.
CREATE OR REPLACE FUNCTION shop_orders_base32(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id >= 0 THEN
    substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 60) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 55) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 50) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 45) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 40) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 35) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 30) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 25) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 20) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 15) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 10) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 5) & 31)::integer + 1, 1)
    || substr('0123456789abcdefghjkmnpqrstvwxyz', ((id >> 0) & 31)::integer + 1, 1) END;

-- The ID of a text in Base32, in lower case; NULL for any other text.
CREATE OR REPLACE FUNCTION shop_orders_from_base32(digits text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN digits COLLATE "C" ~ '^[0-7][0123456789abcdefghjkmnpqrstvwxyz]{12}$' THEN
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 1, 1)) - 1)::bigint << 60)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 2, 1)) - 1)::bigint << 55)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 3, 1)) - 1)::bigint << 50)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 4, 1)) - 1)::bigint << 45)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 5, 1)) - 1)::bigint << 40)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 6, 1)) - 1)::bigint << 35)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 7, 1)) - 1)::bigint << 30)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 8, 1)) - 1)::bigint << 25)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 9, 1)) - 1)::bigint << 20)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 10, 1)) - 1)::bigint << 15)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 11, 1)) - 1)::bigint << 10)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 12, 1)) - 1)::bigint << 5)
    | ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, 13, 1)) - 1)::bigint << 0) END;
