package show

import "testing"

func BenchmarkChart(b *testing.B) {
	v := digitsFinal()
	b.Run("picture", func(b *testing.B) {
		for b.Loop() {
			WatchChart("digits", v, true)
		}
	})
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			WatchChart("digits", v, false)
		}
	})
}
