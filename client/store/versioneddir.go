package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// versionMarker is written last into a version's directory: without it the directory is
// incomplete.
const versionMarker = "directory-initialized.json"

// versionNote is a versionMarker's content.
type versionNote struct {
	InitializedAt   time.Time `json:"initializedAt"`
	InitializedFrom *uint64   `json:"initializedFrom"` // the version that was copied, null if none
}

// VersionedDir returns the data directory for one version of a logical node, for services that keep
// data with their node. The version comes from the node's record and rises with each holder, so a
// former holder that still runs writes to another directory:
//
//	<root>/node-3/v7/directory-initialized.json
//
// A new version's directory is a copy of the newest complete one before it, or empty. An
// interrupted copy is removed, and made again. The newest keep complete versions remain, including
// the returned one. Files, directories and symbolic links are copied, with their permissions.
//
// Errors: [sequencer.ErrInvalidConfig] if keep is below 1 or version is 0,
// [sequencer.ErrConflict] if root has a later version of the node.
func VersionedDir(root string, node sequencer.NodeID, version uint64, keep int) (string, error) {
	name := fmt.Sprintf("node-%d", node)
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("store: directory of version %d of node %d in %q: %w", version, node, root, err)
	}
	switch {
	case root == "":
		return fail(failure.Errorf(sequencer.ErrInvalidConfig, "the path is empty; name a directory on a local disk"))
	case version == 0:
		return fail(failure.Errorf(sequencer.ErrInvalidConfig, "versions begin with 1; pass the one of the node's record"))
	case keep < 1:
		return fail(failure.Errorf(sequencer.ErrInvalidConfig, "%d versions are to be kept; keep 1 or more", keep))
	}
	dir, err := openRoot(filepath.Join(root, name))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = dir.Close() }() // All that was written is synced.
	if err := prepareVersion(dir, version, keep); err != nil {
		return fail(err)
	}
	return filepath.Join(root, name, versionName(version)), nil
}

func versionName(version uint64) string { return "v" + strconv.FormatUint(version, 10) }

// prepareVersion makes a version's directory, unless it is complete, and removes the
// directories that are not to stay.
func prepareVersion(dir *os.Root, version uint64, keep int) error {
	complete, incomplete, err := versionsIn(dir)
	if err != nil {
		return err
	}
	if last := slices.Max(slices.Concat(complete, incomplete, []uint64{0})); last > version {
		return failure.Errorf(sequencer.ErrConflict, "version %d exists: another holder has taken the node since, or its "+
			"record was made again; attach again, or use another directory", last)
	}
	for _, v := range incomplete {
		if err := removeVersion(dir, v); err != nil {
			return err
		}
	}
	if !slices.Contains(complete, version) {
		if err := makeVersion(dir, version, complete); err != nil {
			return err
		}
		complete = append(complete, version)
	}
	for _, v := range complete[:max(0, len(complete)-keep)] {
		if err := removeVersion(dir, v); err != nil {
			return err
		}
	}
	return nil
}

// versionsIn returns the versions in a node's directory, both ascending.
func versionsIn(dir *os.Root) (complete, incomplete []uint64, err error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		digits, _ := strings.CutPrefix(entry.Name(), "v")
		v, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || v == 0 || versionName(v) != entry.Name() || !entry.IsDir() {
			continue // Another program's.
		}
		var note versionNote
		text, err := dir.ReadFile(path.Join(entry.Name(), versionMarker))
		switch {
		case err == nil && json.Unmarshal(text, &note) == nil:
			complete = append(complete, v)
		case err == nil || isAbsent(err):
			incomplete = append(incomplete, v)
		default:
			return nil, nil, err
		}
	}
	slices.SortFunc(complete, cmp.Compare[uint64])
	slices.SortFunc(incomplete, cmp.Compare[uint64])
	return complete, incomplete, nil
}

// makeVersion makes a version's directory from the last of the complete ones.
func makeVersion(dir *os.Root, version uint64, complete []uint64) error {
	to := versionName(version)
	note := versionNote{InitializedAt: time.Now().UTC()}
	if err := dir.Mkdir(to, 0o770); err != nil {
		return err
	}
	if len(complete) > 0 {
		from := complete[len(complete)-1]
		note.InitializedFrom = &from
		if err := copyVersion(dir, versionName(from), to); err != nil {
			return fmt.Errorf("copy version %d: %w", from, err)
		}
	}
	err := fs.WalkDir(dir.FS(), to, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncIn(dir, name)
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	temp := path.Join(to, "."+versionMarker)
	if err := writeSynced(dir, temp, 0o660, strings.NewReader(string(text)+"\n")); err != nil {
		return err
	}
	if err := dir.Rename(temp, path.Join(to, versionMarker)); err != nil {
		return err
	}
	return errors.Join(syncIn(dir, to), syncIn(dir, "."))
}

// copyVersion copies a directory's contents except its marker.
func copyVersion(dir *os.Root, from, to string) error {
	return fs.WalkDir(dir.FS(), from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == path.Join(from, versionMarker) {
			return err
		}
		target := to + strings.TrimPrefix(name, from)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch mode := entry.Type(); {
		case name == from:
			return nil
		case mode.IsDir():
			// The owner must be able to fill it.
			return dir.Mkdir(target, info.Mode().Perm()|0o700)
		case mode&fs.ModeSymlink != 0:
			link, err := dir.Readlink(name)
			if err != nil {
				return err
			}
			return dir.Symlink(link, target)
		case mode.IsRegular():
			file, err := dir.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // Nothing was written.
			return writeSynced(dir, target, info.Mode().Perm(), file)
		}
		return fmt.Errorf("%s is neither a file, a directory nor a symbolic link; remove it", name)
	})
}

// removeVersion removes a version's directory: the marker first, so that an interrupted
// removal leaves no half that counts as complete.
func removeVersion(dir *os.Root, version uint64) error {
	name := versionName(version)
	if err := dir.Remove(path.Join(name, versionMarker)); err == nil {
		if err := syncIn(dir, name); err != nil {
			return err
		}
	} else if !isAbsent(err) {
		return err
	}
	return dir.RemoveAll(name)
}

func writeSynced(dir *os.Root, name string, mode fs.FileMode, from io.Reader) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, durable.Sync(file))
}

// syncIn makes the names in a directory durable.
func syncIn(dir *os.Root, name string) error {
	d, err := dir.Open(name)
	if err != nil {
		return err
	}
	return durable.Sync(d)
}
