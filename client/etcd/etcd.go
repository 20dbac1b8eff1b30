// Package etcd keeps the records of package store in etcd.
package etcd
