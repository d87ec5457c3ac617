-- up
SELECT 1 FROM pg_stat_progress_create_index
       WHERE datname = current_database() AND index_relid = to_regclass('"plants_tag_idx"');
SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('"plants_tag_idx"');
CREATE INDEX CONCURRENTLY "plants_tag_idx" ON "plants" (hashtextextended("tag", 0), "id") WHERE "tag" IS NOT NULL;
ANALYZE "plants";
-- down
DROP INDEX CONCURRENTLY IF EXISTS "plants_tag_idx";
