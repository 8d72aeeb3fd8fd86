package store

import (
	"iter"
	"slices"
	"strings"
)

// arrived chooses a task's examples. A feed's rows are written piece by piece before the commit that makes them the task's, which
// moves its next number past them; until then nobody sees them. ?1 is the task.
const arrived = `number < (SELECT next_example FROM tasks WHERE id = ?1)`

const exampleColumns = `number, example_hash, input_hash, group_hash, label, fed_label, part, feed, version, source, row, is_on`

func scanExample(s scanner) (e Example, err error) {
	err = s.Scan(&e.Number, &e.ExampleHash, &e.InputHash, &e.Group, &e.Label, &e.Fed, &e.Part, &e.Feed, &e.Version, &e.Source, &e.Row, &e.On)
	return e, err
}

// ExampleFilter chooses examples; its zero value chooses all.
type ExampleFilter struct {
	Part string // train, validation or test; empty: any
	On   *bool  // nil: on and off
}

// Examples lists a task's examples with Number > after that pass the filter,
// at most limit of them (all if limit ≤ 0), by number.
func (r *Reader) Examples(taskID string, after, limit int, filter ExampleFilter) ([]Example, error) {
	return all(r, scanExample, "examples", `SELECT `+exampleColumns+` FROM examples
		WHERE task_id = ?1 AND number > ?2 AND `+arrived+` AND (?3 = '' OR part = ?3) AND (?4 IS NULL OR is_on = ?4)
		ORDER BY number LIMIT ?5`, taskID, after, filter.Part, filter.On, upTo(limit))
}

// AllExamples lists a task's examples, on and off, by number.
func (r *Reader) AllExamples(taskID string) ([]Example, error) {
	return r.Examples(taskID, 0, 0, ExampleFilter{})
}

// EachExample yields a task's examples, on and off, by number, one at a time. An
// error is the last thing that it yields.
func (r *Reader) EachExample(taskID string) iter.Seq2[Example, error] {
	return func(yield func(Example, error) bool) {
		rows, err := r.tx.QueryContext(r.ctx, `SELECT `+exampleColumns+` FROM examples
			WHERE task_id = ?1 AND `+arrived+` ORDER BY number`, taskID)
		if err != nil {
			yield(Example{}, named("examples", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			e, err := scanExample(rows)
			if err != nil {
				yield(Example{}, named("examples", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Example{}, named("examples", err))
		}
	}
}

// ExamplesOf lists those of a task's examples that have these numbers. A number
// that the task hasn't got is passed over.
func (r *Reader) ExamplesOf(taskID string, numbers []int) (list []Example, err error) {
	for some := range slices.Chunk(numbers, 500) {
		args := []any{taskID}
		for _, n := range some {
			args = append(args, n)
		}
		found, err := all(r, scanExample, "examples", `SELECT `+exampleColumns+` FROM examples
			WHERE task_id = ?1 AND `+arrived+` AND number IN (?`+strings.Repeat(", ?", len(some)-1)+`)`, args...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// ExampleCounts counts a task's examples. It looks at each of them: what is
// shown often takes the same counts from the newest [Version].
func (r *Reader) ExampleCounts(taskID string) (ExampleCounts, error) {
	return one(r, func(s scanner) (c ExampleCounts, err error) {
		err = s.Scan(&c.On, &c.Off, &c.Train, &c.Validation, &c.Test)
		return c, err
	}, "examples", `SELECT count(*) FILTER (WHERE is_on), count(*) FILTER (WHERE NOT is_on),
		count(*) FILTER (WHERE is_on AND part = 'train'), count(*) FILTER (WHERE is_on AND part = 'validation'),
		count(*) FILTER (WHERE is_on AND part = 'test') FROM examples WHERE task_id = ?1 AND `+arrived, taskID)
}

// LabelCounts counts a task's examples that are on by their label. It looks at
// each of them.
func (r *Reader) LabelCounts(taskID string) (map[string]int, error) {
	type count struct {
		label string
		n     int
	}
	list, err := all(r, func(s scanner) (c count, err error) {
		err = s.Scan(&c.label, &c.n)
		return c, err
	}, "examples", `SELECT label, count(*) FROM examples WHERE task_id = ?1 AND is_on AND `+arrived+` GROUP BY label`, taskID)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int, len(list))
	for _, c := range list {
		counts[c.label] = c.n
	}
	return counts, nil
}

// InsertExamples adds examples to a task, under the numbers they have. Those from
// the task's NextExample on are seen by nobody until that is past them.
func (tx *Tx) InsertExamples(taskID string, examples []Example) error {
	return bulk(tx, "examples", `INSERT INTO examples (task_id, `+exampleColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, examples, func(e Example) []any {
		return []any{taskID, e.Number, e.ExampleHash, e.InputHash, e.Group, e.Label, e.Fed, e.Part, e.Feed, e.Version, e.Source, e.Row, e.On}
	})
}

// DiscardExamples removes at most limit of the examples from the task's NextExample on:
// what a feed wrote that never ended. It returns how many there were.
func (tx *Tx) DiscardExamples(taskID string, limit int) (int, error) {
	return tx.deleteExamples(taskID, `(SELECT next_example FROM tasks WHERE id = ?1)`, limit)
}

// deleteExamples removes at most limit of a task's examples from a number on.
func (tx *Tx) deleteExamples(taskID, from string, limit int) (int, error) {
	n, err := tx.exec("examples", `DELETE FROM examples WHERE task_id = ?1 AND number IN (SELECT number FROM examples
		WHERE task_id = ?1 AND number >= `+from+` LIMIT ?2)`, taskID, limit)
	return int(n), err
}

// SetExamplesOn switches examples of a task on or off and returns how many of
// them changed. A number that the task hasn't got is passed over.
func (tx *Tx) SetExamplesOn(taskID string, numbers []int, on bool) (changed int, err error) {
	if len(numbers) == 0 {
		return 0, nil
	}
	st, err := tx.tx.PrepareContext(tx.ctx, `UPDATE examples SET is_on = ?1 WHERE task_id = ?2 AND number = ?3 AND is_on <> ?1`)
	if err != nil {
		return 0, named("examples", err)
	}
	defer st.Close()
	for _, number := range numbers {
		res, err := st.ExecContext(tx.ctx, on, taskID, number)
		if err != nil {
			return 0, named("examples", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, named("examples", err)
		}
		changed += int(n)
	}
	return changed, nil
}

// SetLabels gives examples of a task the Label and Fed that they have here. An
// example that the task hasn't got is passed over.
func (tx *Tx) SetLabels(taskID string, examples []Example) error {
	return bulk(tx, "examples", `UPDATE examples SET label = ?, fed_label = ? WHERE task_id = ? AND number = ?`, examples, func(e Example) []any {
		return []any{e.Label, e.Fed, taskID, e.Number}
	})
}
