"""Servers in containers, by testcontainers: where one listens, or why there is none.

It asks for the image and for that of testcontainers' reaper, which removes what a killed run leaves
behind. What is started is reached from this machine only.
"""

import atexit
from collections.abc import Callable
from typing import Any

from tests.waiting import until

UP_S = 180.0
"""How long a server may take to make its first files: more than a program that is killed."""


class NoContainer(Exception):
    """Why there is no server in a container."""


def started(
    image: str, port: int, environment: dict[str, str], answers: Callable[[int], bool]
) -> int:
    """Start a container that ends with this process; answers its port on 127.0.0.1.

    Raises:
        NoContainer: testcontainers, the engine, an image or the server's answer is missing.
    """
    container = _container(image, port, environment)
    atexit.register(container.stop)
    try:
        container.start()
        exposed = int(container.get_exposed_port(port))
    except Exception as error:
        raise NoContainer(f"the container of {container.image} does not start: {_said(error)}") from error  # fmt: skip
    try:
        until(lambda: answers(exposed), "an answer", UP_S)
    except AssertionError:
        raise NoContainer(
            f"the server in the container of {container.image} does not answer within {UP_S:.0f} s"
        ) from None
    return exposed


def _container(image: str, port: int, environment: dict[str, str]) -> Any:
    """A container that is ready to be started: the engine answers, the images are there."""
    try:
        from testcontainers.core.config import testcontainers_config as config
        from testcontainers.core.container import DockerContainer
    except ImportError as error:
        raise NoContainer("testcontainers is not installed") from error
    try:
        container = DockerContainer(image, env=environment)
    except Exception as error:
        raise NoContainer(f"no container engine answers: {_said(error)}") from error
    # The port is any free one; on all addresses the network could reach it.
    ports: Any = {str(port): ("127.0.0.1", None)}  # as Docker takes it
    container.ports = ports
    images = container.get_docker_client().client.images
    _have(images, container.image, container.image)
    if not config.ryuk_disabled:
        _have(images, config.ryuk_image, f"{config.ryuk_image} (testcontainers' reaper)")
    return container


def _have(images: Any, image: str, called: str) -> None:
    """See to it that the engine has an image."""
    if any(image in found.tags for found in images.list()):
        return
    try:
        images.pull(image)
    except Exception as error:
        raise NoContainer(f"the image {called} can't be fetched: {_said(error)}") from error


def _said(error: Exception) -> str:
    """The gist of what an engine says, in one line."""
    said = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:200]
