package show

import (
	"fmt"
	"time"

	"github.com/easeml/easeml/api"
)

// Server describes the server that is talked to. why says how it was found.
func Server(url, why string, s api.Server, me api.Me) Output {
	p := page{}
	kind := "shared server"
	if s.Private {
		kind = "private server, yours alone"
	}
	policy := ""
	if s.Policy != "" {
		policy = "policy " + s.Policy
	}
	p.say("%s", join(url, kind, "easeml "+s.Version, policy))
	who := fmt.Sprintf("You are %s", me.User)
	if me.Role != "" && me.Role != "user" {
		who += " (" + me.Role + ")"
	}
	if why != "" {
		who += " · " + why
	}
	p.say("%s", who)
	return p.output()
}

// Lost says that the server can't be reached.
func Lost(at time.Time) Output {
	return Plain(lostWords(at))
}

func lostWords(at time.Time) string {
	return fmt.Sprintf("The server hasn't answered since %s. Your search goes on there, nothing is lost. Trying again …", clockSeconds(at))
}

// Back says that the server answers again, and what happened meanwhile.
func Back(at time.Time, before, after api.View) Output { return Plain(BackWords(at, before, after)) }

// BackWords is what Back says.
func BackWords(at time.Time, before, after api.View) string {
	s := fmt.Sprintf("Back at %s.", clockSeconds(at))
	if n := after.Tried - before.Tried; n > 0 {
		s += fmt.Sprintf(" Meanwhile: %s finished", several(n, "trial"))
		if real(before.Best) && real(after.Best) && after.Best.Search.Value > before.Best.Search.Value {
			m := after.Metric.Name
			s += fmt.Sprintf(", best in the search %s → %s", figure(m, before.Best.Search), figure(m, after.Best.Search))
		}
		s += "."
	}
	return s
}
