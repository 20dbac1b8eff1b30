// Package languages runs the clients in Python, TypeScript, Java and Rust beside Go holders on three agents with
// security, while members are killed and stopped and clients are paused, and checks all IDs together.
package languages
