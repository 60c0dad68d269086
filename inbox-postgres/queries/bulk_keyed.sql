COPY pg_temp.inbox_bulk FROM STDIN (FORMAT binary)
