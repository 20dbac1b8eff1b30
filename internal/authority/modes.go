package authority

import (
	"fmt"
	"os"
	"runtime"
)

// CheckModes refuses secret files that every user of the host can read, and returns warnings about files that the
// group may change. Missing files are left out.
func CheckModes(files ...string) (warnings []string, err error) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || runtime.GOOS == "windows" { // where file modes carry no meaning
			continue
		}
		switch mode := info.Mode().Perm(); {
		case mode&0o007 != 0:
			return nil, fmt.Errorf("every user may read %s (%v), which is secret: run chmod 600 %[1]s, or set "+
				"defaultMode: 0440 for a volume of a Kubernetes secret", name, mode)
		case mode&0o037 != 0:
			warnings = append(warnings, fmt.Sprintf("other users may change %s (%v): run chmod 600 %[1]s", name, mode))
		}
	}
	return warnings, nil
}
