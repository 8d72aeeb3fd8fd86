package cells

import (
	"context"
	"fmt"
	"strings"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/lang"
	"github.com/easeml/easeml/kernel/show"
)

// value makes an expression's value the cell's result.
func (c *cell) value(ctx context.Context, s *lang.Value) error {
	text, err := c.text(ctx, s.Operand)
	if err != nil {
		return err
	}
	c.request.Out.Result(jupyter.Text(text))
	return nil
}

// print writes values to stdout.
func (c *cell) print(ctx context.Context, s *lang.Print) error {
	parts := make([]string, len(s.Values))
	for i, v := range s.Values {
		text, err := c.text(ctx, v)
		if err != nil {
			return err
		}
		parts[i] = text
	}
	c.request.Out.Stream("stdout", strings.Join(parts, " ")+"\n")
	return nil
}

// assert fails the cell unless the comparison holds.
func (c *cell) assert(ctx context.Context, s *lang.Assert) error {
	left, err := c.evaluate(ctx, s.Left)
	if err != nil {
		return err
	}
	right, err := c.evaluate(ctx, s.Right)
	if err != nil {
		return err
	}
	holds := false
	a, isNumber := left.(float64)
	b, both := right.(float64)
	switch {
	case isNumber && both:
		holds = compares(a, s.Compare, b)
	case s.Compare == "==":
		holds = left == right
	case s.Compare == "!=":
		holds = left != right
	default:
		return fail(assertion, fmt.Sprintf("Only numbers can be compared with %s, not %s and %s.", s.Compare, plainValue(left), plainValue(right)), "Texts can be == or !=.").at(s.Span())
	}
	if holds {
		return nil
	}
	return fail(assertion, fmt.Sprintf("%s is %s, so it is not %s %s.", operandText(s.Left), plainValue(left), s.Compare, operandText(s.Right)), "").at(s.Span())
}

// compares applies a comparison to two numbers.
func compares(a float64, op string, b float64) bool {
	switch op {
	case ">=":
		return a >= b
	case "<=":
		return a <= b
	case "==":
		return a == b
	case "!=":
		return a != b
	case ">":
		return a > b
	case "<":
		return a < b
	}
	return false
}

// text is an operand's value as print shows it.
func (c *cell) text(ctx context.Context, o lang.Operand) (string, error) {
	if n, ok := asNumber(o); ok {
		return n.Text, nil
	}
	v, err := c.evaluate(ctx, o)
	if err != nil {
		return "", err
	}
	return plainValue(v), nil
}

func plainValue(v any) string {
	if f, ok := v.(float64); ok {
		return show.Number(f)
	}
	return fmt.Sprint(v)
}

// operandText is an operand as it is typed.
func operandText(o lang.Operand) string { return lang.Format(&lang.Value{Operand: o}) }

// evaluate gives an operand's value: a float64 or a string.
func (c *cell) evaluate(ctx context.Context, o lang.Operand) (any, error) {
	if n, ok := asNumber(o); ok {
		return n.Float(), nil
	}
	switch o := o.(type) {
	case lang.String:
		return o.Text, nil
	case *lang.String:
		return o.Text, nil
	case lang.Attribute:
		return c.attribute(ctx, o)
	case *lang.Attribute:
		return c.attribute(ctx, *o)
	}
	return nil, fail("Error", "This value can't be read.", "")
}

func asNumber(o lang.Operand) (lang.Number, bool) {
	switch o := o.(type) {
	case lang.Number:
		return o, true
	case *lang.Number:
		return *o, true
	}
	return lang.Number{}, false
}

// attribute gives a figure of a task.
func (c *cell) attribute(ctx context.Context, a lang.Attribute) (any, error) {
	task, view, _, err := c.view(ctx, a.Task)
	if err != nil {
		return nil, err
	}
	v := attributeOf(view, a.Name)
	if v == nil {
		return nil, fail(noValue, fmt.Sprintf("%s has no %s yet: %s.", task.shown, a.Name, noValueReason(view, a.Name)), "").at(a.Span)
	}
	return v, nil
}

// attributeOf is a figure of a task as a float64 or a string, nil where there is
// none yet. The guess is no model, so it has no quality.
func attributeOf(v api.View, name string) any {
	best := v.Best
	if best != nil && best.Baseline {
		best = nil
	}
	switch name {
	case "metric":
		return text(v.Metric.Name)
	case "seconds":
		return v.Seconds
	case "charge":
		return v.Charge
	case "trials":
		return float64(v.Tried + v.Failed)
	case "running":
		return float64(v.Running)
	case "failed":
		return float64(v.Failed)
	case "candidates":
		return float64(v.Candidates)
	case "examples":
		return float64(v.Examples)
	case "rejected":
		return float64(v.Rejected)
	case "version":
		return float64(v.Version)
	case "state":
		return text(string(v.State))
	case "share":
		return figure(v.Share)
	case "rho":
		return figure(v.Rho)
	case "eta":
		if v.Queue == nil {
			return 0.0
		}
		return v.Queue.EtaHigh
	}
	if best == nil {
		return nil
	}
	switch name {
	case "quality":
		return best.Search.Value
	case "best":
		return text(best.Candidate)
	case "family":
		return text(best.Family)
	}
	if best.Test == nil {
		return nil
	}
	switch name {
	case "test":
		return best.Test.Value
	case "low":
		return best.Test.Low
	case "high":
		return best.Test.High
	}
	return nil
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func figure(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

// noValueReason says why a figure isn't there.
func noValueReason(v api.View, name string) string {
	switch {
	case v.State == api.TaskDeclared:
		return "it has no examples"
	case name == "share" || name == "rho":
		return "it has had less than a second of device time"
	case v.Best == nil || v.Best.Baseline:
		return "it has no real model"
	case v.Best.Test == nil && (name == "test" || name == "low" || name == "high"):
		return "no test part was kept apart"
	}
	return "it isn't known"
}
