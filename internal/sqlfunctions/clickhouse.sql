-- Functions for the IDs of {definition}.
-- For ClickHouse 23 and later. Printed by snowgrid sql.
--
-- A query by time compares the column with constants, and uses the primary key:
--
--   SELECT * FROM {prefix} WHERE id BETWEEN {prefix}_min('2026-07-01 00:00:00') AND {prefix}_max(now());
--   SELECT * FROM {prefix} WHERE {prefix}_between(id, now() - INTERVAL 1 HOUR, now());
--
-- Times have the type DateTime64(3, 'UTC'), which ends with the year 2299; texts are read in UTC. The parts of a number
-- that is no ID of this layout have no meaning.

-- The millisecond of an ID.
CREATE OR REPLACE FUNCTION {prefix}_time AS (id) ->
  fromUnixTimestamp64Milli(bitShiftRight(toInt64(id), {lowbits}) + {epochms}, 'UTC');

-- The logical node of an ID, 0 to {lastnode}.
CREATE OR REPLACE FUNCTION {prefix}_node AS (id) -> toUInt16(bitAnd(bitShiftRight(id, {counterbits}), {lastnode}));

-- The counter of an ID within its node and millisecond, 0 to {lastcounter}.
CREATE OR REPLACE FUNCTION {prefix}_counter AS (id) -> toUInt32(bitAnd(id, {lastcounter}));

-- The smallest ID of a millisecond. A time before the epoch counts as the first millisecond, a time after the last
-- one as the last.
CREATE OR REPLACE FUNCTION {prefix}_min AS (t) -> bitShiftLeft(multiIf(
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) < {epochms}, toInt64(0),
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) > {lastms}, toInt64({lasttime}),
  toUnixTimestamp64Milli(toDateTime64(t, 3, 'UTC')) - {epochms}), {lowbits});

-- The largest ID of a millisecond.
CREATE OR REPLACE FUNCTION {prefix}_max AS (t) -> bitOr({prefix}_min(t), {lowmask});

-- Reports whether an ID is of a millisecond from the first time to the second, both included.
CREATE OR REPLACE FUNCTION {prefix}_between AS (id, first, last) ->
  id BETWEEN {prefix}_min(first) AND {prefix}_max(last);

-- The 13 digits of an ID in Crockford's Base32. They sort like the IDs.
CREATE OR REPLACE FUNCTION {prefix}_base32 AS (id) -> concat(
    {base32});

-- The ID of a text in Base32, in lower case; NULL for any other text.
CREATE OR REPLACE FUNCTION {prefix}_from_base32 AS (digits) -> if(match(digits, '^[0-7][{digits}]{12}$'),
    {parse32}, NULL);
