column access_tokens.created_at timestamp(3) with time zone not null default now()
column access_tokens.expires_at timestamp(3) with time zone
column access_tokens.id text not null
column access_tokens.issued_at timestamp(3) with time zone not null default now()
column access_tokens.last_used_at timestamp(3) with time zone
column access_tokens.name text not null
column access_tokens.previous_expires_at timestamp(3) with time zone
column access_tokens.previous_hash bytea
column access_tokens.revoked_at timestamp(3) with time zone
column access_tokens.scopes text[] not null
column access_tokens.secret_hash bytea not null
column plant_changes.id bigint not null
column plant_changes.kind text not null
column plant_changes.name text
column plant_changes.position bigint not null
column plant_changes.principal text not null
column plant_changes.request_id text not null
column plant_changes.tag text
column plant_changes.time timestamp(3) with time zone not null default now()
column plant_changes_state.database name
column plant_changes_state.is_interrupted boolean not null default false
column plant_changes_state.jumped_to bigint not null default 0
column plant_changes_state.only boolean not null default true
column plant_changes_state.pruned_to bigint not null default 0
column plant_changes_state.relation oid
column plant_changes_state.started_at timestamp with time zone
column plant_store_migrations.id integer not null default nextval('plant_store_migrations_id_seq'::regclass)
column plant_store_migrations.name character varying not null
column plant_store_migrations.timestamp bigint not null
column plants.id bigint not null
column plants.name text not null
column plants.tag text
sequence plant_changes_position_seq increment 1 cache 1
sequence plant_store_migrations_id_seq increment 1 cache 1
constraint access_tokens.access_tokens_pkey PRIMARY KEY (id)
constraint plant_changes.plant_changes_pkey PRIMARY KEY ("position")
constraint plant_changes_state.plant_changes_state_only_check CHECK ("only")
constraint plant_changes_state.plant_changes_state_pkey PRIMARY KEY ("only")
constraint plant_store_migrations.PK_cca98b57cd39fda98d2dbef52da PRIMARY KEY (id)
constraint plants.plants_pkey PRIMARY KEY (id)
CREATE INDEX plant_changes_id_position_idx ON public.plant_changes USING btree (id, "position")
CREATE INDEX plants_name_search_idx ON public.plants USING gin (translate(upper(lower(("left"(name, 4000) COLLATE "und-x-icu"))), 'Σ'::text, 'Ϲ'::text) gin_trgm_ops)
CREATE INDEX plants_tag_idx ON public.plants USING btree (hashtextextended(tag, (0)::bigint), id) WHERE (tag IS NOT NULL)
CREATE UNIQUE INDEX "PK_cca98b57cd39fda98d2dbef52da" ON public.plant_store_migrations USING btree (id)
CREATE UNIQUE INDEX access_tokens_pkey ON public.access_tokens USING btree (id)
CREATE UNIQUE INDEX plant_changes_pkey ON public.plant_changes USING btree ("position")
CREATE UNIQUE INDEX plant_changes_state_pkey ON public.plant_changes_state USING btree ("only")
CREATE UNIQUE INDEX plants_pkey ON public.plants USING btree (id)
CREATE OR REPLACE FUNCTION public.begin_plant_changes()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
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
     END $function$

CREATE OR REPLACE FUNCTION public.clean_plants_name_search_idx()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ SELECT pg_catalog.gin_clean_pending_list('public.plants_name_search_idx'::pg_catalog.regclass) $function$

CREATE OR REPLACE FUNCTION public.plant_changes_horizon(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
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
     END $function$

CREATE OR REPLACE FUNCTION public.plant_changes_pruned_to()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ BEGIN RETURN (SELECT pruned_to FROM public."plant_changes_state"); END $function$

CREATE OR REPLACE FUNCTION public.prune_plant_changes(before timestamp with time zone, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
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
     END $function$

CREATE OR REPLACE FUNCTION public.record_plant_changes(is_recorded boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ BEGIN
       IF NOT is_recorded THEN
         UPDATE public."plant_changes_state" SET is_interrupted = true WHERE NOT is_interrupted;
       ELSE
         UPDATE public."plant_changes_state" SET is_interrupted = false, pruned_to = coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0) WHERE is_interrupted;
       END IF;
     END $function$

CREATE OR REPLACE FUNCTION public.resume_plant_changes()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
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
     END $function$

grant EXECUTE on function begin_plant_changes() to frozen_migrations_service
grant EXECUTE on function clean_plants_name_search_idx() to frozen_migrations_service
grant EXECUTE on function plant_changes_horizon() to frozen_migrations_service
grant EXECUTE on function plant_changes_pruned_to() to frozen_migrations_service
grant EXECUTE on function prune_plant_changes(timestamp with time zone,integer) to frozen_migrations_service
grant EXECUTE on function record_plant_changes(boolean) to frozen_migrations_service
grant DELETE, INSERT, SELECT, UPDATE on access_tokens to frozen_migrations_service
grant DELETE, INSERT, SELECT, UPDATE on plants to frozen_migrations_service
grant INSERT, SELECT on plant_changes to frozen_migrations_service
grant SELECT on plant_store_migrations to frozen_migrations_service
