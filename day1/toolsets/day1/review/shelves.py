"""Tools that take bundles and templates out of use."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Response
from day1.call.operation import Effect, Operation
from day1.services.access.calls import active_or_none
from day1.services.sharing.bundles import deprecate_bundle
from day1.services.sharing.templates import deprecate_template
from day1.toolsets.shared.answers import state_of


class BundleDeprecate(Repeatable):
    """The arguments of `knowledge_bundle_deprecate`.

    Attributes:
        bundle_id: The bundle, by its id.
    """

    bundle_id: Label


class BundleDeprecated(Response):
    """A deprecated bundle."""

    bundle_id: str
    name: str
    status: str
    read: Read


def bundle_deprecate(ctx: Context, request: BundleDeprecate) -> BundleDeprecated:
    """Take a bundle out of use; its id can still be imported."""
    bundle = deprecate_bundle(ctx.repo, request.bundle_id)
    read_state = state_of(ctx, active_or_none(ctx))
    return BundleDeprecated.from_record(bundle, bundle_id=bundle.id, read=read_state)


class TemplateDeprecate(Repeatable):
    """The arguments of `memory_template_deprecate`.

    Attributes:
        name: The template's name.
        version: The version to take out of use; default: every version.
    """

    name: Label
    version: Annotated[int, Field(ge=1)] | None = None


class TemplateDeprecated(Response):
    """The versions of a template that were deprecated."""

    name: str
    versions: list[int]
    read: Read


def template_deprecate(ctx: Context, request: TemplateDeprecate) -> TemplateDeprecated:
    """Take a template out of use; its branches stay readable."""
    templates = deprecate_template(ctx.repo, request.name, request.version)
    return TemplateDeprecated(
        name=request.name,
        versions=[template.version for template in templates],
        read=state_of(ctx, active_or_none(ctx)),
    )


OPERATIONS = (
    Operation("knowledge_bundle_deprecate", bundle_deprecate, Effect.WRITE, idempotent=True),
    Operation("memory_template_deprecate", template_deprecate, Effect.WRITE, idempotent=True),
)
