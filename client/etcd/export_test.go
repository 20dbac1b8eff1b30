package etcd

// PathOf returns the key of etcd that has the body of an engine's key.
func PathOf(prefix, key string) string { return layout(prefix).locate(key).path }
