package formation

import (
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/registrar"
	"github.com/snowgrid/snowgrid/internal/registration"
)

// Numbers keeps the files of a member's number: the number itself in the identity, and the
// application for it in a file of its own.
type Numbers struct{ f *Formation }

// Numbers returns the files of this member's number.
func (f *Formation) Numbers() Numbers { return Numbers{f} }

// ReadNumber reads the number and the application of a data directory, before anything else reads or
// writes it.
//
// Errors: sequencer.ErrInvalidConfig if a file is damaged.
func ReadNumber(dir string) (registration.Files, error) {
	id, err := LoadIdentity(dir)
	if err != nil {
		return registration.Files{}, err
	}
	temp, err := registrar.ReadTemp(dir)
	if err != nil {
		return registration.Files{}, refusal.Invalid("%v", err)
	}
	return registration.Files{Final: id.Number, Temp: temp}, nil
}

// WriteTemp implements registrar.Store.
func (n Numbers) WriteTemp(number registration.Number) error {
	return registrar.WriteTemp(n.f.cfg.DataDir, number)
}

// RemoveTemp implements registrar.Store.
func (n Numbers) RemoveTemp() error { return registrar.RemoveTemp(n.f.cfg.DataDir) }

// WriteFinal implements registrar.Store.
func (n Numbers) WriteFinal(number registration.Number) error {
	n.f.idMu.Lock()
	defer n.f.idMu.Unlock()
	n.f.id.Number = &number
	return n.f.id.save(func() { registrar.AtCrashPoint(registrar.BeforeRename) })
}
