// Package libraries shows what an ID is in other libraries: its tests encode and decode IDs
// with the real ones. It is a module of its own, so that snowgrid depends on none of them.
package libraries
