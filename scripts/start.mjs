// `npm start`: from a bare checkout to a running cell.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const PARENT_LOOK_MS = 500;

const root = prepare();
const cell = spawn(
  process.execPath,
  [join(root, 'dist', 'cli', 'main.js'), 'dev', ...process.argv.slice(2)],
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
 * npm hands SIGTERM to its shell alone, which ends and leaves this process behind; nobody would then stop the cell. Whoever
 * starts this file without npm may leave it running.
 */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npmShell = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === npmShell) return;
    clearInterval(look);
    cell.kill('SIGTERM');
  }, PARENT_LOOK_MS);
  look.unref();
}
