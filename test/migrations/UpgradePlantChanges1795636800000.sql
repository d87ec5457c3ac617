-- up
SELECT FROM pg_extension WHERE extname = 'citus';
SELECT quote_ident(current_schema()) AS schema;
CREATE SEQUENCE public."plant_changes_incarnation_seq" MINVALUE -9223372036854775808 START 0;
CREATE SEQUENCE public."plant_changes_jump_seq" MINVALUE -9223372036854775808 START 0;
CREATE SEQUENCE public."plant_changes_gap_seq" MINVALUE -9223372036854775808 START 0;
CREATE OR REPLACE FUNCTION public."resume_plant_changes"() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       incarnation bigint := hashtextextended(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'public."plant_changes"'::regclass::oid
  ), 0);
       jump bigint;
     BEGIN
       IF pg_sequence_last_value('public."plant_changes_incarnation_seq"'::regclass) IS DISTINCT FROM incarnation THEN
         PERFORM pg_advisory_lock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
     BEGIN
       IF pg_sequence_last_value('public."plant_changes_incarnation_seq"'::regclass) IS DISTINCT FROM incarnation THEN
           jump := greatest(
             extract(epoch FROM clock_timestamp()) * 1000000,
             1000000000 + greatest(
               coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0),
               (SELECT pruned_to FROM public."plant_changes_state"),
               (SELECT max(position) FROM public."plant_changes")
             )
           );
           PERFORM setval('public."plant_changes_position_seq"'::regclass, jump);
           PERFORM setval('public."plant_changes_jump_seq"'::regclass, jump);
           PERFORM setval('public."plant_changes_incarnation_seq"'::regclass, incarnation);
         END IF;
     EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
       PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       RAISE;
     END;
     PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       END IF;
     END $$;
REVOKE ALL ON FUNCTION public."resume_plant_changes"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."begin_plant_changes"() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       bound bigint;
     BEGIN
       IF current_setting('history.plant_changes_checked', true) IS DISTINCT FROM 'public."plant_changes"'::regclass::oid::text THEN
         PERFORM public."resume_plant_changes"();
         PERFORM set_config('history.plant_changes_checked', 'public."plant_changes"'::regclass::oid::text, false);
       END IF;
       IF (pg_sequence_parameters('public."plant_changes_position_seq"'::regclass)).cache_size <> 1 THEN
         RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
           MESSAGE = 'the sequence plant_changes_position_seq must have CACHE 1';
       END IF;
       PERFORM set_config('history.plant_changes_recorded', statement_timestamp()::text, true);
       bound := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       PERFORM pg_advisory_xact_lock_shared('public."plant_changes"'::regclass::oid::integer, bound::bit(32)::integer);
       RETURN bound;
     END $$;
REVOKE ALL ON FUNCTION public."begin_plant_changes"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."plant_changes_unrecorded"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN
       IF current_setting('history.plant_changes_recorded', true) IS DISTINCT FROM statement_timestamp()::text THEN
         PERFORM public."begin_plant_changes"();
         PERFORM pg_advisory_lock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
     BEGIN
       PERFORM setval('public."plant_changes_gap_seq"'::regclass, nextval('public."plant_changes_position_seq"'::regclass));
     EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
       PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       RAISE;
     END;
     PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       END IF;
       RETURN NULL;
     END $$;
REVOKE ALL ON FUNCTION public."plant_changes_unrecorded"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."plant_changes_horizon"(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean) RETURNS record LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       bounds bigint[];
       latest bigint;
       gap bigint;
       is_writable boolean := current_setting('transaction_read_only') = 'off';
     BEGIN
       IF is_writable THEN
         PERFORM public."resume_plant_changes"();
       END IF;
       newest := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       bounds := ARRAY (
         SELECT objid::bigint FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 2 AND classid = 'public."plant_changes"'::regclass::oid AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       );
       latest := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       horizon := (SELECT min(latest - ((latest - bound) & 4294967295)) FROM unnest(bounds) AS bound);
       is_held := coalesce(horizon < newest, false);
       horizon := least(horizon, newest);
       gap := least(horizon, coalesce(pg_sequence_last_value('public."plant_changes_gap_seq"'::regclass), 0));
       IF gap > (SELECT state.pruned_to FROM public."plant_changes_state" AS state) THEN
         IF is_writable THEN
           UPDATE public."plant_changes_state" AS state SET pruned_to = gap WHERE state.pruned_to < gap;
         ELSE
           horizon := gap - 1;
         END IF;
       END IF;
       SELECT state.pruned_to INTO pruned_to FROM public."plant_changes_state" AS state;
       jumped_to := coalesce(pg_sequence_last_value('public."plant_changes_jump_seq"'::regclass), 0);
       horizon := least(
         horizon,
         greatest((SELECT max(position) FROM public."plant_changes" WHERE position <= horizon), pruned_to)
       );
     END $$;
REVOKE ALL ON FUNCTION public."plant_changes_horizon"(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."prune_plant_changes"(before timestamptz, most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       last bigint;
       pruned integer;
     BEGIN
       IF (before <= now() - interval '24 hours' AND most BETWEEN 1 AND 10000) IS NOT TRUE THEN
         RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
           MESSAGE = 'records must be older than 24 hours, and at most 10000';
       END IF;
       IF NOT pg_try_advisory_xact_lock('public."plant_changes"'::regclass::oid::bigint << 32) THEN RETURN 0; END IF;
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM public."plant_changes" ORDER BY position LIMIT most) AS oldest
       ) AS oldest;
       IF last IS NULL THEN RETURN 0; END IF;
       DELETE FROM public."plant_changes" WHERE position <= last;
       GET DIAGNOSTICS pruned = ROW_COUNT;
       UPDATE public."plant_changes_state" SET pruned_to = greatest(pruned_to, last);
       RETURN pruned;
     END $$;
REVOKE ALL ON FUNCTION public."prune_plant_changes"(before timestamptz, most integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."record_plant_changes"(is_recorded boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN END $$;
REVOKE ALL ON FUNCTION public."record_plant_changes"(is_recorded boolean) FROM PUBLIC;
SELECT setval('public."plant_changes_incarnation_seq"'::regclass, hashtextextended(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'public."plant_changes"'::regclass::oid
  ), 0)) FROM public."plant_changes_state"
     WHERE started_at IS NULL OR (
       started_at = pg_postmaster_start_time() AND relation = 'public."plant_changes"'::regclass::oid AND database = current_database()
     );
SELECT setval('public."plant_changes_jump_seq"'::regclass, jumped_to) FROM public."plant_changes_state" WHERE jumped_to > 0;
SELECT setval('public."plant_changes_gap_seq"'::regclass, nextval('public."plant_changes_position_seq"'::regclass)) FROM public."plant_changes_state" WHERE is_interrupted;
CREATE TRIGGER "plant_changes_unrecorded"
       AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON public."plants" EXECUTE FUNCTION public."plant_changes_unrecorded"();
-- down
SELECT pruned_to FROM "plant_changes_state";
DROP TABLE "plant_changes_state";
SELECT quote_ident(current_schema()) AS schema;
CREATE TABLE public."plant_changes_state" (
       "only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
       "pruned_to" bigint NOT NULL DEFAULT 0,
       "jumped_to" bigint NOT NULL DEFAULT 0,
       "started_at" timestamptz,
       "database" name,
       "relation" oid,
       "is_interrupted" boolean NOT NULL DEFAULT false
     );
INSERT INTO public."plant_changes_state" DEFAULT VALUES;
CREATE OR REPLACE FUNCTION public."resume_plant_changes"() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       known public."plant_changes_state"%ROWTYPE;
       started bigint := extract(epoch FROM pg_postmaster_start_time()) * 1000000;
       is_other boolean;
     BEGIN
       SELECT * INTO known FROM public."plant_changes_state";
       IF known.started_at = pg_postmaster_start_time() AND known.relation = 'public."plant_changes"'::regclass::oid AND known.database = current_database() THEN RETURN; END IF;
       is_other := known.relation <> 'public."plant_changes"'::regclass::oid OR known.database <> current_database();
       IF is_other OR (known.started_at IS NOT NULL AND coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0) < started) THEN
         PERFORM pg_advisory_lock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
         BEGIN
           IF is_other OR coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0) < started THEN
             PERFORM setval(
               'public."plant_changes_position_seq"',
               greatest(coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0), known.pruned_to, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
             );
           END IF;
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
           RAISE;
         END;
         PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       END IF;
       UPDATE public."plant_changes_state" SET
         started_at = pg_postmaster_start_time(),
         database = current_database(),
         relation = 'public."plant_changes"'::regclass::oid,
         jumped_to = coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0)
       FROM (SELECT FROM public."plant_changes_state" FOR UPDATE SKIP LOCKED) AS unlocked;
     END $$;
REVOKE ALL ON FUNCTION public."resume_plant_changes"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."begin_plant_changes"() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       bound bigint;
     BEGIN
       -- A session stays with its server. A table that is restored is another one.
       IF current_setting('plant_store.plant_changes', true) IS DISTINCT FROM 'public."plant_changes"'::regclass::oid::text THEN
         PERFORM public."resume_plant_changes"();
         PERFORM set_config('plant_store.plant_changes', 'public."plant_changes"'::regclass::oid::text, false);
       END IF;
       bound := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       PERFORM pg_advisory_xact_lock_shared('public."plant_changes"'::regclass::oid::integer, bound::bit(32)::integer);
       RETURN bound;
     END $$;
REVOKE ALL ON FUNCTION public."begin_plant_changes"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."plant_changes_horizon"(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean) RETURNS record LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       bounds bigint[];
       latest bigint;
     BEGIN
       PERFORM public."resume_plant_changes"();
       newest := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       bounds := ARRAY (
         SELECT objid::bigint FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 2 AND classid = 'public."plant_changes"'::regclass::oid AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       );
       latest := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       horizon := (SELECT min(latest - ((latest - bound) & 4294967295)) FROM unnest(bounds) AS bound);
       is_held := coalesce(horizon < newest, false);
       horizon := least(horizon, newest);
       SELECT state.pruned_to, state.jumped_to INTO pruned_to, jumped_to FROM public."plant_changes_state" AS state;
       horizon := least(
         horizon,
         coalesce((SELECT max(position) FROM public."plant_changes" WHERE position <= horizon), pruned_to)
       );
     END $$;
REVOKE ALL ON FUNCTION public."plant_changes_horizon"(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."plant_changes_pruned_to"() RETURNS bigint STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN (SELECT pruned_to FROM public."plant_changes_state"); END $$;
REVOKE ALL ON FUNCTION public."plant_changes_pruned_to"() FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."prune_plant_changes"(before timestamptz, most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ DECLARE
       last bigint;
       pruned integer;
     BEGIN
       IF NOT pg_try_advisory_xact_lock('public."plant_changes"'::regclass::oid::bigint << 32) THEN RETURN 0; END IF;
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before OR position <= pruned_to) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM public."plant_changes" ORDER BY position LIMIT most) AS oldest, public."plant_changes_state"
       ) AS oldest;
       IF last IS NULL THEN RETURN 0; END IF;
       DELETE FROM public."plant_changes" WHERE position <= last;
       GET DIAGNOSTICS pruned = ROW_COUNT;
       UPDATE public."plant_changes_state" SET pruned_to = greatest(pruned_to, last);
       RETURN pruned;
     END $$;
REVOKE ALL ON FUNCTION public."prune_plant_changes"(before timestamptz, most integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION public."record_plant_changes"(is_recorded boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN
       IF NOT is_recorded THEN
         UPDATE public."plant_changes_state" SET is_interrupted = true WHERE NOT is_interrupted;
       ELSE
         UPDATE public."plant_changes_state" SET is_interrupted = false, pruned_to = coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0) WHERE is_interrupted;
       END IF;
     END $$;
REVOKE ALL ON FUNCTION public."record_plant_changes"(is_recorded boolean) FROM PUBLIC;
UPDATE "plant_changes_state" SET pruned_to = 0;
DROP SEQUENCE IF EXISTS "plant_changes_incarnation_seq";
DROP SEQUENCE IF EXISTS "plant_changes_jump_seq";
DROP SEQUENCE IF EXISTS "plant_changes_gap_seq";
DROP TRIGGER IF EXISTS "plant_changes_unrecorded" ON "plants";
DROP FUNCTION IF EXISTS "plant_changes_unrecorded"();
