"""`bench doctor`: what would disturb a measurement on this machine, and how small a difference it can see."""

import click

from ...warehouse.console.options import Command, format_option, store_option
from ...warehouse.errors import Exit
from ...warehouse.store import Store
from ..options import SECONDS, talk
from ..system.machine_lock import alone, lock_option

COLUMNS = ("check", "status", "found", "cure")


@click.command("doctor", cls=Command)
@click.option("--budget", "seconds", type=SECONDS, default=2.0, show_default=True,
              metavar="SECONDS", help="How long to compare a function with itself, for the noise floor.")  # fmt: skip
@lock_option
@format_option
@store_option
def command(seconds: float, lock: str, fmt: str, store: Store) -> int:
    """Find what would disturb a measurement here, and the cures.

    It also compares a function with itself for two seconds, which gives the noise floor of the machine. All of it is
    recorded, so that later verdicts can cite it; see the table noise_floors. Ends with 1 if there is something to
    cure.

    \b
        bench doctor
    """
    from ...warehouse import recorder
    from ...warehouse.console.tables import write_rows
    from .checks import CHECKS, OK, UNKNOWN, WARNING, Machine
    from .noise_floor import gpu_noise, noise

    machine = Machine()
    settings = {"budget_s": seconds}
    with alone(lock), recorder.run("doctor", suite="doctor", store=store, source="doctor", settings=settings) as run:
        found = [check(machine) for check in CHECKS] + noise(run, seconds) + gpu_noise(run, seconds)
        for finding in found:
            case = run.case(finding.check, suite="doctor")
            for name, (value, unit) in finding.values.items():
                case.metric(name, value, unit=unit, better="lower")
            case.outcome({OK: "ok", UNKNOWN: "skipped"}.get(finding.status, finding.status), reason=finding.found)
    bad = [finding for finding in found if finding.status == WARNING]
    if fmt in ("table", "markdown"):
        write_rows(COLUMNS[:-1], [(one.check, one.status, one.found) for one in found], fmt)
        for finding in bad:
            talk(f"{finding.check}: {finding.cure}")
    else:
        write_rows(COLUMNS, [(one.check, one.status, one.found, one.cure or None) for one in found], fmt)
    return Exit.FAILED if bad else Exit.OK
