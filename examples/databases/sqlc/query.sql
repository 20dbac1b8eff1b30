-- name: InsertOrders :copyfrom
INSERT INTO orders (id, item) VALUES ($1, $2);

-- name: InsertOrderBatch :batchexec
INSERT INTO orders (id, item) VALUES ($1, $2);

-- name: OrdersBetween :many
SELECT id, item FROM orders WHERE id BETWEEN @low AND @high ORDER BY id;
