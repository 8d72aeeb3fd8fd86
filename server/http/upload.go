package http

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/easeml/easeml/api"
	"github.com/easeml/easeml/server/blob"
	"github.com/easeml/easeml/server/store"
)

const (
	maxFileName = 1024
	// chunkIdle ends a connection that sends nothing of its upload for so long;
	// what came stays.
	chunkIdle = 60 * time.Second
)

type newUpload struct{ Body api.NewUpload }

// routeUploads adds the taking in of files.
func (s *server) routeUploads() {
	handle(s, http.MethodPost, "/uploads", "create-upload",
		"Begin an upload; content the caller has sent before, or begun to send, is gone on with", s.createUpload)
	id := []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	there := map[string]*huma.Param{
		api.UploadOffset: {Description: "Bytes that are there.", Schema: &huma.Schema{Type: huma.TypeInteger}},
	}
	s.plain(huma.Operation{
		OperationID: "get-upload", Method: http.MethodHead, Path: prefix + "/uploads/{id}",
		Summary: "How far an upload has come", Parameters: id,
		Responses: map[string]*huma.Response{"200": {Description: "Its offset.", Headers: there}},
	}, s.headUpload)
	s.plain(huma.Operation{
		OperationID: "append-upload", Method: http.MethodPatch, Path: prefix + "/uploads/{id}",
		Summary: "Send the bytes from Upload-Offset on; what arrives before a cut stays",
		Parameters: append(id, &huma.Param{Name: api.UploadOffset, In: "header", Required: true,
			Schema: &huma.Schema{Type: huma.TypeInteger}}),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			api.ChunkType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Responses: map[string]*huma.Response{
			"204": {Description: "Taken.", Headers: there},
			"409": {Description: "The upload is elsewhere: go on from the Upload-Offset of this answer.", Headers: there},
		},
	}, s.patchUpload)
}

func (s *server) createUpload(ctx context.Context, in *newUpload) (*answerOf[api.Upload], error) {
	who, want := caller(ctx), in.Body
	sum := strings.ToLower(want.SHA256)
	if raw, err := hex.DecodeString(sum); sum != "" && (err != nil || len(raw) != 32) {
		return nil, refuse(http.StatusUnprocessableEntity, "", "sha256 is no SHA-256 in hexadecimal.")
	}
	if want.Size < 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "", "A file can't have %d bytes.", want.Size)
	}
	if want.Name == "" || len(want.Name) > maxFileName || strings.ContainsFunc(want.Name, unicode.IsControl) {
		return nil, refuse(http.StatusUnprocessableEntity, "", "A file's name has 1 to %d characters, all printable.", maxFileName)
	}
	upload := store.Upload{UserID: who.ID, Name: want.Name, Size: want.Size, SHA256: sum}
	out := &answerOf[api.Upload]{Status: http.StatusCreated}
	err := s.Store.Read(ctx, func(r *store.Reader) error {
		out.Seq = r.Seq()
		return s.findSent(r, &upload)
	})
	if err != nil {
		return nil, err
	}
	if upload.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		upload.ID = id.String()
		if !upload.Complete {
			if err := s.Blobs.Create(upload.ID); err != nil {
				return nil, err
			}
		}
		if _, err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.InsertUpload(upload) }); err != nil {
			return nil, err
		}
	}
	offset := upload.Size
	if !upload.Complete {
		if offset, err = s.Blobs.Offset(upload.ID); err != nil {
			return nil, err
		}
		if offset == upload.Size { // an empty file, or one whose last answer was lost
			if err := s.complete(ctx, &upload); err != nil {
				return nil, err
			}
		}
	}
	out.Body = api.Upload{ID: upload.ID, Offset: offset, Size: upload.Size, Complete: upload.Complete}
	return out, nil
}

// findSent looks for content that this user has sent already, or has begun to
// send: only the owner's is found by its hash.
func (s *server) findSent(r *store.Reader, upload *store.Upload) error {
	if upload.SHA256 == "" {
		return nil
	}
	owned, err := r.BlobOwned(upload.SHA256, upload.UserID)
	if err != nil {
		return err
	}
	if owned {
		_, err := s.Blobs.Path(upload.SHA256) // it is used, so it stays for now
		owned = err == nil
	}
	if owned {
		b, err := r.Blob(upload.SHA256)
		if err != nil {
			return err
		}
		if b.Size != upload.Size {
			return refuse(http.StatusUnprocessableEntity, "", "%s has another size than the content with this SHA-256.", upload.Name)
		}
		upload.Complete = true
		return nil
	}
	begun, err := r.UnfinishedUploads(s.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	for _, u := range begun {
		if u.UserID == upload.UserID && u.SHA256 == upload.SHA256 && u.Size == upload.Size && u.Name == upload.Name {
			if _, err := s.Blobs.Offset(u.ID); err == nil {
				*upload = u
				return nil
			}
		}
	}
	return nil
}

// upload finds one of the caller's uploads; everybody else's are not there.
func (s *server) upload(ctx context.Context, id string) (upload store.Upload, err error) {
	err = s.Store.Read(ctx, func(r *store.Reader) (err error) {
		upload, err = ownUpload(r, caller(ctx), id)
		return err
	})
	return upload, err
}

func ownUpload(r *store.Reader, who store.User, id string) (store.Upload, error) {
	upload, err := r.Upload(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && upload.UserID != who.ID {
		return store.Upload{}, refuse(http.StatusNotFound, "Send the file again.", "There is no such upload.")
	}
	return upload, err
}

func (s *server) headUpload(w http.ResponseWriter, r *http.Request) {
	upload, err := s.upload(r.Context(), r.PathValue("id"))
	if err != nil {
		s.sendProblem(w, r, err)
		return
	}
	offset := upload.Size
	if !upload.Complete {
		if offset, err = s.Blobs.Offset(upload.ID); err == nil && offset == upload.Size {
			err = s.complete(r.Context(), &upload)
		}
		if err != nil {
			s.sendProblem(w, r, wordBlob(err, upload))
			return
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(api.UploadOffset, strconv.FormatInt(offset, 10))
	w.Header().Set(api.UploadLength, strconv.FormatInt(upload.Size, 10))
	w.WriteHeader(http.StatusOK)
}

func (s *server) patchUpload(w http.ResponseWriter, r *http.Request) {
	upload, err := s.upload(r.Context(), r.PathValue("id"))
	if err != nil {
		s.sendProblem(w, r, err)
		return
	}
	from, err := strconv.ParseInt(r.Header.Get(api.UploadOffset), 10, 64)
	if err != nil || from < 0 {
		s.sendProblem(w, r, refuse(http.StatusBadRequest, "", "The header %s must say where these bytes begin.", api.UploadOffset))
		return
	}
	offset := upload.Size
	if !upload.Complete {
		offset, err = s.take(w, r, &upload, from)
	} else if from != upload.Size {
		err = &blob.OffsetError{ID: upload.ID, Sent: from, Have: upload.Size}
	}
	if err != nil {
		if elsewhere, ok := errors.AsType[*blob.OffsetError](err); ok {
			w.Header().Set(api.UploadOffset, strconv.FormatInt(elsewhere.Have, 10))
		}
		s.sendProblem(w, r, wordBlob(err, upload))
		return
	}
	w.Header().Set(api.UploadOffset, strconv.FormatInt(offset, 10))
	w.WriteHeader(http.StatusNoContent)
}

// take appends the request's body to an upload and completes it with its last byte.
func (s *server) take(w http.ResponseWriter, r *http.Request, upload *store.Upload, from int64) (offset int64, err error) {
	body := &patient{reader: r.Body, control: http.NewResponseController(w)}
	defer func() { s.metrics.uploaded.Add(float64(body.n)) }()
	if offset, err = s.Blobs.Append(upload.ID, from, body, upload.Size); err != nil {
		return offset, err
	}
	body.control.SetReadDeadline(time.Time{})
	if offset < upload.Size {
		return offset, nil
	}
	// All bytes are here: the client may leave now, the upload is completed all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	return offset, s.complete(ctx, upload)
}

// complete turns an upload that has all its bytes into a blob of its user.
func (s *server) complete(ctx context.Context, upload *store.Upload) error {
	sum, size, err := s.Blobs.Commit(upload.ID)
	if err != nil {
		return err
	}
	if upload.SHA256 != "" && sum != upload.SHA256 {
		_, err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteUpload(upload.ID) })
		if err = errors.Join(err, s.Blobs.Remove(upload.ID)); err != nil {
			s.Log.Error("a damaged upload could not be removed", "upload", upload.ID, "error", err)
		}
		return refuse(http.StatusUnprocessableEntity, "Send it again.", "%s arrived with other bytes than were announced.", upload.Name)
	}
	upload.SHA256, upload.Complete = sum, true
	_, err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertBlob(sum, size); err != nil {
			return err
		}
		if err := tx.OwnBlob(sum, upload.UserID); err != nil {
			return err
		}
		return tx.UpdateUpload(*upload)
	})
	return err
}

// wordBlob words what may go wrong with an upload.
func wordBlob(err error, upload store.Upload) error {
	if e, ok := errors.AsType[*blob.OffsetError](err); ok {
		return refuse(http.StatusConflict, fmt.Sprintf("Go on from byte %d.", e.Have),
			"%s has %d bytes here, and what was sent begins at byte %d.", upload.Name, e.Have, e.Sent)
	}
	if e, ok := errors.AsType[*blob.SizeError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "", "%s has more than the %d bytes it may have.", upload.Name, e.Limit)
	}
	if errors.Is(err, blob.ErrTakenOver) {
		return refuse(http.StatusConflict, "Ask for the offset.", "Another connection went on with the upload of %s.", upload.Name)
	}
	if errors.Is(err, blob.ErrNotFound) {
		return refuse(http.StatusNotFound, "Send the file again.", "There is no such upload.")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(http.StatusBadRequest, "Ask for the offset and go on.", "The upload of %s broke off.", upload.Name)
	}
	return err
}

// sources are the files behind complete uploads, in their order.
func sources(r *store.Reader, who store.User, ids []string) ([]store.Upload, error) {
	list := make([]store.Upload, 0, len(ids))
	for _, id := range ids {
		upload, err := ownUpload(r, who, id)
		if err != nil {
			return nil, err
		}
		if !upload.Complete {
			return nil, refuse(http.StatusConflict, "Send the rest first.", "%s has not arrived as a whole yet.", upload.Name)
		}
		list = append(list, upload)
	}
	return list, nil
}

// patient reads as long as something comes.
type patient struct {
	reader  io.Reader
	control *http.ResponseController
	n       int64
}

func (p *patient) Read(buffer []byte) (int, error) {
	p.control.SetReadDeadline(time.Now().Add(chunkIdle))
	n, err := p.reader.Read(buffer)
	p.n += int64(n)
	return n, err
}
