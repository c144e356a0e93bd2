import type { RunningCell } from '../../src/connect/cell-address.ts';
import { cellsUnder } from '../../src/connect/cell-address.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { printList } from '../output/output.ts';

/** A cell stops its processes one after the other, each within 10 s at the worst. */
const STOP_MAX_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** `moorage dev status` */
export async function listCells(context: Context): Promise<number> {
  const cells = cellsUnder(context.terminal.cwd);
  await printList(context, {
    answer: { cells },
    rows: cells,
    columns: [
      { title: 'CELL', cell: (cell) => cell.cell },
      { title: 'PID', cell: (cell) => String(cell.pid) },
      { title: 'MONITORS', cell: (cell) => cell.monitors.join(' ') },
      { title: 'ETCD', cell: (cell) => cell.etcd.join(' ') },
    ],
    nameOf: (cell) => cell.cell,
    empty: 'no development cell runs from this folder; next: moorage dev',
  });
  return EXIT.ok;
}

/** `moorage dev stop`: asks each to stop in order, and waits until it did. */
export async function stopCells({ terminal }: Context): Promise<number> {
  const cells = cellsUnder(terminal.cwd);
  if (cells.length === 0) terminal.err('no development cell runs from this folder\n');
  for (const cell of cells) process.kill(cell.pid, 'SIGTERM');
  for (const cell of cells) {
    await untilGone(cell, terminal.cwd, (ms) => terminal.sleep(ms));
    terminal.out(`${cell.cell} stopped\n`);
  }
  return EXIT.ok;
}

async function untilGone(
  cell: RunningCell,
  cwd: string,
  sleep: (ms: number) => Promise<void>,
): Promise<void> {
  for (let waitedMs = 0; waitedMs < STOP_MAX_MS; waitedMs += LOOK_EVERY_MS) {
    if (!cellsUnder(cwd).some(({ pid }) => pid === cell.pid)) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new CliError(
    EXIT.workloadFailed,
    `cell ${cell.cell} (pid ${String(cell.pid)}) did not stop`,
    `kill -9 ${String(cell.pid)}   (its processes stop by themselves)`,
  );
}
