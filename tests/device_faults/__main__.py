"""How good are the device tests? Each fault of the table is planted, and one of its tests must fail.

    python -m tests.device_faults [KIND ...]

The tests run on the stand-in for CuPy, in a process for each fault; first without a fault, when all must pass.
"""

from __future__ import annotations

import sys

from tests.device_faults.fault import Fault, run, verdict
from tests.device_faults.table import FAULTS


def _pass_without_faults(faults: list[Fault]) -> bool:
    alone = dict.fromkeys(fault.tests[0] for fault in faults if len(fault.tests) == 1)
    chosen = dict.fromkeys(fault.tests for fault in faults if len(fault.tests) > 1)  # with -k
    for tests in filter(None, [tuple(alone), *chosen]):
        done = run(tests)
        if done.returncode:
            print(f'these tests do not pass without a fault: {" ".join(tests)}\n{done.stdout}{done.stderr}')
            return False
    return True


def main(kinds: list[str]) -> int:
    faults = [fault for fault in FAULTS if not kinds or fault.kind in kinds]
    if not _pass_without_faults(faults):
        return 2
    width = max(len(fault.kind) for fault in faults)
    caught = 0
    for fault in faults:
        found, why = verdict(fault)
        caught += found == 'caught'
        print(f'{found:8}  {fault.kind:{width}}  {why}', flush=True)
    print(f'{caught} of {len(faults)} faults caught')
    return int(caught < len(faults))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
