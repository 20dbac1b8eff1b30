package main

// Tests that guard stores in a directory, and versioned directories.
var (
	fileTests    = []string{"./client/store", "-run", "File"}
	versionTests = []string{"./client/store", "-run", "VersionedDir"}
	sqliteTests  = []string{"-C", "client/sql", ".", "-run", "SQLiteFile"}
	suiteTests   = []string{"./client/store/storetest", "-run", "TestFile$"}
)

// storeMutants weaken the rules for a store in a directory, and for the data directories of each
// version of a logical node.
var storeMutants = []mutant{
	{"store", "a SQLite file that was removed is a store", "client/sql/sqlitefile.go",
		"case errors.Is(err, fs.ErrNotExist), err", "case errors.Is(err, fs.ErrInvalid), err", sqliteTests},
	{"store", "another SQLite file is the store that was opened", "client/sql/sqlitefile.go",
		"!os.SameFile(file.info, present)", "present.IsDir()", sqliteTests},
	{"store", "a file is replaced at any revision", "client/store/file.go", "if have.Revision != e.Revision {",
		"if have.Revision != e.Revision && e.Revision == \"\" {", fileTests},
	{"store", "a file is created over another", "client/store/file.go", "if have.Revision != e.Revision {",
		"if have.Revision != e.Revision && e.Revision != \"\" {", suiteTests},
	{"store", "a record that is lost before its handle has it is not replaced", "client/store/lost.go",
		"	return held.ID\n", "	return id\n", []string{"./client/store", "-run", "TestReplacementIsLost"}},
	{"store", "writers do not exclude each other", "internal/durable/lock_unix.go", "syscall.LOCK_EX|syscall.LOCK_NB",
		"syscall.LOCK_SH|syscall.LOCK_NB", fileTests},
	{"store", "the revision is of the body alone", "client/store/fileformat.go", "header{Nonce: rand.Text(), Meta",
		"header{Nonce: rand.Text()[:0], Meta", fileTests},
	{"store", "the digest of a file is not compared", "client/store/fileformat.go", "have != digest {", "have == \"\" {",
		fileTests},
	{"store", "a file is written in place", "client/store/file.go",
		"f.root.Rename(path.Join(tempDir, stripe), name); err != nil {", "f.root.WriteFile(name, text, 0o660); err != nil {",
		fileTests},
	{"store", "a state that is loaded may not be on the disk", "client/store/file.go",
		"		err = f.persist(path.Dir(name))\n", "		_ = path.Dir(name)\n", fileTests},
	{"store", "the name of a new directory may not be on the disk", "client/store/file.go",
		"		if err := f.persist(path.Dir(d)); err != nil {\n			return err\n		}\n", "",
		[]string{"./client/store", "-run", "NameOfANewDirectory"}},
	{"store", "an fsync that failed is forgotten", "client/store/file.go", "		f.failed = err\n", "", fileTests},
	{"store", "temporary files of killed writers stay", "client/store/file.go",
		"		stripes = append(stripes, entry.Name())\n", "		_ = entry\n", fileTests},
	{"store", "two keys have one file", "client/store/filekey.go", "!isPlain(c) || c == '.'",
		"!isPlain(c) && (c < 'A' || c > 'Z') || c == '.'", fileTests},
	{"store", "a key leaves the directory", "client/store/filekey.go", "|| c == '.' && length == 0 {", "{", fileTests},
	{"Z26", "a version is complete before its copy", "client/store/versioneddir.go",
		"if err != nil || name == path.Join(from, versionMarker) {", "if err != nil {", versionTests},
	{"Z26", "an incomplete version is copied", "client/store/versioneddir.go",
		"		case err == nil || isAbsent(err):\n			incomplete = append(incomplete, v)\n",
		"		case err == nil || isAbsent(err):\n			complete = append(complete, v)\n", versionTests},
	{"Z26", "the oldest version is copied", "client/store/versioneddir.go", "from := complete[len(complete)-1]",
		"from := complete[0]", versionTests},
	{"Z26", "a former holder gets its directory", "client/store/versioneddir.go", "last > version {",
		"last > version+1000 {", versionTests},
	{"Z26", "all versions are kept", "client/store/versioneddir.go", "complete[:max(0, len(complete)-keep)]",
		"complete[:0]", versionTests},
	{"Z26", "the newest versions are removed", "client/store/versioneddir.go", "complete[:max(0, len(complete)-keep)]",
		"complete[min(keep, len(complete)):]", versionTests},
}
