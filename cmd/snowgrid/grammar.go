package main

import (
	"reflect"
	"slices"
	"strings"
)

// wholeGrammar are the commands that use the flags and the help texts of all commands.
var wholeGrammar = []string{"agent", "completion", "config", "man"}

// grammar returns the struct that kong fills for a command line. If the first argument names a command, the
// struct has that command, and agent and config, whose flags are the keys in configuration files. Else it is
// commands. kong takes 20 ms to build all commands, more than a short command takes.
func grammar(args []string) any {
	if len(args) == 0 || slices.Contains(wholeGrammar, args[0]) {
		return &commands{}
	}
	var fields []reflect.StructField
	found := false
	for field := range reflect.TypeFor[commands]().Fields() {
		name := nameOf(field)
		found = found || name == args[0]
		if name == args[0] || name == "agent" || name == "config" || field.Type == reflect.TypeFor[versionFlag]() {
			fields = append(fields, field)
		}
	}
	if !found || strings.HasPrefix(args[0], "_") {
		return &commands{}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// nameOf returns the command's name in a field.
func nameOf(field reflect.StructField) string {
	if name, given := field.Tag.Lookup("name"); given {
		return name
	}
	return strings.ToLower(field.Name)
}
