package registrar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ReadTemp returns the application stored in a data directory, nil for none.
//
// Errors: sequencer.ErrInvalidConfig if the file cannot be read.
func ReadTemp(dir string) (*registration.Number, error) {
	path := filepath.Join(dir, TempFile)
	data, err := readFile(path)
	if err != nil || data == nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, nil
	}
	n, err := decode(data, true)
	if err == nil && n.Number == nil {
		err = errors.New("it has no number")
	}
	if err != nil {
		return nil,
			invalid("%s is damaged: %v; restore it, or remove it: the number that it may name is not given to another process then", path, err)
	}
	return n.Number, nil
}

// WriteTemp stores an application, on disk when it returns.
func WriteTemp(dir string, n registration.Number) error {
	AtCrashPoint(BeforeTemp)
	data, err := encode(n, true)
	if err == nil {
		err = durable.Replace(filepath.Join(dir, TempFile), data, nil)
	}
	if err == nil {
		AtCrashPoint(AfterTemp)
	}
	return err
}

// RemoveTemp removes the application.
func RemoveTemp(dir string) error {
	if err := os.Remove(filepath.Join(dir, TempFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(dir)
}

// readFile reads a file of limited size, nil if there is none.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, invalid("%v", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, invalid("%v", err)
	}
	if len(data) > maxFile {
		return nil, invalid("%s has more than %d bytes", path, maxFile)
	}
	return data, nil
}

// invalid returns an error about the data directory.
func invalid(format string, args ...any) error {
	return failure.Errorf(sequencer.ErrInvalidConfig, "DataDir: %s", fmt.Sprintf(format, args...))
}
