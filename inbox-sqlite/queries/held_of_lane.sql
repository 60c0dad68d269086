-- Whether a lease still holds any of a lane.
SELECT EXISTS (
    SELECT 1
    FROM inbox_held
    WHERE token = ?1 AND first_key = ?2 AND tenant = ?3 AND ordering_key = ?4
)
