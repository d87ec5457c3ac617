-- up
CREATE EXTENSION IF NOT EXISTS "pg_trgm";
SELECT quote_ident(nspname) AS schema
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm';
SELECT 1 FROM pg_stat_progress_create_index
       WHERE datname = current_database() AND index_relid = to_regclass('"plants_name_search_idx"');
SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('"plants_name_search_idx"');
CREATE INDEX CONCURRENTLY "plants_name_search_idx" ON "plants" USING gin ((translate(upper(lower(left("name", 4000) COLLATE "und-x-icu")), 'Σ', 'Ϲ')) public.gin_trgm_ops);
ANALYZE "plants";
DROP INDEX CONCURRENTLY IF EXISTS "plants_name_idx";
DROP INDEX CONCURRENTLY IF EXISTS "plants_long_name_idx";
-- down
DROP INDEX CONCURRENTLY IF EXISTS "plants_name_search_idx";
