package registrar

// CrashPoint is a place in a registration at which a process may crash. Tests build programs
// with the tag failpoints; such a program stops for good at the point that the environment
// variable SNOWGRID_FAILPOINT names, and is killed there. Other builds have nothing of it.
type CrashPoint string

// The crash points, in the order of a first start.
const (
	BeforeTemp     CrashPoint = "before-temp"     // nothing is stored
	AfterTemp      CrashPoint = "after-temp"      // the application is stored, and not sent
	AfterApply     CrashPoint = "after-apply"     // the grid has accepted it
	BeforeRename   CrashPoint = "before-rename"   // the final file is written under its scratch name
	AfterFinal     CrashPoint = "after-final"     // both files are there
	BeforeRegister CrashPoint = "before-register" // only the final file is there
)
