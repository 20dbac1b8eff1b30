package ledger

import (
	"slices"
)

// span is the numbers from <= n < until, all of one owner.
type span[O comparable] struct {
	from, until int64
	of          O
}

// spans are disjoint spans in ascending order; two that touch have two owners.
type spans[O comparable] struct{ list []span[O] }

// search returns the index of the first span that ends above n.
func (s *spans[O]) search(n int64) int {
	last := len(s.list) - 1
	if last < 0 || s.list[last].until <= n {
		return last + 1 // the usual case: time advances
	}
	i, _ := slices.BinarySearchFunc(s.list, n, func(have span[O], n int64) int {
		if have.until <= n {
			return -1
		}
		return 1
	})
	return i
}

// at returns whose n is.
func (s *spans[O]) at(n int64) (O, bool) {
	if i := s.search(n); i < len(s.list) && s.list[i].from <= n {
		return s.list[i].of, true
	}
	var none O
	return none, false
}

// add gives from <= n < until to an owner, who may have some of it already. If
// another has, nothing is changed and that one's span returned.
func (s *spans[O]) add(from, until int64, of O) (have span[O], overlaps bool) {
	begin := s.search(from)
	end := begin
	for ; end < len(s.list) && s.list[end].from < until; end++ {
		if s.list[end].of != of {
			return s.list[end], true
		}
	}
	s.join(begin, end, span[O]{from, until, of})
	return have, false
}

// addNew is add for what not even the owner itself may have already.
func (s *spans[O]) addNew(from, until int64) (have span[O], overlaps bool) {
	i := s.search(from)
	if i < len(s.list) && s.list[i].from < until {
		return s.list[i], true
	}
	var of O
	s.join(i, i, span[O]{from, until, of})
	return have, false
}

// join puts a span in place of those from begin to end, which it overlaps, and of
// its owner's spans that it touches.
func (s *spans[O]) join(begin, end int, put span[O]) {
	if begin > 0 && s.list[begin-1].until == put.from && s.list[begin-1].of == put.of {
		begin--
	}
	if end < len(s.list) && s.list[end].from == put.until && s.list[end].of == put.of {
		end++
	}
	if begin < end {
		put.from = min(put.from, s.list[begin].from)
		put.until = max(put.until, s.list[end-1].until)
	}
	if end == begin+1 {
		s.list[begin] = put
		return
	}
	s.list = slices.Replace(s.list, begin, end, put)
}

// cut takes everything from n on away from an owner.
func (s *spans[O]) cut(n int64, of O) {
	kept := s.list[:0]
	for _, have := range s.list {
		if have.of == of {
			have.until = min(have.until, n)
		}
		if have.from < have.until {
			kept = append(kept, have)
		}
	}
	s.list = kept
}
