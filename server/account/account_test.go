package account

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/easeml/easeml/server/store"
)

func accounts(t *testing.T) (*Accounts, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "easeml.db")
	s, err := store.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return New(s), path
}

func TestEnsure(t *testing.T) {
	a, _ := accounts(t)
	ctx := t.Context()
	ann, err := a.Ensure(ctx, "ann", "")
	if err != nil || ann.Name != "ann" || ann.Role != RoleUser || ann.ID == "" {
		t.Fatalf("a new user: %+v, %v", ann, err)
	}
	for _, c := range []struct{ role, want string }{
		{"", RoleUser}, {RoleAdmin, RoleAdmin}, {"", RoleAdmin}, {RoleUser, RoleUser},
	} {
		u, err := a.Ensure(ctx, "ann", c.role)
		if err != nil || u.ID != ann.ID || u.Role != c.want || !u.Created.Equal(ann.Created) {
			t.Fatalf("Ensure(ann, %q): %+v, %v", c.role, u, err)
		}
	}
	if _, err := a.Ensure(ctx, "ann", "root"); err == nil {
		t.Fatal("a role that doesn't exist was taken")
	}
}

// Many first requests of one user at once make one user.
func TestEnsureAtOnce(t *testing.T) {
	a, _ := accounts(t)
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			u, err := a.Ensure(context.Background(), "alice.smith@uni.example", "")
			if err != nil {
				t.Error(err)
			}
			ids[i] = u.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal("two users of one name")
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"ann", "alice.smith@uni.example", "Jörg Müller", "李", "o'brien", `a"b`, "a\\b", "me", "..."} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a/b", "/", " ann", "ann ", ".", "..", "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "\xff",
		"everyone", "class", strings.Repeat("a", 129)} {
		if CheckName(name) == nil {
			t.Errorf("%q was taken", name)
		}
	}
	a, _ := accounts(t)
	if _, err := a.Ensure(t.Context(), "a/b", ""); err == nil {
		t.Error("Ensure took a/b")
	}
}

func TestTokens(t *testing.T) {
	a, path := accounts(t)
	ctx := t.Context()
	ann, err := a.Ensure(ctx, "ann", RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := a.Ensure(ctx, "bob", "")
	if err != nil {
		t.Fatal(err)
	}
	token := func(u User, label string) string {
		t.Helper()
		tok, err := a.NewToken(ctx, u, label)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	laptop, second, lab, bobs := token(ann, "laptop"), token(ann, "laptop"), token(ann, "lab"), token(bob, "")
	for tok, want := range map[string]User{laptop: ann, second: ann, lab: ann, bobs: bob} {
		if u, err := a.Authenticate(ctx, tok); err != nil || u != want {
			t.Errorf("Authenticate: %+v, %v; want %s", u, err, want.Name)
		}
	}

	// A role that changes counts at once.
	if _, err := a.Ensure(ctx, "ann", RoleUser); err != nil {
		t.Fatal(err)
	}
	if u, err := a.Authenticate(ctx, laptop); err != nil || u.Role != RoleUser {
		t.Errorf("after the role changed: %+v, %v", u, err)
	}

	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(laptop, "eml_"))
	if err != nil || len(raw) != 32 {
		t.Errorf("a token is %d random bytes (%v), want 32", len(raw), err)
	}
	for _, bad := range []string{"", "eml_", laptop[:len(laptop)-1], laptop + "a", strings.TrimPrefix(laptop, "eml_"),
		strings.ToUpper(laptop), "eml_" + strings.Repeat("A", 43), "Bearer " + laptop} {
		_, err := a.Authenticate(ctx, bad)
		if !errors.Is(err, ErrToken) {
			t.Errorf("Authenticate of a bad token: %v", err)
		}
		if bad != "" && err != nil && strings.Contains(err.Error(), bad) {
			t.Errorf("the error shows the token")
		}
	}

	for range 2 { // twice is as good as once
		if err := a.Revoke(ctx, lab); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Revoke(ctx, "eml_"+strings.Repeat("A", 43)); !errors.Is(err, ErrToken) {
		t.Errorf("Revoke of no token: %v", err)
	}
	if n, err := a.RevokeLabel(ctx, ann, "laptop"); err != nil || n != 2 {
		t.Errorf("RevokeLabel: %d, %v; want 2", n, err)
	}
	for _, tok := range []string{laptop, second, lab} {
		if _, err := a.Authenticate(ctx, tok); !errors.Is(err, ErrToken) {
			t.Errorf("a revoked token: %v", err)
		}
	}
	if _, err := a.Authenticate(ctx, bobs); err != nil {
		t.Errorf("bob's token: %v", err)
	}
	if _, err := a.NewToken(ctx, User{ID: "nobody"}, ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a token for nobody: %v", err)
	}

	// No token is in the state's files.
	for _, file := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, tok := range []string{laptop, lab, bobs} {
			if strings.Contains(string(b), tok) || strings.Contains(string(b), strings.TrimPrefix(tok, "eml_")) {
				t.Errorf("%s has a token in it", filepath.Base(file))
			}
		}
	}
}
