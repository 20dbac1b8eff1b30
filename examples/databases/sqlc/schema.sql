CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL);
