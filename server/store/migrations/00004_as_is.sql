-- +goose Up
ALTER TABLE feeds ADD COLUMN as_is TEXT NOT NULL DEFAULT '';  -- who said that what it warned of is fine; else empty

-- +goose Down
ALTER TABLE feeds DROP COLUMN as_is;
