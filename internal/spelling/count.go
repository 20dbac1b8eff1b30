package spelling

import "fmt"

// Count returns a number with its noun: 1 member, 2 members.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountOf returns a part of a number with its noun and verb: 1 of 3 voters is, 2 of 3 voters are.
func CountOf(n, all int, noun string) string {
	verb := "are"
	if n == 1 || all == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %s %s", n, Count(all, noun), verb)
}
