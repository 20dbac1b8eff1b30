package registrar

// CrashPoint is a point in a registration at which a process may crash. Tests build programs with
// the tag failpoints; such a program blocks permanently at the point named by the environment
// variable SNOWGRID_FAILPOINT, and is killed there. Other builds have no crash points.
type CrashPoint string

// The crash points, in first-start order.
const (
	BeforeTemp     CrashPoint = "before-temp"     // nothing is stored
	AfterTemp      CrashPoint = "after-temp"      // the application is stored, and not sent
	AfterApply     CrashPoint = "after-apply"     // the grid has accepted it
	BeforeRename   CrashPoint = "before-rename"   // the final file is written under its scratch name
	AfterFinal     CrashPoint = "after-final"     // both files are there
	BeforeRegister CrashPoint = "before-register" // only the final file is there
)
