package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm prompts on the terminal. It returns nil if the answer is yes, and an error without a
// terminal.
func confirm(to streams, question string) error {
	if !isTerminal(to.in) {
		return usage(
			errors.New("nothing was done: this command requires confirmation, and the input is not a terminal; give --yes"))
	}
	return answered(to.in, to.err, question)
}

// answered prompts, and returns nil if the answer is yes.
func answered(in io.Reader, out io.Writer, question string) error {
	fmt.Fprintf(out, "%s [y/N] ", question)
	line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is a no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
