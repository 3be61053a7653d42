"""Programs and a matrix for a survey, docs/atlas.md."""
