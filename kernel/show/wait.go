package show

import (
	"fmt"

	"github.com/easeml/easeml/api"
)

// Waiting is what a blocking wait shows while it waits.
func Waiting(name, until string, v api.View) Output {
	p := page{}
	verdict := bestWords(v.Task)
	p.say("%s · waiting until %s · %s", name, until, verdict)
	waiting(&p, v)
	return p.output()
}

// Waited is the end of a wait: which condition held, and where the task stands.
// held is the condition as the person wrote it, "" where none did: then the time
// out ran out, or with "" the task has settled and none will.
func Waited(name, held, out string, waited float64, v api.View) Output {
	p := page{}
	after := "at once"
	if waited >= 0.05 {
		after = "after " + seconds(waited)
	}
	stand := standing(v.Task, v.Now)
	switch {
	case held != "":
		p.say("%s · %s holds, %s · %s", name, held, after, stand)
	case out == "":
		p.say("%s · nothing that was waited for holds, and nothing runs any more: %s", name, stand)
	default:
		p.say("%s · %s is over, nothing else held before · %s", name, out, stand)
	}
	p.say("%s", join(bestWords(v.Task), testWords(v.Task)))
	if real(v.Best) {
		p.then("best %s", name)
	}
	return p.output()
}

// Standing says in a line where a task stands.
func Standing(name string, v api.View) Output {
	p := page{}
	p.say("%s · %s · %s", name, standing(v.Task, v.Now), bestWords(v.Task))
	return p.output()
}

// testWords is the figure of the test part, where there is one.
func testWords(t api.Task) string {
	if !real(t.Best) || t.Best.Test == nil {
		return ""
	}
	return onTest(t, *t.Best.Test)
}

// Interrupted says that ending a wait harmed nothing.
func Interrupted(name string) string {
	return fmt.Sprintf("The wait was interrupted; the search for %s goes on.", name)
}
