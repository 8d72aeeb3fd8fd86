package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chunkSize is what one PATCH carries: small enough for the body limits of
	// proxies on the way, large enough that the round trip doesn't matter.
	chunkSize = 8 << 20
	// uploadTries is how often in a row an upload may fail without a byte more
	// at the server before it is given up.
	uploadTries = 8
)

// Upload sends size bytes of content under a name and returns the complete
// upload. Content that the caller has sent before is found by its SHA-256 and
// not sent again. A lost connection is resumed at the byte the server has;
// after some tries without progress the *Lost is returned. progress may be nil;
// it is called with the bytes that are there, and with size at the end, at times
// from another goroutine, but never twice at once and never after the return.
func (c *Client) Upload(ctx context.Context, name string, content io.ReaderAt, size int64,
	progress func(done, of int64)) (Upload, error) {
	report := &reporter{call: progress}
	defer report.end()
	sum, err := hashContent(ctx, content, size)
	if err != nil {
		return Upload{}, err
	}
	var upload Upload
	retry := newBackoff()
	for {
		body := NewUpload{Name: name, Size: size, SHA256: sum}
		_, err = c.call(ctx, request{method: http.MethodPost, path: prefix + "/uploads", body: body}, &upload)
		if err == nil {
			break
		}
		if !IsLost(err) || retry.tries >= uploadTries {
			return Upload{}, err
		}
		if err := retry.wait(ctx); err != nil {
			return Upload{}, err
		}
	}
	retry = newBackoff()
	report.at(upload.Offset, size)
	for !upload.Complete {
		before := upload.Offset
		length := min(chunkSize, size-upload.Offset)
		base := upload.Offset
		part := &counted{reader: io.NewSectionReader(content, base, length), length: length,
			report: func(n int64) { report.at(base+n, size) }}
		err := c.sendChunk(ctx, &upload, part, length)
		if err == nil {
			retry = newBackoff()
			report.at(upload.Offset, size)
			continue
		}
		if !resumable(err) {
			return upload, err
		}
		for {
			if retry.tries >= uploadTries {
				return upload, err
			}
			if werr := retry.wait(ctx); werr != nil {
				return upload, werr
			}
			if err = c.whereUpload(ctx, &upload); err == nil {
				break
			}
			if !IsLost(err) {
				return upload, err
			}
		}
		if upload.Offset > before {
			retry = newBackoff()
		}
		report.at(upload.Offset, size)
	}
	report.at(size, size)
	return upload, nil
}

// UploadFile is Upload of a file on this machine.
func (c *Client) UploadFile(ctx context.Context, name, path string, progress func(done, of int64)) (Upload, error) {
	file, err := os.Open(path)
	if err != nil {
		return Upload{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Upload{}, err
	}
	return c.Upload(ctx, name, file, info.Size(), progress)
}

// sendChunk appends length bytes at upload.Offset and moves that on.
func (c *Client) sendChunk(ctx context.Context, upload *Upload, part *counted, length int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, c.uploadURL(upload.ID), part)
	if err != nil {
		return err
	}
	req.ContentLength = length
	if length == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Content-Type", ChunkType)
	req.Header.Set(UploadOffset, strconv.FormatInt(upload.Offset, 10))
	answer, err := c.do(req)
	if failed := part.failed.Load(); failed != nil {
		if answer != nil {
			answer.Body.Close()
		}
		return fmt.Errorf("what is being sent changed or can't be read any more: %w", *failed)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return c.lost(ctx, err)
	}
	return readOffset(answer, upload)
}

// whereUpload asks how far an upload has come.
func (c *Client) whereUpload(ctx context.Context, upload *Upload) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, c.uploadURL(upload.ID), nil)
	if err != nil {
		return err
	}
	answer, err := c.do(req)
	if answer != nil && answer.StatusCode == http.StatusNotFound {
		return &Problem{Status: http.StatusNotFound, Detail: "The server has forgotten this upload.", Hint: "Feed it again."}
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return readOffset(answer, upload)
}

func (c *Client) uploadURL(id string) string {
	return c.base + prefix + "/uploads/" + url.PathEscape(id)
}

func readOffset(answer *http.Response, upload *Upload) error {
	offset, err := strconv.ParseInt(answer.Header.Get(UploadOffset), 10, 64)
	if err != nil || offset < 0 || offset > upload.Size {
		return &Problem{Status: answer.StatusCode, Detail: "The server doesn't say how far the upload has come."}
	}
	upload.Offset = offset
	upload.Complete = offset == upload.Size
	return nil
}

// resumable tells whether asking for the offset and going on may help.
func resumable(err error) bool {
	return IsLost(err) || IsStatus(err, http.StatusConflict)
}

// hashContent is the SHA-256 of the content, in hex.
func hashContent(ctx context.Context, content io.ReaderAt, size int64) (string, error) {
	hash := sha256.New()
	reader := io.NewSectionReader(content, 0, size)
	for {
		_, err := io.CopyN(hash, reader, 16<<20)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("reading what is to be sent: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// counted reports how much has been read, and notices content that is shorter
// than it was when it was hashed. The transport reads it in its own goroutine.
type counted struct {
	reader io.Reader
	report func(n int64)
	length int64
	n      int64
	failed atomic.Pointer[error]
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.n += int64(n)
	c.report(c.n)
	if errors.Is(err, io.EOF) && c.n < c.length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed.Store(&err)
	}
	return n, err
}

// reporter calls a progress function, which may be nil, one call at a time.
type reporter struct {
	mu   sync.Mutex
	call func(done, of int64)
}

func (r *reporter) at(done, of int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.call != nil {
		r.call(done, of)
	}
}

func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call = nil
}

// backoff waits longer after each failure: 0.1 s, doubling up to 5 s.
type backoff struct {
	next  time.Duration
	tries int
}

func newBackoff() *backoff { return &backoff{next: 100 * time.Millisecond} }

func (b *backoff) wait(ctx context.Context) error {
	b.tries++
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, 5*time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
