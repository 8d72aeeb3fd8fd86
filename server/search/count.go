package search

import (
	"context"
	"sync"

	"github.com/easeml/easeml/schema"
)

// countCache remembers the counts of a program, which are asked for at every
// declaration and cost a start of the trainer.
type countCache struct {
	mu   sync.Mutex
	seen map[string]Counted
}

// Counted is how many candidates a program has.
type Counted struct {
	Light, Deep int // deep ones gain from a GPU
	Missing     int // of the deep ones those whose libraries the trainer's Python lacks
}

// Count tells how many candidates a program would have before its data are
// known.
func (s *Service) Count(ctx context.Context, program string) (n Counted, err error) {
	p, err := schema.Parse(program)
	if err != nil {
		return n, err
	}
	canonical := schema.Format(p)
	s.counts.mu.Lock()
	seen, known := s.counts.seen[canonical]
	s.counts.mu.Unlock()
	if known {
		return seen, nil
	}
	template, ok := schema.Match(p)
	if !ok {
		return n, nil
	}
	list, err := s.cfg.Trainer.Candidates(ctx, programJSON(canonical), typical(p), string(template))
	if err != nil {
		return n, err
	}
	for _, c := range list {
		switch {
		case c.Baseline:
		case deep(c):
			n.Deep++
			if len(c.Missing) > 0 {
				n.Missing++
			}
		case len(c.Missing) == 0:
			n.Light++
		}
	}
	if n.Missing > 0 {
		return n, nil // they may be installed at any time
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	if s.counts.seen == nil {
		s.counts.seen = map[string]Counted{}
	}
	s.counts.seen[canonical] = n
	return n, nil
}

// typical is the profile of data that are not known yet: a thousand examples
// of what the program says, so that no candidate is left out for their number.
func typical(p schema.Program) []byte {
	target := map[string]any{"kind": "classes", "labels": []string{"0", "1"}}
	if len(p.Output.Fields) > 0 {
		switch f := p.Output.Fields[0]; {
		case len(p.Output.Pointers) > 0 && (f.Classes != nil || f.Size() > 1):
			target["kind"] = "tokens"
		case len(p.Output.Pointers) > 0:
			target = map[string]any{"kind": "series"}
		case f.Classes != nil && len(f.Classes.Labels) > 0:
			target["labels"] = f.Classes.Labels
		case f.Classes == nil && (f.Size() == 1 || f.Rank() >= 2):
			target = map[string]any{"kind": "numbers"}
		}
	}
	return encode(map[string]any{"rows": 1000, "target": target})
}
