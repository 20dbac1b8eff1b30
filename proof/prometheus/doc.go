// Package prometheus tests the alert rules and the dashboard in deploy/ with Prometheus's own
// packages: every query against scrapes of a real grid, and every rule against series for
// which it fires and series for which it does not. It is a module of its own, since
// Prometheus brings hundreds of packages.
package prometheus
