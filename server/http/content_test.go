package http

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/easeml/easeml/api"
)

// pictures lays out the ten examples of digits as the trainer does: example n is
// n everywhere.
func (w *world) pictures() {
	w.t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64}, {Name: "image", Type: arrow.FixedSizeListOf(64, arrow.PrimitiveTypes.Uint8)},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer b.Release()
	list := b.Field(1).(*array.FixedSizeListBuilder)
	for n := range 10 {
		b.Field(0).(*array.Int64Builder).Append(int64(n + 1))
		list.Append(true)
		for range 64 {
			list.ValueBuilder().(*array.Uint8Builder).Append(uint8(n + 1))
		}
	}
	f, err := os.Create(filepath.Join(w.answers.folder, "examples-000000.arrow"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	out, err := ipc.NewFileWriter(f, ipc.WithSchema(s))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := out.Write(b.NewRecordBatch()); err != nil {
		w.t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func TestContentIsTheOwners(t *testing.T) {
	w := newWorld(t)
	w.searched(w.declare("digits"))
	w.pictures()
	ctx, asked := t.Context(), api.ExamplesQuery{After: 2, Limit: 3, Content: true}
	list, err := w.alice.client.Examples(ctx, "alice", "digits", asked)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, e := range list {
		if len(e.Content) != 1 || e.Content[0].Field != "image" || e.Content[0].Kind != api.ContentPicture {
			t.Fatalf("%+v", e)
		}
		img, err := png.Decode(bytes.NewReader(e.Content[0].PNG))
		if err != nil || img.Bounds().Dx() != 64 {
			t.Fatalf("%v, %v", img.Bounds(), err)
		}
		if grey, _, _, _ := img.At(9, 9).RGBA(); int(grey>>8) != e.Number {
			t.Errorf("example %d is drawn as %d", e.Number, grey>>8)
		}
	}
	// Who doesn't ask for it doesn't get it.
	asked.Content = false
	if list, err := w.alice.client.Examples(ctx, "alice", "digits", asked); err != nil || list[0].Content != nil {
		t.Errorf("%+v, %v", list, err)
	}
	asked.Content = true
	if _, err := w.bob.client.Examples(ctx, "alice", "digits", asked); !api.IsStatus(err, http.StatusNotFound) {
		t.Errorf("bob: %v", err)
	}
	// An admin sees that there are examples, but not what is in them.
	if _, err := w.admin.client.Examples(ctx, "alice", "digits", api.ExamplesQuery{}); err != nil {
		t.Errorf("the admin: %v", err)
	}
	if _, err := w.admin.client.Examples(ctx, "alice", "digits", asked); !api.IsStatus(err, http.StatusForbidden) {
		t.Errorf("the admin: %v", err)
	}
}

func TestContentIsBounded(t *testing.T) {
	w := newWorld(t)
	w.searched(w.declare("digits"))
	path := "/api/v1/tasks/alice/digits/examples?content=true"
	for _, side := range []string{"7", "257", "x"} {
		if status, _, body := w.ask("GET", path+"&side="+side, w.alice.token, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("side %s: %d %s", side, status, body)
		}
	}
	ctx := context.WithValue(t.Context(), callerKey{}, w.alice.User)
	for limit, want := range map[int]int{0: contentPage, 5: 5, 10000: contentPage} {
		if got, err := (ContentQuery{Content: true}).page(ctx, w.row(w.alice, "digits"), limit); err != nil || got != want {
			t.Errorf("limit %d: %d, %v", limit, got, err)
		}
	}
}
