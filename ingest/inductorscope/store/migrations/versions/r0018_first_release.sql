-- The tables of the first release, in the words of PostgreSQL; the revision puts in those of SQLite.
-- This file never changes: later revisions change the tables.
CREATE TABLE audit (
  id BIGSERIAL NOT NULL, at TIMESTAMP WITH TIME ZONE NOT NULL, who TEXT NOT NULL, address TEXT,
  action TEXT NOT NULL, target TEXT NOT NULL,
  CONSTRAINT pk_audit PRIMARY KEY (id)
);
CREATE INDEX ix_audit_at ON audit (at);
CREATE TABLE blobs (
  digest VARCHAR(64) NOT NULL, size BIGINT NOT NULL, stored_size BIGINT NOT NULL,
  encoding TEXT NOT NULL, frames BYTEA, data BYTEA NOT NULL,
  CONSTRAINT pk_blobs PRIMARY KEY (digest)
);
CREATE TABLE jobs (
  id VARCHAR(40) NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, spec JSON NOT NULL,
  state TEXT NOT NULL, step TEXT NOT NULL, done BIGINT NOT NULL, total BIGINT, unit TEXT,
  message TEXT, run_id VARCHAR(16), duplicate BOOLEAN NOT NULL, attempts BIGINT NOT NULL, worker TEXT,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL, started_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE, cancel_requested BOOLEAN NOT NULL, sender TEXT, queue TEXT,
  person_id BIGINT, project_id BIGINT,
  CONSTRAINT pk_jobs PRIMARY KEY (id)
);
CREATE INDEX ix_jobs_created_at ON jobs (created_at);
CREATE INDEX ix_jobs_person_id ON jobs (person_id);
CREATE INDEX ix_jobs_project_id ON jobs (project_id);
CREATE INDEX ix_jobs_run_id ON jobs (run_id);
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE TABLE logins (
  digest VARCHAR(64) NOT NULL, created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL, person_id BIGINT, agent TEXT,
  CONSTRAINT pk_logins PRIMARY KEY (digest)
);
CREATE INDEX ix_logins_expires_at ON logins (expires_at);
CREATE INDEX ix_logins_person_id ON logins (person_id);
CREATE TABLE people (
  id BIGSERIAL NOT NULL CONSTRAINT pk_people PRIMARY KEY /*AUTOINCREMENT*/, name TEXT NOT NULL,
  role TEXT NOT NULL, issuer TEXT NOT NULL, subject TEXT NOT NULL, password TEXT,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  CONSTRAINT uq_people_issuer UNIQUE (issuer, subject),
  CONSTRAINT uq_people_name UNIQUE (name)
);
CREATE TABLE projects (
  id BIGSERIAL NOT NULL CONSTRAINT pk_projects PRIMARY KEY /*AUTOINCREMENT*/, name TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  CONSTRAINT uq_projects_name UNIQUE (name)
);
CREATE TABLE rules (
  id BIGSERIAL NOT NULL, tag TEXT, name TEXT, project TEXT, person TEXT, days BIGINT,
  most_runs BIGINT, most_bytes BIGINT, most_jobs BIGINT, most_minutes BIGINT,
  CONSTRAINT pk_rules PRIMARY KEY (id)
);
CREATE TABLE runs (
  id VARCHAR(16) NOT NULL, content_digest VARCHAR(64) NOT NULL, name TEXT NOT NULL,
  tags JSON NOT NULL, origin TEXT NOT NULL, state TEXT NOT NULL, reader TEXT,
  read_at TIMESTAMP WITH TIME ZONE, step TEXT, created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  torch_version TEXT, torch_git TEXT, device_kind TEXT, device_name TEXT, graph_count BIGINT NOT NULL,
  kernel_count BIGINT NOT NULL, graph_breaks BIGINT, recompiles BIGINT,
  compile_seconds DOUBLE PRECISION, eager_ms DOUBLE PRECISION, compiled_ms DOUBLE PRECISION,
  timings JSON NOT NULL, environment JSON NOT NULL, report JSON NOT NULL,
  dropped_count BIGINT NOT NULL, failure TEXT, bytes_in BIGINT NOT NULL, bytes_stored BIGINT NOT NULL,
  trashed_at TIMESTAMP WITH TIME ZONE,
  CONSTRAINT pk_runs PRIMARY KEY (id),
  CONSTRAINT uq_runs_content_digest UNIQUE (content_digest)
);
CREATE INDEX ix_runs_created_at ON runs (created_at);
CREATE INDEX ix_runs_name ON runs (name);
CREATE INDEX ix_runs_trashed_at ON runs (trashed_at) WHERE trashed_at IS NOT NULL;
CREATE TABLE uploads (
  id VARCHAR(32) NOT NULL, name TEXT NOT NULL, tags JSON NOT NULL, files JSON NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL, finished_at TIMESTAMP WITH TIME ZONE,
  job_id VARCHAR(40), sender TEXT, size BIGINT, person_id BIGINT, project_id BIGINT,
  CONSTRAINT pk_uploads PRIMARY KEY (id)
);
CREATE TABLE worker_processes (
  id VARCHAR(80) NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE NOT NULL, beat_at TIMESTAMP WITH TIME ZONE NOT NULL,
  device TEXT, torch TEXT,
  CONSTRAINT pk_worker_processes PRIMARY KEY (id)
);
CREATE TABLE blob_parts (
  blob VARCHAR(64) NOT NULL, part VARCHAR(64) NOT NULL,
  CONSTRAINT pk_blob_parts PRIMARY KEY (blob, part),
  CONSTRAINT fk_blob_parts_blob_blobs FOREIGN KEY(blob) REFERENCES blobs (digest) ON DELETE CASCADE,
  CONSTRAINT fk_blob_parts_part_blobs FOREIGN KEY(part) REFERENCES blobs (digest)
);
CREATE INDEX ix_blob_parts_part ON blob_parts (part);
CREATE TABLE compile_stories (
  run_id VARCHAR(16) NOT NULL, part TEXT NOT NULL, count BIGINT NOT NULL, payload BYTEA NOT NULL,
  CONSTRAINT pk_compile_stories PRIMARY KEY (run_id, part),
  CONSTRAINT fk_compile_stories_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE TABLE diagnoses (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, kind TEXT NOT NULL, job_id VARCHAR(40) NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL, complete BOOLEAN NOT NULL, summary JSON NOT NULL,
  payload BYTEA NOT NULL,
  CONSTRAINT pk_diagnoses PRIMARY KEY (id),
  CONSTRAINT fk_diagnoses_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT uq_diagnoses_job_id UNIQUE (job_id)
);
CREATE INDEX ix_diagnoses_run_id_kind ON diagnoses (run_id, kind);
CREATE TABLE found_secrets (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, kind TEXT NOT NULL, count BIGINT NOT NULL,
  told BOOLEAN NOT NULL,
  CONSTRAINT pk_found_secrets PRIMARY KEY (id),
  CONSTRAINT fk_found_secrets_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE INDEX ix_found_secrets_run_id ON found_secrets (run_id);
CREATE TABLE graphs (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL,
  position BIGINT NOT NULL, direction TEXT NOT NULL, aot_id TEXT, compile_id TEXT,
  node_count BIGINT NOT NULL, kernel_count BIGINT NOT NULL, call_count BIGINT NOT NULL,
  time_us DOUBLE PRECISION, wrapper_first BIGINT, wrapper_last BIGINT, sources JSON NOT NULL,
  CONSTRAINT pk_graphs PRIMARY KEY (id),
  CONSTRAINT uq_graphs_run_id UNIQUE (run_id, slug),
  CONSTRAINT fk_graphs_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE INDEX ix_graphs_run_id ON graphs (run_id);
CREATE TABLE job_events (
  id BIGSERIAL NOT NULL, job_id VARCHAR(40) NOT NULL, at TIMESTAMP WITH TIME ZONE NOT NULL,
  level TEXT NOT NULL, text TEXT NOT NULL,
  CONSTRAINT pk_job_events PRIMARY KEY (id),
  CONSTRAINT fk_job_events_job_id_jobs FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE INDEX ix_job_events_job_id ON job_events (job_id);
CREATE TABLE line_costs (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, path TEXT, line BIGINT, kernels BIGINT NOT NULL,
  inclusive_us DOUBLE PRECISION NOT NULL, shared_us DOUBLE PRECISION NOT NULL, parts JSON NOT NULL,
  CONSTRAINT pk_line_costs PRIMARY KEY (id),
  CONSTRAINT fk_line_costs_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE INDEX ix_line_costs_run_id ON line_costs (run_id);
CREATE TABLE members (
  project_id BIGINT NOT NULL, person_id BIGINT NOT NULL,
  CONSTRAINT pk_members PRIMARY KEY (project_id, person_id),
  CONSTRAINT fk_members_project_id_projects FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE,
  CONSTRAINT fk_members_person_id_people FOREIGN KEY(person_id) REFERENCES people (id) ON DELETE CASCADE
);
CREATE INDEX ix_members_person_id ON members (person_id);
CREATE TABLE places (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, person_id BIGINT, project_id BIGINT,
  CONSTRAINT pk_places PRIMARY KEY (id),
  CONSTRAINT fk_places_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT fk_places_person_id_people FOREIGN KEY(person_id) REFERENCES people (id) ON DELETE SET NULL,
  CONSTRAINT fk_places_project_id_projects FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE SET NULL
);
CREATE INDEX ix_places_person_id ON places (person_id);
CREATE INDEX ix_places_project_id ON places (project_id);
CREATE INDEX ix_places_run_id ON places (run_id);
CREATE TABLE run_search (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, text TEXT NOT NULL,
  CONSTRAINT pk_run_search PRIMARY KEY (id),
  CONSTRAINT uq_run_search_run_id UNIQUE (run_id),
  CONSTRAINT fk_run_search_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE TABLE shares (
  "key" VARCHAR(43) NOT NULL, run_id VARCHAR(16) NOT NULL, created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  CONSTRAINT pk_shares PRIMARY KEY ("key"),
  CONSTRAINT uq_shares_run_id UNIQUE (run_id),
  CONSTRAINT fk_shares_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE TABLE text_frames (
  id BIGSERIAL NOT NULL, digest VARCHAR(64) NOT NULL, first_line BIGINT NOT NULL,
  lines BIGINT NOT NULL,
  CONSTRAINT pk_text_frames PRIMARY KEY (id),
  CONSTRAINT fk_text_frames_digest_blobs FOREIGN KEY(digest) REFERENCES blobs (digest) ON DELETE CASCADE
);
CREATE INDEX ix_text_frames_digest ON text_frames (digest);
CREATE TABLE tokens (
  id BIGSERIAL NOT NULL, digest VARCHAR(64) NOT NULL, name TEXT NOT NULL, person_id BIGINT,
  project_id BIGINT, scopes JSON NOT NULL, created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE, used_at TIMESTAMP WITH TIME ZONE,
  CONSTRAINT pk_tokens PRIMARY KEY (id),
  CONSTRAINT uq_tokens_digest UNIQUE (digest),
  CONSTRAINT fk_tokens_person_id_people FOREIGN KEY(person_id) REFERENCES people (id) ON DELETE CASCADE,
  CONSTRAINT fk_tokens_project_id_projects FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
CREATE INDEX ix_tokens_person_id ON tokens (person_id);
CREATE TABLE artifacts (
  id BIGSERIAL NOT NULL CONSTRAINT pk_artifacts PRIMARY KEY /*AUTOINCREMENT*/, run_id VARCHAR(16) NOT NULL,
  graph_id BIGINT, role TEXT NOT NULL, path TEXT NOT NULL, digest VARCHAR(64) NOT NULL,
  size BIGINT NOT NULL, line_count BIGINT, derived BOOLEAN NOT NULL,
  CONSTRAINT fk_artifacts_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT fk_artifacts_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE,
  CONSTRAINT fk_artifacts_digest_blobs FOREIGN KEY(digest) REFERENCES blobs (digest)
);
CREATE INDEX ix_artifacts_digest ON artifacts (digest);
CREATE INDEX ix_artifacts_graph_id ON artifacts (graph_id);
CREATE INDEX ix_artifacts_run_id ON artifacts (run_id);
CREATE TABLE graph_nodes (
  graph_id BIGINT NOT NULL, stage TEXT NOT NULL, count BIGINT NOT NULL, payload BYTEA NOT NULL,
  CONSTRAINT pk_graph_nodes PRIMARY KEY (graph_id, stage),
  CONSTRAINT fk_graph_nodes_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE TABLE kernel_benchmarks (
  id BIGSERIAL NOT NULL, graph_id BIGINT NOT NULL, kernel TEXT NOT NULL, handle BIGINT NOT NULL,
  job_id VARCHAR(40) NOT NULL, created_at TIMESTAMP WITH TIME ZONE NOT NULL, result JSON NOT NULL,
  CONSTRAINT pk_kernel_benchmarks PRIMARY KEY (id),
  CONSTRAINT fk_kernel_benchmarks_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE INDEX ix_kernel_benchmarks_graph_id_kernel ON kernel_benchmarks (graph_id, kernel);
CREATE TABLE kernels (
  id BIGSERIAL NOT NULL, graph_id BIGINT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  category TEXT NOT NULL, first_line BIGINT, last_line BIGINT, call_count BIGINT NOT NULL,
  time_us DOUBLE PRECISION, time_calls DOUBLE PRECISION, time_source TEXT, digest BIGINT,
  CONSTRAINT pk_kernels PRIMARY KEY (id),
  CONSTRAINT uq_kernels_graph_id UNIQUE (graph_id, name),
  CONSTRAINT fk_kernels_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE INDEX ix_kernels_digest ON kernels (digest) WHERE digest IS NOT NULL;
CREATE INDEX ix_kernels_graph_id ON kernels (graph_id);
CREATE TABLE links (
  graph_id BIGINT NOT NULL, engine TEXT NOT NULL, payload BYTEA NOT NULL, coverage JSON NOT NULL,
  notes JSON NOT NULL,
  CONSTRAINT pk_links PRIMARY KEY (graph_id),
  CONSTRAINT fk_links_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE TABLE node_costs (
  id BIGSERIAL NOT NULL, graph_id BIGINT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
  line BIGINT NOT NULL, kernels BIGINT NOT NULL, inclusive_us DOUBLE PRECISION NOT NULL,
  shared_us DOUBLE PRECISION NOT NULL,
  CONSTRAINT pk_node_costs PRIMARY KEY (id),
  CONSTRAINT fk_node_costs_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE INDEX ix_node_costs_graph_id ON node_costs (graph_id);
CREATE TABLE kernel_calls (
  id BIGSERIAL NOT NULL, kernel_id BIGINT NOT NULL, graph_id BIGINT NOT NULL, handle BIGINT NOT NULL,
  handle_known BOOLEAN NOT NULL, line BIGINT NOT NULL, number BIGINT NOT NULL,
  permalink VARCHAR(16) NOT NULL,
  CONSTRAINT pk_kernel_calls PRIMARY KEY (id),
  CONSTRAINT fk_kernel_calls_kernel_id_kernels FOREIGN KEY(kernel_id) REFERENCES kernels (id) ON DELETE CASCADE,
  CONSTRAINT fk_kernel_calls_graph_id_graphs FOREIGN KEY(graph_id) REFERENCES graphs (id) ON DELETE CASCADE
);
CREATE INDEX ix_kernel_calls_graph_id ON kernel_calls (graph_id);
CREATE INDEX ix_kernel_calls_kernel_id ON kernel_calls (kernel_id);
CREATE INDEX ix_kernel_calls_permalink ON kernel_calls (permalink);
CREATE TABLE log_entries (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, log TEXT NOT NULL, line BIGINT NOT NULL,
  lines BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT, compile_id TEXT, attempt BIGINT, rank BIGINT,
  pid BIGINT NOT NULL, artifact_id BIGINT,
  CONSTRAINT pk_log_entries PRIMARY KEY (id),
  CONSTRAINT fk_log_entries_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT fk_log_entries_artifact_id_artifacts FOREIGN KEY(artifact_id) REFERENCES artifacts (id) ON DELETE SET NULL
);
CREATE INDEX ix_log_entries_artifact_id ON log_entries (artifact_id);
CREATE INDEX ix_log_entries_run_id_compile_id ON log_entries (run_id, compile_id);
CREATE TABLE profiles (
  id BIGSERIAL NOT NULL, run_id VARCHAR(16) NOT NULL, label TEXT NOT NULL, device_kind TEXT,
  steps BIGINT, artifact_id BIGINT, facts JSON NOT NULL,
  CONSTRAINT pk_profiles PRIMARY KEY (id),
  CONSTRAINT fk_profiles_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT fk_profiles_artifact_id_artifacts FOREIGN KEY(artifact_id) REFERENCES artifacts (id) ON DELETE SET NULL
);
CREATE INDEX ix_profiles_artifact_id ON profiles (artifact_id);
CREATE INDEX ix_profiles_run_id ON profiles (run_id);
CREATE TABLE call_times (
  call_id BIGINT NOT NULL, time_us DOUBLE PRECISION NOT NULL, known TEXT NOT NULL,
  runs BIGINT NOT NULL, median_us DOUBLE PRECISION, p10_us DOUBLE PRECISION, p90_us DOUBLE PRECISION,
  instances JSON,
  CONSTRAINT pk_call_times PRIMARY KEY (call_id),
  CONSTRAINT fk_call_times_call_id_kernel_calls FOREIGN KEY(call_id) REFERENCES kernel_calls (id) ON DELETE CASCADE
);
CREATE TABLE profiler_rows (
  id BIGSERIAL NOT NULL, profile_id BIGINT NOT NULL, name TEXT NOT NULL, category TEXT NOT NULL,
  calls BIGINT NOT NULL, self_cpu_us DOUBLE PRECISION, cpu_us DOUBLE PRECISION,
  self_device_us DOUBLE PRECISION, device_us DOUBLE PRECISION,
  CONSTRAINT pk_profiler_rows PRIMARY KEY (id),
  CONSTRAINT fk_profiler_rows_profile_id_profiles FOREIGN KEY(profile_id) REFERENCES profiles (id) ON DELETE CASCADE
);
CREATE INDEX ix_profiler_rows_profile_id ON profiler_rows (profile_id);
CREATE TABLE timeline_chunks (
  profile_id BIGINT NOT NULL, level BIGINT NOT NULL, number BIGINT NOT NULL, first BIGINT NOT NULL,
  count BIGINT NOT NULL, first_row BIGINT NOT NULL, last_row BIGINT NOT NULL,
  begin_us DOUBLE PRECISION NOT NULL, end_us DOUBLE PRECISION NOT NULL,
  longest_us DOUBLE PRECISION NOT NULL, sums JSON NOT NULL, payload BYTEA NOT NULL,
  CONSTRAINT pk_timeline_chunks PRIMARY KEY (profile_id, level, number),
  CONSTRAINT fk_timeline_chunks_profile_id_profiles FOREIGN KEY(profile_id) REFERENCES profiles (id) ON DELETE CASCADE
);
CREATE TABLE timelines (
  profile_id BIGINT NOT NULL, facts JSON NOT NULL,
  CONSTRAINT pk_timelines PRIMARY KEY (profile_id),
  CONSTRAINT fk_timelines_profile_id_profiles FOREIGN KEY(profile_id) REFERENCES profiles (id) ON DELETE CASCADE
);
CREATE TABLE trace_chunks (
  profile_id BIGINT NOT NULL, number BIGINT NOT NULL, first BIGINT NOT NULL, count BIGINT NOT NULL,
  longest_us DOUBLE PRECISION NOT NULL, payload BYTEA NOT NULL,
  CONSTRAINT pk_trace_chunks PRIMARY KEY (profile_id, number),
  CONSTRAINT fk_trace_chunks_profile_id_profiles FOREIGN KEY(profile_id) REFERENCES profiles (id) ON DELETE CASCADE
);
CREATE TABLE trace_kernels (
  id BIGSERIAL NOT NULL, profile_id BIGINT NOT NULL, position BIGINT NOT NULL, name TEXT NOT NULL,
  category TEXT NOT NULL, op TEXT, region BIGINT, joined TEXT, calls BIGINT NOT NULL,
  total_us DOUBLE PRECISION NOT NULL, min_us DOUBLE PRECISION, max_us DOUBLE PRECISION,
  kernel_id BIGINT,
  CONSTRAINT pk_trace_kernels PRIMARY KEY (id),
  CONSTRAINT fk_trace_kernels_profile_id_profiles FOREIGN KEY(profile_id) REFERENCES profiles (id) ON DELETE CASCADE,
  CONSTRAINT fk_trace_kernels_kernel_id_kernels FOREIGN KEY(kernel_id) REFERENCES kernels (id) ON DELETE SET NULL
);
CREATE INDEX ix_trace_kernels_kernel_id ON trace_kernels (kernel_id);
CREATE INDEX ix_trace_kernels_profile_id_total_us ON trace_kernels (profile_id, total_us);
CREATE TABLE survey_cells (
  id BIGSERIAL NOT NULL, key VARCHAR(32) NOT NULL, survey TEXT NOT NULL, program TEXT NOT NULL,
  python TEXT NOT NULL, torch TEXT NOT NULL, device TEXT NOT NULL, mode TEXT NOT NULL,
  run_id VARCHAR(16), failure TEXT, seconds DOUBLE PRECISION NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL, made JSON NOT NULL, counts JSON NOT NULL,
  details JSON NOT NULL, before VARCHAR(24), changes JSON NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT fk_survey_cells_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT uq_survey_cells_key UNIQUE (key)
);
CREATE INDEX ix_survey_cells_run_id ON survey_cells (run_id);
CREATE INDEX ix_survey_cells_survey ON survey_cells (survey);
