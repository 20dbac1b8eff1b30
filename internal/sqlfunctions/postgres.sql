-- Functions for the IDs of {definition}.
-- For PostgreSQL 14 and later. Printed by snowgrid sql.
--
-- All are immutable, so indexes and partition bounds may use them. A query by time compares the column with constants,
-- and uses the index of the column:
--
--   SELECT * FROM {prefix} WHERE id BETWEEN {prefix}_min('2026-07-01 00:00Z') AND {prefix}_max('2026-07-01 23:59:59.999Z');
--   SELECT * FROM {prefix} WHERE {prefix}_between(id, now() - interval '1 hour', now());
--
-- NULL, and a number that is no ID of this layout, have NULL as time, node and counter.

-- The millisecond of an ID.
CREATE OR REPLACE FUNCTION {prefix}_time(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND {most}
    THEN (timestamp '{epoch}' + (id >> {lowbits}) * interval '1 millisecond') AT TIME ZONE 'UTC' END;

-- The logical node of an ID, 0 to {lastnode}.
CREATE OR REPLACE FUNCTION {prefix}_node(id bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND {most} THEN ((id >> {counterbits}) & {lastnode})::integer END;

-- The counter of an ID within its node and millisecond, 0 to {lastcounter}.
CREATE OR REPLACE FUNCTION {prefix}_counter(id bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id BETWEEN 0 AND {most} THEN (id & {lastcounter})::integer END;

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last; infinity, too.
CREATE OR REPLACE FUNCTION {prefix}_min(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN t < timestamptz '{epoch}+00' THEN 0 WHEN t >= timestamptz '{end}+00' THEN {lasttime}
    ELSE floor(extract(epoch FROM t AT TIME ZONE 'UTC') * 1000)::bigint - {epochms} END << {lowbits};

-- The largest ID of a millisecond.
CREATE OR REPLACE FUNCTION {prefix}_max(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN {prefix}_min(t) | {lowmask};

-- Reports whether an ID is of a millisecond from the first time to the second, both included.
CREATE OR REPLACE FUNCTION {prefix}_between(id bigint, first timestamptz, last timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id BETWEEN {prefix}_min(first) AND {prefix}_max(last);

-- The 13 digits of an ID in Crockford's Base32, NULL for a negative number. They sort like the IDs.
CREATE OR REPLACE FUNCTION {prefix}_base32(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN id >= 0 THEN
    {base32} END;

-- The ID of a text in Base32, in lower case; NULL for any other text.
CREATE OR REPLACE FUNCTION {prefix}_from_base32(digits text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN digits COLLATE "C" ~ '^[0-7][{digits}]{12}$' THEN
    {parse32} END;
