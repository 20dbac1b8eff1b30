package wire

import (
	"fmt"
)

// A FormatError reports stored data in a format that this version of snowgrid does not read. The
// data is not damaged: a version that reads the format can use it.
type FormatError struct {
	Got, Reads int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("it has format %d and this version of snowgrid reads format %d; start the version of snowgrid "+
		"that wrote it, or a later one",
		e.Got, e.Reads)
}

// CheckFormat compares stored data's format number with the supported one. The error is a *FormatError
// if the number is later.
func CheckFormat(got, reads int) error {
	switch {
	case got > reads:
		return &FormatError{Got: got, Reads: reads}
	case got < reads:
		return fmt.Errorf("its format number is %d and the only format there is so far is %d", got, reads)
	}
	return nil
}
