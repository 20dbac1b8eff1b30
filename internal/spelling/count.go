package spelling

import "fmt"

// Count returns a number with its noun: 1 member, 2 members.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
