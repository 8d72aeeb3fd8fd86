package search_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/easeml/easeml/server/feed"
	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

// A file is fed, then fed again as somebody has changed it.
func TestAFileThatHasChanged(t *testing.T) {
	l := openLab(t, t.TempDir())
	defer l.close()
	_, task, err := l.Declare(t.Context(), l.user("ada"), "rings", program, nil)
	must(t, err)
	lines := bytes.Split(bytes.TrimSpace(rings(3, 200)), []byte("\n"))
	file := func(lines ...[]byte) feed.Source {
		return l.upload("rings.csv", append(bytes.Join(lines, []byte("\n")), '\n'))
	}
	other := bytes.Replace(lines[5], []byte(",in"), []byte(",OUT"), 1)
	other = bytes.Replace(other, []byte(",out"), []byte(",in"), 1)
	other = bytes.Replace(other, []byte(",OUT"), []byte(",out"), 1)
	l.feedWait(task, file(lines...))
	first := l.examples(task.ID)

	// Only a label has changed: nothing is new, and yet there is a new version.
	changed := slices.Clone(lines)
	changed[5] = other
	f, _ := l.feedWait(task, file(changed...))
	if f.State != "ended" || f.Accepted != 0 || f.Known != 200 || f.Version != 2 {
		t.Fatalf("fed with another label: %+v", f)
	}
	now := l.examples(task.ID)
	if e := now[4]; len(now) != 200 || e.Label == first[4].Label || e.Fed != first[4].Label || e.Part != first[4].Part {
		t.Errorf("example 5 was %+v and is %+v", first[4], now[4])
	}
	l.read(func(r *store.Reader) error {
		v, err := r.Version(task.ID, 2)
		if c := search.ChangesOf(v); err == nil && (v.Cause != "feed" || !slices.Equal(c.Labels, []search.Relabel{{Number: 5, From: first[4].Label, To: now[4].Label}})) {
			t.Errorf("version 2: %+v, %+v", v, c)
		}
		return err
	})

	// Two rows go, one comes, another file is fed, one of the two comes back.
	l.feedWait(task, file(append(slices.Clone(changed[:199]), []byte("9,9,out"))...))
	l.feedWait(task, l.upload("more.csv", rings(4, 20)))
	back := append(slices.Clone(changed[:200]), []byte("9,9,out"))
	if f, _ := l.feedWait(task, file(back...)); f.Accepted != 0 || f.Version != 0 {
		t.Errorf("fed with a row that was there: %+v", f)
	}
	for range 2 { // saying it again changes nothing
		v, err := l.Refine(t.Context(), l.task(task.ID), search.Refinement{Gone: true})
		must(t, err)
		if v != 5 {
			t.Errorf("version %d", v)
		}
	}
	for _, e := range l.examples(task.ID) {
		if e.On != (e.Number != 200) {
			t.Errorf("example %d: on %t", e.Number, e.On)
		}
	}
}

func (l *lab) examples(taskID string) (list []store.Example) {
	l.read(func(r *store.Reader) (err error) {
		list, err = r.AllExamples(taskID)
		return err
	})
	return list
}
