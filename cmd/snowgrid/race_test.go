//go:build race && unix

package main

const raceDetector = true
