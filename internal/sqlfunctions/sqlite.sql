-- The parts of the IDs of {definition}.
-- For SQLite 3.38 and later. Printed by snowgrid sql.
--
-- SQLite has no functions in SQL. This view has the parts of each ID in the column id of the table {prefix}. Times
-- are texts in UTC. A number that is no ID of this layout has NULL as time, node and counter; so has a time after the
-- year 9999. The base32 of a negative number is NULL.

DROP VIEW IF EXISTS {prefix}_parts;
CREATE VIEW {prefix}_parts AS SELECT id,
  CASE WHEN id BETWEEN 0 AND {most} THEN
    strftime('%Y-%m-%d %H:%M:%S', ((id >> {lowbits}) + {epochms}) / 1000, 'unixepoch')
    || printf('.%03d', ((id >> {lowbits}) + {epochms}) % 1000) END AS time,
  CASE WHEN id BETWEEN 0 AND {most} THEN (id >> {counterbits}) & {lastnode} END AS node,
  CASE WHEN id BETWEEN 0 AND {most} THEN id & {lastcounter} END AS counter,
  CASE WHEN id >= 0 THEN
    {base32} END AS base32
FROM "{prefix}";

-- The rows of a time range, both ends included, by the index of the column. A time before the epoch counts as the first
-- millisecond, a time after the last one as the last:
--
--   WITH range(first, last) AS (SELECT
--     max(0, min({lasttime}, unixepoch(:first) * 1000 + substr(strftime('%f', :first), 4) - {epochms})) << {lowbits},
--     (max(0, min({lasttime}, unixepoch(:last) * 1000 + substr(strftime('%f', :last), 4) - {epochms})) << {lowbits}) | {lowmask})
--   SELECT "{prefix}".* FROM range CROSS JOIN "{prefix}" WHERE id BETWEEN first AND last;
--
-- The ID of a text in Base32:
--
--   SELECT CASE WHEN length(:digits) = 13 AND :digits GLOB '[0-7]*' AND :digits NOT GLOB '*[^{digits}]*' THEN
--     {parse32} END;
