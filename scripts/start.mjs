// `npm start`: from a bare checkout to a running cell.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

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
cell.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
