-- The rights that day1 needs, and no others; run once, when the server's volume is new.
CREATE DATABASE IF NOT EXISTS day1;
CREATE DATABASE IF NOT EXISTS day1_ledger;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX, EXECUTE ON day1.* TO 'day1'@'%';
GRANT SELECT, INSERT, DELETE, CREATE, ALTER, INDEX ON day1_ledger.* TO 'day1'@'%';
