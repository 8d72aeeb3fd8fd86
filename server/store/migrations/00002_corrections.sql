-- +goose Up
ALTER TABLE examples ADD COLUMN fed_label TEXT NOT NULL DEFAULT '';  -- the label as it was fed, where it was corrected since; else empty
ALTER TABLE versions ADD COLUMN by_user TEXT NOT NULL DEFAULT '';    -- the name of whoever made the version
ALTER TABLE versions ADD COLUMN changes TEXT NOT NULL DEFAULT '';    -- JSON of what a refinement changed

-- +goose Down
ALTER TABLE versions DROP COLUMN changes;
ALTER TABLE versions DROP COLUMN by_user;
ALTER TABLE examples DROP COLUMN fed_label;
