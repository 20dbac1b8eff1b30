package etcd_test

const workVar = "ETCD_TEST_WORK"

func beProcess(string) int { return 1 }
