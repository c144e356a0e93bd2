// `npm start`: from a bare checkout to a running cell.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const PARENT_LOOK_MS = 500;

const parent = process.ppid;
const root = prepare();
if (isLeftByNpm()) process.exit(1);
const cell = spawn(
  process.execPath,
  [join(root, 'dist', 'cli', 'main.cjs'), 'dev', ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
);
// Ctrl-C reaches the cell too, as it is in the same foreground group; it stops in order and this process waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    if (signal !== 'SIGINT') cell.kill(signal);
  });
stopWithNpm();
cell.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));

/**
 * npm hands SIGTERM to its shell alone, which ends and leaves this process behind, perhaps while it prepares; then no process
 * would stop the cell. Without npm the file may be left running.
 */
function stopWithNpm() {
  const look = setInterval(() => {
    if (!isLeftByNpm()) return;
    clearInterval(look);
    cell.kill('SIGTERM');
  }, PARENT_LOOK_MS);
  look.unref();
}

function isLeftByNpm() {
  return process.env.npm_lifecycle_event !== undefined && process.ppid !== parent;
}
