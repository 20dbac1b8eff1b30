package explore

import (
	"encoding/binary"
	"fmt"
)

func sprintReply(node, from, until, now int64) string {
	return fmt.Sprintf("node %d from %d until %d, time %d", node, from, until, now)
}

// append encodes every field of a world.
func (l *generatorLab) append(b []byte, w *generatorWorld) []byte {
	b = binary.AppendVarint(b, w.now)
	b = binary.AppendUvarint(b, uint64(w.owner))
	s := w.spent
	b = append(b, w.secrets, s.duplicates, s.expiries, s.releases, s.elsewhere, s.forks, s.moves, s.losses)
	b = append(b, w.holder.attachments, bit(w.holder.attached))
	if w.holder.attached {
		b = binary.AppendVarint(append(b, byte(w.holder.node)), w.holder.from)
	}
	b = appendBits(b, w.holder.rights)
	for _, made := range w.made {
		b = binary.AppendUvarint(b, made)
	}
	for i := range w.processes {
		b = l.appendProcess(b, &w.processes[i])
	}
	return append(b, w.broken...)
}

// appendProcess encodes a process. The time when its request was sent is only read by a weakness.
func (l *generatorLab) appendProcess(b []byte, p *generatorProcess) []byte {
	if l.scope.Clocks { // otherwise it is the world's time
		b = binary.AppendVarint(b, p.at)
	}
	if p.machine == nil {
		return append(b, 0)
	}
	b = l.encodeMachine(append(b, 1, byte(p.ended), p.sent), p.machine)
	if l.weak == TimeSinceSent && p.asks() {
		b = binary.AppendVarint(b, p.sentAt)
	}
	b = append(b, byte(len(p.flights)), byte(len(p.replies)), byte(len(p.release)))
	for _, f := range p.flights {
		b = append(binary.AppendUvarint(b, uint64(f.grant)), bit(f.current))
	}
	for _, r := range p.replies {
		b = binary.AppendUvarint(b, uint64(r))
	}
	for _, r := range p.release {
		b = appendTicks(binary.AppendUvarint(b, uint64(r.grant)), r.last)
	}
	b = appendBits(appendBits(b, p.granted), p.revoked)
	b = binary.AppendUvarint(b, uint64(p.released))
	return binary.AppendVarint(b, p.last)
}

func appendBits(b []byte, all [generatorNodes]uint32) []byte {
	for _, bits := range all {
		b = binary.AppendUvarint(b, uint64(bits))
	}
	return b
}
