package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// crashPath names the store that this binary, run by TestKill, writes to.
const crashPath = "EASEML_TEST_CRASH_STORE"

// crash writes until it is killed, several goroutines at once. Each write that
// has returned is acknowledged with a line on standard output.
func crash(path string) {
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for range 4 {
		go func() {
			for {
				id := newID()
				seq, err := s.Write(context.Background(), func(tx *Tx) error {
					if err := tx.InsertUser(User{ID: id, Name: id}); err != nil {
						return err
					}
					for i := range 3 {
						if _, err := tx.Event(TopicUser(id), "notice", i); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(id, seq)
				mu.Unlock()
			}
		}()
	}
	select {}
}

// Killed in the middle of writing, a store opens again with every acknowledged
// write in it, and no half of any.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "easeml.db")
	acknowledged := map[string]int64{}
	for round, kill := range []int{1, 40, 150} { // after so many acknowledgements
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashPath+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var id string
			var seq int64
			if _, err := fmt.Sscan(lines.Text(), &id, &seq); err != nil {
				break // the line that the kill tore
			}
			acknowledged[id] = seq
			if n++; n == kill {
				cmd.Process.Kill() // SIGKILL; what is in the pipe is still read
			}
		}
		cmd.Wait()
		if n < kill {
			t.Fatalf("the writer ended by itself after %d writes", n)
		}

		s := openAt(t, path) // the killed process's lock is free
		read(t, s, func(r *Reader) error {
			users, err := r.Users()
			if err != nil {
				return err
			}
			there := map[string]bool{}
			for _, u := range users {
				there[u.ID] = true
			}
			for id := range acknowledged {
				if !there[id] {
					t.Errorf("round %d: user %s was acknowledged and is gone", round, id)
				}
			}
			events, err := r.AllEvents(0, 0)
			if err != nil {
				return err
			}
			if len(events) != 3*len(users) {
				t.Errorf("round %d: %d events of %d users, want three each", round, len(events), len(users))
			}
			of := map[string]int{}
			for i, e := range events {
				if e.Seq != int64(i+1) {
					t.Errorf("round %d: event %d has seq %d", round, i+1, e.Seq)
				}
				if want := strconv.Itoa(of[e.Topic]); string(e.Data) != want {
					t.Errorf("round %d: event %d is %s of its transaction, want %s", round, e.Seq, e.Data, want)
				}
				if of[e.Topic]++; of[e.Topic] == 3 {
					id := e.Topic[len("user:"):]
					if seq, ok := acknowledged[id]; !there[id] || ok && seq != e.Seq {
						t.Errorf("round %d: user %s, whose last event is %d, was acknowledged with %d", round, id, e.Seq, seq)
					}
				}
			}
			return nil
		})
		var check string
		if err := s.write.QueryRow("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Fatalf("round %d: integrity: %s, %v", round, check, err)
		}
		t.Logf("round %d: %d writes acknowledged by now, all there", round, len(acknowledged))
		s.Close()
	}
}

// Readers beside a writer see whole transactions only, and time never goes
// back for them.
func TestReadersBesideAWriter(t *testing.T) {
	s := open(t)
	f := fill(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			var last int64
			for ctx.Err() == nil {
				err := s.Read(context.Background(), func(r *Reader) error {
					if r.Seq() < last {
						t.Errorf("a reader went back from %d to %d", last, r.Seq())
					}
					last = r.Seq()
					task, err := r.TaskByID(f.task.ID)
					if err != nil {
						return err
					}
					examples, err := r.AllExamples(task.ID)
					if err != nil {
						return err
					}
					events, err := r.Events(0, []string{TopicTask(task.ID)}, 0)
					if err != nil {
						return err
					}
					if len(examples) != task.NextExample-1 || events[len(events)-1].Seq != r.Seq() {
						t.Errorf("torn: %d examples, next %d, last event %d, snapshot %d",
							len(examples), task.NextExample, events[len(events)-1].Seq, r.Seq())
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 100 {
		write(t, s, func(tx *Tx) error {
			task, err := tx.TaskByID(f.task.ID)
			if err != nil {
				return err
			}
			e := f.examples[0]
			e.Number = task.NextExample
			task.NextExample++
			if err := tx.InsertExamples(task.ID, []Example{e}); err != nil {
				return err
			}
			if err := tx.UpdateTask(task); err != nil {
				return err
			}
			_, err = tx.Event(TopicTask(task.ID), "task.changed", json.RawMessage(`{}`))
			return err
		})
	}
	stop()
	readers.Wait()
}
