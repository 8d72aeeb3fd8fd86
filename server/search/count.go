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
	seen map[string][2]int
}

// Count tells how many candidates a program would have before its data are
// known: light ones, and deep ones (heavy) that gain from a GPU.
func (s *Service) Count(ctx context.Context, program string) (light, heavy int, err error) {
	p, err := schema.Parse(program)
	if err != nil {
		return 0, 0, err
	}
	canonical := schema.Format(p)
	s.counts.mu.Lock()
	seen, known := s.counts.seen[canonical]
	s.counts.mu.Unlock()
	if known {
		return seen[0], seen[1], nil
	}
	template, ok := schema.Match(p)
	if !ok {
		return 0, 0, nil
	}
	list, err := s.cfg.Trainer.Candidates(ctx, programJSON(canonical), typical(p), string(template))
	if err != nil {
		return 0, 0, err
	}
	for _, c := range list {
		switch {
		case c.Baseline:
		case deep(c):
			heavy++
		default:
			light++
		}
	}
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	if s.counts.seen == nil {
		s.counts.seen = map[string][2]int{}
	}
	s.counts.seen[canonical] = [2]int{light, heavy}
	return light, heavy, nil
}

// typical is the profile of data that are not known yet: a thousand examples
// of what the program says, so that no candidate is left out for their number.
func typical(p schema.Program) []byte {
	target := map[string]any{"kind": "classes", "labels": []string{"0", "1"}}
	if len(p.Output.Fields) > 0 {
		switch f := p.Output.Fields[0]; {
		case f.Classes != nil && len(f.Classes.Labels) > 0:
			target["labels"] = f.Classes.Labels
		case f.Classes == nil && f.Size() == 1:
			target = map[string]any{"kind": "numbers"}
		}
	}
	return encode(map[string]any{"rows": 1000, "target": target})
}
