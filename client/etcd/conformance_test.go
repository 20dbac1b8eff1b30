package etcd_test

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
)

// TestConformance: the store keeps the promises that package store needs.
func TestConformance(t *testing.T) {
	s, prefix := anEtcd(t), prefixOf(t)
	storetest.Run(t, func() store.Store {
		cli := connect(t, s)
		return deletable{etcd.New(cli, etcd.Config{Prefix: prefix}).(watched), cli, prefix}
	})
}

// watched are the interfaces of the store, the optional ones among them.
type watched interface {
	store.Store
	store.Watcher
}

// deletable is a store whose keys can be deleted.
type deletable struct {
	watched
	cli    *clientv3.Client
	prefix string
}

func (d deletable) Delete(ctx context.Context, key string) error {
	_, err := d.cli.Delete(ctx, etcd.PathOf(d.prefix, key))
	return err
}
