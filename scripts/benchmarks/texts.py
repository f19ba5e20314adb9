"""Facts and questions put together from word lists: no data set, the same in every run.

A fact names a subject and a date, says what was decided and why, and has 80 to 300 characters.
"""

import random
from collections.abc import Iterator

SHORTEST, LONGEST = 80, 300


def _words(text: str) -> list[str]:
    return text.split()


_SUBJECTS = _words(
    """
    AuthService BillingService SearchService ExportWorker ImportWorker MailGateway SessionStore
    PaymentAdapter InvoiceRenderer TokenIssuer RateLimiter FeatureFlags AuditLog UserDirectory
    ReportBuilder WebhookRelay CacheLayer QueueBroker ImageResizer ScheduleRunner BackupAgent
    MetricsCollector SchemaRegistry ConfigLoader LocaleCatalog TaxCalculator StockKeeper
    OrderRouter RefundDesk DeviceRegistry
    """
)
_PEOPLE = _words(
    """
    Alice Bela Chandra Dmitri Elena Farid Grace Hiro Ines Jonas Kavya Liam Mona Nadia Otto Priya
    Quentin Rosa Samir Tove Uma Viktor Wanda Xenia Yusuf Zoe
    """
)
_VERBS = _words(
    """
    caches retries drops validates signs encrypts batches compresses rejects forwards logs queues
    deduplicates truncates normalises schedules throttles mirrors archives rewrites
    """
)
_OBJECTS = _words(
    """
    tokens invoices sessions uploads reports webhooks passwords avatars orders refunds receipts
    events snapshots migrations requests addresses currencies timestamps attachments thumbnails
    notifications translations permissions certificates
    """
)
_LIMITS = _words("seconds minutes hours retries rows megabytes connections pages")
_REASONS = (
    "the old library leaked connections",
    "the nightly job timed out",
    "auditors asked for it",
    "customers in other time zones saw wrong dates",
    "the vendor changed its interface",
    "a load test showed a queue of waiting writers",
    "two teams had built it twice",
    "the error was swallowed without a log line",
    "mobile clients send it twice",
    "the index grew faster than the table",
    "support could not explain the numbers",
    "a certificate expired unnoticed on a Sunday",
    "the test suite took an hour",
    "nobody could say which version was deployed",
    "rounding differed between two services",
)
_CATEGORIES = ("architecture", "bug_fix", "preference", "decision", "operations")
_MONTHS = _words(
    """
    January February March April May June July August September October November December
    """
)


def fact(random_: random.Random, number: int) -> str:
    """One fact; `number` makes it different from every other."""
    subject, person = random_.choice(_SUBJECTS), random_.choice(_PEOPLE)
    day = f"{random_.randint(1, 28)} {random_.choice(_MONTHS)} {random_.randint(2019, 2025)}"
    text = (
        f"Since {day} {subject} {random_.choice(_VERBS)} {random_.choice(_OBJECTS)} after "
        f"{random_.randint(2, 900)} {random_.choice(_LIMITS)} (ticket {number}), because "
        f"{random_.choice(_REASONS)}"
    )
    if random_.random() < 0.5:
        text += f"; {person} proposed it and {random_.choice(_PEOPLE)} reviewed the change"
    if random_.random() < 0.3:
        text += f", and {random_.choice(_SUBJECTS)} now {random_.choice(_VERBS)} them as well"
    return text + "."


def facts(count: int, seed: str) -> Iterator[tuple[str, str]]:
    """`count` different facts, each with a category."""
    random_ = random.Random(seed)  # noqa: S311 - not for secrets
    for number in range(count):
        yield fact(random_, number), random_.choice(_CATEGORIES)


def questions(count: int, seed: str) -> list[str]:
    """`count` different questions about such facts."""
    random_ = random.Random(seed)  # noqa: S311 - not for secrets
    question_set: dict[str, None] = {}
    while len(question_set) < count:
        subject, verb = random_.choice(_SUBJECTS), random_.choice(_VERBS).removesuffix("s")
        things, person = random_.choice(_OBJECTS), random_.choice(_PEOPLE)
        month, year = random_.choice(_MONTHS), random_.randint(2019, 2025)
        question_set[
            random_.choice(
                (
                    f"Why does {subject} {verb} {things}?",
                    f"What did {person} propose for {things} in {month} {year}?",
                    f"Since when does {subject} {verb} {things}, and who reviewed it?",
                    f"Which service had trouble because {random_.choice(_REASONS)}?",
                    f"How long does {subject} keep {things} before it {verb}s them?",
                )
            )
        ] = None
    return list(question_set)
