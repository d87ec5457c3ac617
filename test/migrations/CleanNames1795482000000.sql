-- up
SELECT quote_ident(nspname) AS schema, quote_literal(format('%I.%I', nspname, relname)) AS name
  FROM pg_class
  JOIN pg_am ON pg_am.oid = relam JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE pg_class.oid = to_regclass('plants_name_search_idx') AND amname = 'gin'
    AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus');
CREATE OR REPLACE FUNCTION public.clean_plants_name_search_idx() RETURNS bigint
         LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         AS $$ SELECT pg_catalog.gin_clean_pending_list('public.plants_name_search_idx'::pg_catalog.regclass) $$;
REVOKE ALL ON FUNCTION public.clean_plants_name_search_idx() FROM PUBLIC;
-- down
DROP FUNCTION IF EXISTS clean_plants_name_search_idx();
