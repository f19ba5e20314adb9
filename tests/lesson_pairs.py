"""Pairs of lessons, written for the rule of duplicates: different in one thing, and rephrased."""

from day1.model.lessons.experience import Experience

DIFFERENT = [
    (
        Experience("The upload client gave up", "Raised its timeout to 30 seconds", "Uploads pass"),
        Experience("The upload client gave up", "Raised its timeout to 60 seconds", "Uploads pass"),
    ),
    (
        Experience("Choosing the database", "Chose PostgreSQL over MySQL", "Joins are quick"),
        Experience("Choosing the database", "Chose MySQL over PostgreSQL", "Joins are quick"),
    ),
    (
        Experience("Pages were stale", "Enabled the cache of the gateway", "Pages are fresh"),
        Experience("Pages were stale", "Disabled the cache of the gateway", "Pages are fresh"),
    ),
    (
        Experience("Nightly build", "Ran the linter before the tests", "Faults show early"),
        Experience("Nightly build", "Ran the linter after the tests", "Faults show early"),
    ),
    (
        Experience("The queue was full", "Increased the number of workers", "The queue drains"),
        Experience("The queue was full", "Decreased the number of workers", "The queue drains"),
    ),
    (
        Experience("Login loops", "Set the cookie to SameSite lax", "Login works"),
        Experience("Login loops", "Set the cookie to SameSite strict", "Login works"),
    ),
    (
        Experience("Deploying to staging", "Restarted the proxy first", "No request was lost"),
        Experience("Deploying to production", "Restarted the proxy first", "No request was lost"),
    ),
    (
        Experience("Reading large files", "Used a buffer of 4 KB", "Reading takes 2 seconds"),
        Experience("Reading large files", "Used a buffer of 64 KB", "Reading takes 2 seconds"),
    ),
    (
        Experience("A flaky test", "Mocked the clock", "The test is stable"),
        Experience("A flaky test", "Mocked the clock", "The test is not stable"),
    ),
    (
        Experience("Sessions expired", "Moved sessions from Redis to memory", "It is quicker"),
        Experience("Sessions expired", "Moved sessions from memory to Redis", "It is quicker"),
    ),
    (
        Experience("Builds of Linux", "Pinned the compiler", "Builds are equal"),
        Experience("Builds of Windows", "Pinned the compiler", "Builds are equal"),
    ),
    (
        Experience("Retries overload the API", "Retried with backoff", "The load fell"),
        Experience("Retries overload the API", "Retried without backoff", "The load fell"),
    ),
    (
        Experience("Slow search", "Added an index on the name", "Search is quick"),
        Experience("Slow search", "Added an index on the date", "Search is quick"),
    ),
    (
        Experience("Logging in tests", "Turned debug logging on", "Failures are clear"),
        Experience("Logging in tests", "Turned debug logging off", "Failures are clear"),
    ),
    (
        Experience("Version 1.4.2 crashed", "Rolled back", "Stable again"),
        Experience("Version 1.4.3 crashed", "Rolled back", "Stable again"),
    ),
    (
        Experience("The form rejects names", "Allowed upper case", "Names pass"),
        Experience("The form rejects names", "Allowed lower case", "Names pass"),
    ),
]
"""Sixteen pairs that differ in one thing that matters."""

REPHRASED = [
    (
        Experience("Uploads failed", "Raised the client timeout to 30 seconds", "Uploads pass"),
        Experience("Uploads failed", "Raised the client timeout to 30 seconds.", "Uploads pass."),
    ),
    (
        Experience("The build was slow", "Cached the dependencies", "It takes half the time"),
        Experience("Build was slow", "Caching the dependencies", "It takes half of the time"),
    ),
    (
        Experience("Tests were flaky", "Mocked the clock in tests", "They are stable"),
        Experience("Flaky tests", "Replaced the clock by a mock", "The tests are stable now"),
    ),
    (
        Experience("Memory grew", "Closed the connections", "Memory stays flat"),
        Experience("Memory was growing", "Closed all connections", "The memory stays flat"),
    ),
    (
        Experience("Login failed", "Fixed the redirect", "Users log in"),
        Experience("Login kept failing", "Corrected the redirect", "Users can log in again"),
    ),
    (
        Experience("The query was slow", "Added an index on name", "It is quick"),
        Experience("A slow query", "An index on name was added", "It is quick"),
    ),
    (
        Experience("Deploys broke the site", "Ran the migrations first", "Deploys are safe"),
        Experience("Deploys broke the site", "Migrations now run first", "Deploys are safe"),
    ),
    (
        Experience("The disk was full", "Rotated the logs daily", "The disk has room"),
        Experience("Full disk", "Logs are rotated each day", "There is room on the disk"),
    ),
]
"""Eight rephrasings; only some are so near in their words that one may take the other's place."""
