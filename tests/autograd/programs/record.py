"""Records what torch returns: ``python -m tests.autograd.programs.record``, where torch is installed."""

from __future__ import annotations

import json

from tests.autograd.programs.table import RECORDED, all_programs, run
from tests.autograd.programs.torch_world import Torch


def main() -> None:
    world = Torch()
    lines = [
        f'{json.dumps(name)}: {json.dumps(run(program, world, strict=False))}'
        for name, program in all_programs().items()
    ]
    RECORDED.write_text('{\n' + ',\n'.join(lines) + '\n}\n', encoding='utf-8')
    print(f'{len(lines)} programs recorded')


if __name__ == '__main__':
    main()
