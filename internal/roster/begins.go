package roster

import "github.com/snowgrid/snowgrid/internal/clustertime"

// WhyIDsBegin returns why the partitions of a grid that lost every copy begin so much later.
func (r *Roster) WhyIDsBegin(wait clustertime.Span) string {
	durable := false
	for _, m := range r.Members {
		durable = durable || m.Durable
	}
	switch usual := r.Settings.Window + clustertime.ClockMargin; {
	case r.Recovered != nil && wait > usual:
		return "the grid was recovered from some of its data directories, and the lost members may have issued IDs up to then"
	case wait > usual:
		return "the grid begins above the configured floor, or above all IDs that a lost grid may have issued"
	case r.Claim != "":
		return "the grid has taken its anchor again, and earlier IDs may reach up to then"
	case !durable:
		return "a grid without data directories begins a window and 5 s above the clocks, where an earlier run's IDs end " +
			"(see FirstLife, Floor (--floor) and Anchor (--anchor))"
	}
	return "every copy was lost, as when all members are killed, and earlier IDs may reach up to then"
}
