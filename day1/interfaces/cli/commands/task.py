"""`day1 task`: open, join and follow tasks."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.options import agent_option
from day1.interfaces.cli.session import Session, command


@click.group("task")
def task_command() -> None:
    """A task has objectives and a branch, and below it a branch for each agent that joins."""


@task_command.command("create")
@click.argument("name")
@click.option(
    "-o",
    "--objective",
    "objectives",
    multiple=True,
    metavar="TEXT",
    help="What is to be reached; repeatable.",
)
@click.option("--type", "task_type", metavar="NAME", help="Such as bug_fix or feature.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="Repeatable.")
@click.option("--description", metavar="TEXT", help="What the task is about.")
@click.option("--parent", metavar="BRANCH", help="Default: main.")
@command
def create_command(session: Session, name: str, **options: Any) -> None:
    """Open task NAME on a branch of its own."""
    answer = session.call(
        "memory_task_create",
        create=True,
        name=name,
        description=options["description"],
        task_type=options["task_type"],
        tags=list(options["tags"]),
        objectives=[{"description": objective_text} for objective_text in options["objectives"]],
        parent_branch=options["parent"],
    )
    if not session.answer(answer):
        session.screen.line(f"Task {answer['task_id']} on branch {answer['branch_name']}")


@task_command.command("join")
@click.argument("task")
@agent_option
@click.option("--role", metavar="NAME", help="Such as implementer, reviewer, tester.")
@click.option(
    "--objective",
    "assigned",
    multiple=True,
    type=int,
    metavar="INDEX",
    help="Index (from 0) of an objective to take; repeatable.",
)
@command
def join_command(session: Session, task: str, **options: Any) -> None:
    """Join TASK as an agent; prints the branch to write on, which is the same each time."""
    agent = options["agent"] or session.settings.agent_id
    if agent is None:
        raise click.UsageError("Who joins? Give --agent NAME.")
    answer = session.call(
        "memory_task_join",
        task_id=task,
        agent_id=agent,
        role=options["role"],
        assigned_objectives=list(options["assigned"]) or None,
    )
    if not session.answer(answer):
        session.screen.line(f"{agent} works on branch {answer['branch_name']}")


@task_command.command("status")
@click.argument("task")
@command
def status_command(session: Session, task: str) -> None:
    """Show TASK with its objectives and agents."""
    answer = session.call("memory_task_status", task_id=task)
    if session.answer(answer):
        return
    task_document = answer["task"]
    session.screen.line(
        (task_document["name"], "branch"),
        f"  {task_document['status']}  {task_document['branch_name']}",
    )
    for objective in answer["objectives"]:
        agents = ", ".join(objective["assigned_to"]) or objective["agent_id"] or ""
        session.screen.line(
            f"  {objective['id']}. {objective['status']:<12} {objective['description']}",
            (f"  {agents}", "dim"),
        )
    for agent in answer["agents"]:
        role_note = f" ({agent['role']})" if agent["role"] else ""
        session.screen.line(f"  {agent['agent_id']}{role_note}: {agent['branch_name']}")


@task_command.command("update")
@click.argument("task")
@click.argument("objective", type=int)
@click.argument("status", type=click.Choice(["pending", "in_progress", "completed"]))
@click.option("--notes", metavar="TEXT", help="A note on the objective.")
@agent_option
@command
def update_command(
    session: Session, task: str, objective: int, status: str, **options: Any
) -> None:
    """Say how far OBJECTIVE (its index, from 0) of TASK is."""
    answer = session.call(
        "memory_task_update",
        task_id=task,
        objective_id=objective,
        status=status,
        notes=options["notes"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        session.screen.line(
            f"Objective {objective}: {answer['previous_status']} -> {answer['status']}; "
            f"the task is {answer['task_status']}"
        )


@task_command.command("list")
@click.option("--type", "task_type", metavar="NAME", help="Only of this type.")
@command
def list_command(session: Session, task_type: str | None) -> None:
    """List tasks, the newest first."""
    from day1.model.records.task import status_of
    from day1.services.tasks.tasks import tasks

    task_documents: list[dict[str, Any]] = [
        {
            "task_id": state.task.id,
            "name": state.task.name,
            "task_type": state.task.task_type,
            "status": status_of(state.objectives),
            "agents": [agent.agent_id for agent in state.agents],
        }
        for state in tasks(session.repo(), task_type)
    ]
    if not session.answer({"result": task_documents}):
        table_rows = [
            (
                task["task_id"],
                task["status"],
                task["task_type"] or "",
                ", ".join(task["agents"]),
                task["name"],
            )
            for task in task_documents
        ]
        session.screen.table(("task", "status", "type", "agents", "name"), table_rows)
