#!/usr/bin/env bash
# Runs once, as the superuser of a new database server: an ordinary role, which row-level security binds.
set -euo pipefail
psql --variable ON_ERROR_STOP=1 --variable password="$MEM_SEARCH_PASSWORD" --username postgres <<'SQL'
create role mem_search login password :'password';
create database mem_search owner mem_search;
\connect mem_search
create extension vector;
SQL
