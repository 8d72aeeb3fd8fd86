package search_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/easeml/easeml/server/search"
	"github.com/easeml/easeml/server/store"
)

func held(id string, losses ...float64) store.Trial {
	var b []byte
	for _, x := range losses {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return store.Trial{ID: id, HeldOut: b}
}

func pattern(n int, at func(int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

func TestTies(t *testing.T) {
	// 214 against 211 of 215 right can't be told apart: 3 examples differ, p = 0.25.
	best := held("best", pattern(215, func(i int) float64 { return b2f(i == 0) })...)
	near := held("near", pattern(215, func(i int) float64 { return b2f(i < 4) })...)
	// 9 that only one gets wrong, none the other way: p = 2/512.
	far := held("far", pattern(215, func(i int) float64 { return b2f(i < 10) })...)
	// 6 that only this one gets wrong: p = 2/64.
	other := held("other", pattern(215, func(i int) float64 { return b2f(i == 0 || i > 200 && i < 207) })...)
	short := held("short", 0, 1)
	got := search.Ties(best, []store.Trial{best, near, far, other, short})
	for id, want := range map[string]bool{"best": false, "near": true, "far": false, "other": false, "short": false} {
		if got[id] != want {
			t.Errorf("%s tied: %t, want %t", id, got[id], want)
		}
	}

	a := held("a", pattern(80, func(i int) float64 { return 10 + float64(i%7) })...)
	b := held("b", pattern(80, func(i int) float64 { return 10 + float64(i%7) + 0.5*float64(i%2*2-1) })...)
	c := held("c", pattern(80, func(i int) float64 { return 12 + float64(i%7) + 0.5*float64(i%2*2-1) })...)
	got = search.Ties(a, []store.Trial{b, c})
	if !got["b"] || got["c"] {
		t.Errorf("numbers: %v", got)
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
