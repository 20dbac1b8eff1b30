// Package stores proves the promise of package client/store over real servers: holders run
// as processes, and etcd (with both of its stores), versitygw (S3) and PostgreSQL on
// loopback, each behind a proxy for each holder. Holders are killed, stopped for several windows and started again;
// servers are killed, stopped and restarted; connections are cut, held, delayed, and lose
// answers; some clocks are an hour off. Every ID that a holder received goes to a file
// before it takes the next ones, and in the end every ID is compared with every other.
//
// make proof-stores runs it for ten minutes; its tests run a short version.
//
// A holder that is killed between receiving IDs and writing them leaves these out. A holder
// that is stopped in a batch writes it when it continues.
package stores
