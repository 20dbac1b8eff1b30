package explore

import (
	"fmt"
	"slices"
)

// hear checks a reply, and records it. Each reply must include every life acknowledged before the
// request, and an acknowledged destroy is not undone. The outcome of a client's own operation may
// be late. A life that has ended since the request may be unknown, because its tombstone may have
// been removed.
func (w *nameWorld) hear(a nameAnswer) {
	asked := a.to
	switch {
	case a.own && w.follows(w.newest, a.life) && (a.life != w.newest || w.dead || !a.alive):
		w.dead = w.dead || a.life == w.newest && !a.alive
	case a.life < 0 && asked.newest >= 0 && !asked.dead && asked.newest == w.newest && !w.dead:
		w.wrong = fmt.Sprintf("the name is unknown, and life %d was answered", asked.newest+1)
	case a.life < 0:
	case !w.follows(a.life, asked.newest):
		w.wrong = fmt.Sprintf("life %d is answered, which does not know life %d, answered before", a.life+1, asked.newest+1)
	case a.life == asked.newest && asked.dead && a.alive:
		w.wrong = fmt.Sprintf("life %d is answered, whose end was answered before", a.life+1)
	case a.life != w.newest && w.follows(w.newest, a.life):
		// A later life was acknowledged in between.
	default:
		w.dead = !a.alive || a.life == w.newest && w.dead
		w.newest = a.life
		if first := w.lives[a.life].answered; a.alive && (first == 0 || asked.version < first) {
			w.lives[a.life].answered = asked.version
		}
	}
}

// follows reports whether a life equals another one, or replaced it, directly or not.
func (w *nameWorld) follows(life, other int) bool {
	for ; life >= 0 && life != other; life = w.lives[life].replaced {
	}
	return life == other
}

// unknownOnDisk describes a named disk that lacks an acknowledged life, "" if there is none: the
// invariant behind every reply after a loss.
func (l *nameLab) unknownOnDisk(w *nameWorld) string {
	if w.newest < 0 {
		return ""
	}
	for i, m := range w.members {
		if !slices.Contains(w.roster().Partitions[0].Disk, m.id) {
			continue
		}
		r, known := l.stored(m)
		switch life := w.lifeOf(r.Ref); {
		case known == 0 && !w.dead, known > 0 && !w.follows(life, w.newest):
			return fmt.Sprintf("the disk of %c is named and does not know life %d, which was answered", 'A'+i, w.newest+1)
		case known > 0 && life == w.newest && w.dead && !r.Destroyed:
			return fmt.Sprintf("the disk of %c is named and has life %d, whose end was answered", 'A'+i, life+1)
		}
	}
	return ""
}

// tellDefinitions describes a disk's content.
func tellDefinitions(records int, life byte, destroyed bool) string {
	switch {
	case records == 0:
		return "nothing"
	case destroyed:
		return fmt.Sprintf("life %d, ended", life)
	}
	return fmt.Sprintf("life %d", life)
}
