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
column uncrashed_plant_changes_state.is_uncrashed boolean not null
column webhook_deliveries.id bigint not null
column webhook_deliveries.message_id text not null
column webhook_deliveries.outcome text not null
column webhook_deliveries.reason text
column webhook_deliveries.response text
column webhook_deliveries.status integer
column webhook_deliveries.time timestamp(3) with time zone not null
column webhook_deliveries.type text not null
column webhook_deliveries.webhook_id uuid not null
column webhooks.attempts integer not null default 0
column webhooks.failing_since timestamp(3) with time zone
column webhooks.holder text
column webhooks.id uuid not null default uuid_v7()
column webhooks.kinds text[] not null default '{}'::text[]
column webhooks.last_error text
column webhooks.leased_until timestamp(3) with time zone
column webhooks.next_attempt_at timestamp(3) with time zone
column webhooks.paused_at timestamp(3) with time zone
column webhooks.paused_reason text
column webhooks.positions jsonb not null
column webhooks.previous_secret text
column webhooks.previous_until timestamp(3) with time zone
column webhooks.resources text[] not null default '{}'::text[]
column webhooks.secret text not null
column webhooks.url text not null
column webhooks.waiting_since timestamp(3) with time zone
sequence plant_changes_gap_seq increment 1 cache 1
sequence plant_changes_incarnation_seq increment 1 cache 1
sequence plant_changes_jump_seq increment 1 cache 1
sequence plant_changes_position_seq increment 1 cache 1
sequence plant_store_migrations_id_seq increment 1 cache 1
sequence webhook_deliveries_id_seq increment 1 cache 1
constraint access_tokens.access_tokens_pkey PRIMARY KEY (id)
constraint plant_changes.plant_changes_pkey PRIMARY KEY ("position")
constraint plant_changes_state.plant_changes_state_only_check CHECK ("only")
constraint plant_changes_state.plant_changes_state_pkey PRIMARY KEY ("only")
constraint plant_store_migrations.PK_cca98b57cd39fda98d2dbef52da PRIMARY KEY (id)
constraint plants.plants_pkey PRIMARY KEY (id)
constraint webhook_deliveries.CHK_9274bd8fe9fe859863439a311a CHECK ((outcome = ANY (ARRAY['delivered'::text, 'failed'::text, 'gone'::text])))
constraint webhook_deliveries.webhook_deliveries_pkey PRIMARY KEY (id)
constraint webhook_deliveries.webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
constraint webhooks.CHK_1433d8363792b26bf6ad23bed6 CHECK ((paused_reason = ANY (ARRAY['failing'::text, 'gone'::text, 'changes-pruned'::text, 'changes-unrecorded'::text, 'position-unknown'::text])))
constraint webhooks.webhooks_pkey PRIMARY KEY (id)
CREATE INDEX plant_changes_id_position_idx ON public.plant_changes USING btree (id, "position")
CREATE INDEX plants_name_search_idx ON public.plants USING gin (translate(upper(lower(("left"(name, 4000) COLLATE "und-x-icu"))), 'Σ'::text, 'Ϲ'::text) gin_trgm_ops)
CREATE INDEX plants_tag_idx ON public.plants USING btree (hashtextextended(tag, (0)::bigint), id) WHERE (tag IS NOT NULL)
CREATE INDEX plants_tag_sort_idx ON public.plants USING btree ("left"(tag, 100) COLLATE "C", id)
CREATE INDEX webhook_deliveries_webhook_id_id_idx ON public.webhook_deliveries USING btree (webhook_id, id)
CREATE UNIQUE INDEX "PK_cca98b57cd39fda98d2dbef52da" ON public.plant_store_migrations USING btree (id)
CREATE UNIQUE INDEX access_tokens_pkey ON public.access_tokens USING btree (id)
CREATE UNIQUE INDEX plant_changes_pkey ON public.plant_changes USING btree ("position")
CREATE UNIQUE INDEX plant_changes_state_pkey ON public.plant_changes_state USING btree ("only")
CREATE UNIQUE INDEX plants_pkey ON public.plants USING btree (id)
CREATE UNIQUE INDEX webhook_deliveries_pkey ON public.webhook_deliveries USING btree (id)
CREATE UNIQUE INDEX webhooks_pkey ON public.webhooks USING btree (id)
CREATE TRIGGER plant_changes_unrecorded AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON public.plants FOR EACH STATEMENT EXECUTE FUNCTION plant_changes_unrecorded()
CREATE OR REPLACE FUNCTION public.begin_plant_changes()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
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
       IF bound > (1::bigint << 53) - (1::bigint << 32) THEN
         RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
           MESSAGE = 'the sequence plant_changes_position_seq has come to its end';
       END IF;
       PERFORM pg_advisory_xact_lock_shared('public."plant_changes"'::regclass::oid::bigint << 32 | ((bound >> 32) + 2));
       PERFORM pg_advisory_xact_lock_shared('public."plant_changes"'::regclass::oid::integer, bound::bit(32)::integer);
       RETURN bound;
     END $function$

CREATE OR REPLACE FUNCTION public.clean_plants_name_search_idx()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ SELECT pg_catalog.gin_clean_pending_list('public.plants_name_search_idx'::pg_catalog.regclass) $function$

CREATE OR REPLACE FUNCTION public.open_plant_changes()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ BEGIN
       RETURN (
         SELECT min(coalesce(upper, 0) << 32 | lower) FROM (
           SELECT min(objid::bigint) FILTER (WHERE objsubid = 2) AS lower,
             min(objid::bigint - 2) FILTER (WHERE objsubid = 1 AND objid::bigint >= 2) AS upper
           FROM pg_locks
           WHERE locktype = 'advisory' AND classid = 'public."plant_changes"'::regclass::oid AND granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           GROUP BY virtualtransaction, pid
         ) AS bounds
         WHERE lower IS NOT NULL
       );
     END $function$

CREATE OR REPLACE FUNCTION public.plant_changes_horizon(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
       bound bigint;
       gap bigint;
       is_writable boolean := current_setting('transaction_read_only') = 'off';
     BEGIN
       IF is_writable THEN
         PERFORM public."resume_plant_changes"();
       END IF;
       newest := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       bound := public."open_plant_changes"();
       is_held := coalesce(bound < newest, false);
       horizon := least(bound, newest);
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
       horizon := greatest(
         (SELECT max(position) FROM (SELECT position FROM public."plant_changes") AS records WHERE position <= horizon),
         pruned_to
       );
     END $function$

CREATE OR REPLACE FUNCTION public.plant_changes_pruned_to()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ BEGIN RETURN (SELECT pruned_to FROM public."plant_changes_state"); END $function$

CREATE OR REPLACE FUNCTION public.plant_changes_unrecorded()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
       gap bigint;
     BEGIN
       IF current_setting('history.plant_changes_recorded', true) IS DISTINCT FROM statement_timestamp()::text THEN
         PERFORM public."begin_plant_changes"();
         PERFORM pg_advisory_lock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
         BEGIN
           gap := nextval('public."plant_changes_position_seq"'::regclass);
           PERFORM setval('public."plant_changes_gap_seq"'::regclass, gap);
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
           RAISE;
         END;
         PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
         IF current_setting('history.plant_changes_logged', true) IS DISTINCT FROM date_trunc('minute', statement_timestamp())::text THEN
           PERFORM set_config('history.plant_changes_logged', date_trunc('minute', statement_timestamp())::text, false);
           RAISE LOG 'a change of % up to position % was made without a record: % by % (%)',
             TG_TABLE_NAME, gap, TG_OP, session_user, current_setting('application_name');
         END IF;
       END IF;
       RETURN NULL;
     END $function$

CREATE OR REPLACE FUNCTION public.prune_plant_changes(before timestamp with time zone, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ #variable_conflict use_variable
     DECLARE
       bound bigint := coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0);
       last bigint;
       pruned integer;
     BEGIN
       IF (before <= now() - interval '24 hours' AND most BETWEEN 1 AND 10000) IS NOT TRUE THEN
         RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
           MESSAGE = 'records must be older than 24 hours, and at most 10000';
       END IF;
       IF NOT pg_try_advisory_xact_lock('public."plant_changes"'::regclass::oid::bigint << 32) THEN RETURN 0; END IF;
       bound := least(bound, public."open_plant_changes"());
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before AND position <= bound) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM public."plant_changes" ORDER BY position LIMIT most) AS oldest
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
AS $function$ BEGIN END $function$

CREATE OR REPLACE FUNCTION public.resume_plant_changes()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ DECLARE
       incarnation bigint := hashtextextended(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'public."plant_changes"'::regclass::oid
  ), 0);
       known bigint;
       random bigint;
       begun bigint;
     BEGIN
       IF (pg_sequence_last_value('public."plant_changes_incarnation_seq"'::regclass) IS DISTINCT FROM incarnation OR pg_relation_size('public."uncrashed_plant_changes_state"'::regclass) = 0) THEN
         PERFORM pg_advisory_lock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
         BEGIN
           IF (pg_sequence_last_value('public."plant_changes_incarnation_seq"'::regclass) IS DISTINCT FROM incarnation OR pg_relation_size('public."uncrashed_plant_changes_state"'::regclass) = 0) THEN
             known := greatest(
               coalesce(pg_sequence_last_value('public."plant_changes_position_seq"'::regclass), 0),
               (SELECT pruned_to FROM public."plant_changes_state"),
               (SELECT max(position) FROM public."plant_changes")
             ) >> 16;
             random := ('x' || left(translate(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint;
             begun := (known + 1 + random % greatest(((1::bigint << 37) - known) >> 10, 1)) << 16;
             PERFORM setval('public."plant_changes_position_seq"'::regclass, begun);
             PERFORM setval('public."plant_changes_jump_seq"'::regclass, begun);
             PERFORM setval('public."plant_changes_incarnation_seq"'::regclass, incarnation);
             IF pg_relation_size('public."uncrashed_plant_changes_state"'::regclass) = 0 THEN
               INSERT INTO public."uncrashed_plant_changes_state" VALUES (true);
             END IF;
           END IF;
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
           RAISE;
         END;
         PERFORM pg_advisory_unlock('public."plant_changes"'::regclass::oid::bigint << 32 | 1);
       END IF;
     END $function$

CREATE OR REPLACE FUNCTION public.uuid_v7()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
AS $function$
        SELECT encode(
          set_bit(
            set_bit(
              overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
              ),
              52, 1
            ),
            53, 1
          ),
          'hex'
        )::uuid
      $function$

grant EXECUTE on function begin_plant_changes() to frozen_migrations_service
grant EXECUTE on function clean_plants_name_search_idx() to frozen_migrations_service
grant EXECUTE on function plant_changes_horizon() to frozen_migrations_service
grant EXECUTE on function plant_changes_pruned_to() to frozen_migrations_service
grant EXECUTE on function prune_plant_changes(timestamp with time zone,integer) to frozen_migrations_service
grant EXECUTE on function record_plant_changes(boolean) to frozen_migrations_service
grant EXECUTE on function uuid_v7() to frozen_migrations_service
grant EXECUTE on function uuid_v7() to public
grant DELETE, INSERT, SELECT, UPDATE on access_tokens to frozen_migrations_service
grant DELETE, INSERT, SELECT, UPDATE on plants to frozen_migrations_service
grant DELETE, INSERT, SELECT, UPDATE on webhook_deliveries to frozen_migrations_service
grant DELETE, INSERT, SELECT, UPDATE on webhooks to frozen_migrations_service
grant INSERT, SELECT on plant_changes to frozen_migrations_service
grant SELECT on plant_store_migrations to frozen_migrations_service
