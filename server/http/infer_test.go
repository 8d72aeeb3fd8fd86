package http

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/answer"
	"github.com/easeml/easeml/server/store"
)

const answered = `{"source":"new.csv","row":0,"values":[["b","2"],["a","1"]],"answer":{"digit":"7"},"sure":0.99,"probabilities":{"7":0.99,"1":0.01}}
{"source":"new.csv","row":1,"refused":{"column":"a","value":3.5,"reason":"is no whole number","remedy":"round it"}}

{"source":"new.csv","row":2,"values":{"z":"1","b":"2","a":""},"answer":{"digit":"5"},"sure":0.4}
`

func (w *world) upload(of *person, name string) api.Upload {
	w.t.Helper()
	u, err := of.client.Upload(w.t.Context(), name, strings.NewReader(name), int64(len(name)), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func TestInfer(t *testing.T) {
	w := newWorld(t)
	w.searched(w.declare("digits"))
	file := w.upload(w.alice, "new.csv")
	w.answers.lines = answered
	var got []api.Answer
	done, err := w.alice.client.Infer(t.Context(), "alice", "digits", api.NewInfer{
		Uploads: []string{file.ID}, Options: map[string][]string{"probabilities": {"on"}}, Using: map[string]string{"image": "a"},
	}, func(a api.Answer) error { got = append(got, a); return nil })
	if err != nil || done.Answers != 2 || done.Refused != 1 || done.Best.Trial != 4 || done.Version != 1 || *done.Best.Test.Right != 211 {
		t.Fatalf("%+v, %v", done, err)
	}
	if len(got) != 3 || got[0].Values[0] != (api.Cell{Column: "b", Text: "2"}) || got[0].Answer["digit"] != "7" || got[0].Probabilities["1"] != 0.01 ||
		got[1].Refused == nil || got[1].Refused.Value != "3.5" || got[1].Refused.Row != 1 || *got[2].Sure != 0.4 ||
		!slices.Equal(got[2].Values, []api.Cell{{Column: "z", Text: "1"}, {Column: "b", Text: "2"}, {Column: "a"}}) {
		t.Errorf("answers %+v", got)
	}
	asked := w.answers.asked[0]
	if asked.Sources[0].Name != "new.csv" || asked.Sources[0].Path == "" || asked.Options["probabilities"][0] != "on" || asked.Using["image"] != "a" {
		t.Errorf("asked %+v", asked)
	}
	// One trial's model; one that is not kept; what is no trial.
	done, err = w.alice.client.Infer(t.Context(), "alice", "digits",
		api.NewInfer{Uploads: []string{file.ID}, Options: map[string][]string{"trial": {"4"}}}, func(api.Answer) error { return nil })
	if err != nil || done.Best.Trial != 4 || done.Version != 1 || len(w.answers.asked[1].Options) != 0 {
		t.Errorf("of trial 4: %+v, %v", done, err)
	}
	for trial, says := range map[string]string{"2": "Models are kept of: trial 4.", "99": "has no trial 99", "x": "must be a trial's number"} {
		_, err := w.alice.client.Infer(t.Context(), "alice", "digits",
			api.NewInfer{Uploads: []string{file.ID}, Options: map[string][]string{"trial": {trial}}}, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("of trial %s: %v", trial, err)
		}
	}
	if _, err := w.alice.client.Infer(t.Context(), "alice", "digits", api.NewInfer{}, nil); !api.IsStatus(err, 422) {
		t.Errorf("nothing: %v", err)
	}
	w.answers.err = &answer.Refusal{Detail: "new.csv has no column image.", Hint: "It has a, b."}
	_, err = w.alice.client.Infer(t.Context(), "alice", "digits", api.NewInfer{Uploads: []string{file.ID}}, nil)
	if !api.IsStatus(err, 422) || err.Error() != "new.csv has no column image. It has a, b." {
		t.Errorf("refused: %v", err)
	}
}

func TestInferWaitsForAModel(t *testing.T) {
	w := newWorld(t)
	task := w.searched(w.declare("digits"))
	served := task.Served
	task.State, task.Reason, task.Served = "searching", "", nil
	w.write(func(tx *store.Tx) error { return tx.UpdateTask(task) })
	file := w.upload(w.alice, "new.csv")
	w.answers.lines = answered
	ask := func(wait bool) (api.Inferred, error) {
		return w.alice.client.Infer(t.Context(), "alice", "digits", api.NewInfer{Uploads: []string{file.ID}, Wait: wait}, func(api.Answer) error { return nil })
	}
	_, err := ask(false)
	if !api.IsStatus(err, 409) || !strings.Contains(err.Error(), `digits has no real model yet, only the guess (always "5").`) {
		t.Errorf("without waiting: %v", err)
	}
	result := make(chan string, 1)
	go func() {
		done, err := ask(true)
		result <- fmt.Sprint(done.Best.Trial, err)
	}()
	task.Served = served
	w.write(func(tx *store.Tx) error {
		if err := tx.UpdateTask(task); err != nil {
			return err
		}
		_, err := tx.Event(store.TopicTask(task.ID), api.EventBestChanged, map[string]int{"trial": 4})
		return err
	})
	if got := <-result; got != "4 <nil>" {
		t.Errorf("waiting: %s", got)
	}
	// Where waiting is hopeless it ends at once.
	task.State, task.Reason, task.Served = "settled", "exhausted", nil
	w.write(func(tx *store.Tx) error { return tx.UpdateTask(task) })
	if _, err := ask(true); !api.IsStatus(err, 409) || !strings.Contains(err.Error(), "has ended without a real model") {
		t.Errorf("hopeless: %v", err)
	}
	w.declare("empty")
	if _, err := w.alice.client.Infer(t.Context(), "alice", "empty", api.NewInfer{Uploads: []string{file.ID}, Wait: true}, nil); !api.IsStatus(err, 409) {
		t.Errorf("without examples: %v", err)
	}
}
