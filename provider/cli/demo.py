"""`provider demo`: start a platform, buy as a stranger would, show what happened, and stop."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from provider.localnet.demo.background import PlatformFailed, background_platform
from provider.localnet.demo.story import Line, Story, usdc
from provider.localnet.demo.visit import DemoFailed, Json, visiting

SERVICES = "provider.localnet.demo.services"
WIDEST = 116
GAPS = 8
"""Columns that rich leaves empty around the four of a table without a box."""
NOTHING = "nothing charged"
INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C ended."""
WHERE_NEXT = """\
[bold]Where to look next[/bold]
  docs/tutorial.md       from here to your own paid service, step by step
  provider init shop     writes a project of your own (in a checkout: .venv/bin/provider)
  provider dev           sells it on this machine until Ctrl-C; open http://127.0.0.1:8000
  docs/architecture.md   why a payment is never lost and never charged twice
"""


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the data directory with the log and Redis's data.")
def command(keep: bool) -> None:
    """Buy four times on a platform of its own, and check that the balances add up.

    Needs no network, no ports of your choice and no money; ends by itself.
    """
    console = demo_console()
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"
    parent = Path(".provider")
    parent.mkdir(mode=0o700, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="demo-", dir=parent))
    try:
        play(console, home)
    except (DemoFailed, PlatformFailed) as error:
        console.print("[bold red]The demo failed.[/bold red]", end=" ")
        console.print(str(error), markup=False)
        console.print(f"The log of the platform: {home / 'log'}", markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        shutil.rmtree(home, ignore_errors=True)
        console.print("Stopped; nothing is left behind.")
        sys.exit(INTERRUPTED)
    if not keep:
        shutil.rmtree(home, ignore_errors=True)


def demo_console() -> Console:
    """Print no wider than is pleasant to read, and the same into a file as on a terminal."""
    console = Console(highlight=False)
    return Console(highlight=False, width=min(console.width, WIDEST) if console.is_terminal else WIDEST)


def play(console: Console, home: Path) -> None:
    """Run the demo. Raises DemoFailed, PlatformFailed."""
    console.print("[bold]A stranger buys from a provider.[/bold] All of it runs here, with play money.\n")
    starting = "Starting Redis, web, workers, beat, Flower, chain and facilitator …"
    with (
        console.status(starting) as status,
        background_platform(home, SERVICES, on_end=lambda: status.update("Stopping …")) as platform,
        visiting(platform, home) as visit,
    ):
        before = visit.balances()
        lines: list[Line] = []
        for number, (title, act) in enumerate(Story(visit, watch=status.update).acts().items(), 1):
            status.update(title)
            played = list(act)
            console.print(act_table(f"{number}  {title}", played, console.width))
            lines += played
        after = visit.balances()
    console.print(balances_table(platform, lines, before, after))
    check_balances(lines, before, after)
    console.print(
        "[bold green]✓ The balances on chain add up:[/bold green] two jobs were paid for, once each.\n"
    )
    console.print(WHERE_NEXT, soft_wrap=True)


def act_table(title: str, lines: list[Line], width: int) -> Table:
    """Show the calls of an act: what was sent, answered and brought, and its price."""
    table = Table(title=title, title_justify="left", title_style="bold cyan", box=None, show_header=False)
    *texts, cost_width = column_widths(width)
    for text_width in texts:
        table.add_column(width=text_width)
    table.add_column(width=cost_width, justify="right", no_wrap=True)
    for line in lines:
        cost = f"[bold]−{usdc(line.charged)}[/bold]" if line.charged else f"[dim]{NOTHING}[/dim]"
        table.add_row(line.what, line.answer, line.tells, cost)
    table.add_row()
    return table


def column_widths(width: int) -> tuple[int, int, int, int]:
    """Share a line among the columns. On a narrow terminal the prose is wrapped, never the money."""
    inner = width - GAPS
    cost = max(len(NOTHING), inner * 16 // 100)
    left = inner - cost
    what, answer = max(23, left * 31 // 100), max(20, left * 36 // 100)
    return what, answer, max(14, left - what - answer), cost


def balances_table(platform: Json, lines: list[Line], before: dict[str, int], after: dict[str, int]) -> Table:
    """Show what the token contract says about both accounts."""
    table = Table(title="Balances on chain", title_justify="left", expand=False)
    table.add_column("Account")
    for name in ("Before", "After", "Change", "Charged above"):
        table.add_column(name, justify="right", no_wrap=True)
    charged = sum(line.charged for line in lines)
    for name, sign, label in (("buyer", -1, "buyer"), ("payTo", 1, "provider")):
        change = after[name] - before[name]
        amounts = (usdc(before[name]), usdc(after[name]), usdc(change), usdc(sign * charged))
        table.add_row(f"{label} {platform[name][:6]}…", *amounts)
    return table


def check_balances(lines: list[Line], before: dict[str, int], after: dict[str, int]) -> None:
    """Compare the chain with what the buyer was answered. Raises DemoFailed."""
    charged = sum(line.charged for line in lines)
    paid, earned = before["buyer"] - after["buyer"], after["payTo"] - before["payTo"]
    if not charged == paid == earned:
        raise DemoFailed(
            f"The balances do not add up: told {usdc(charged)}, paid {usdc(paid)}, earned {usdc(earned)}."
        )
