import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * Ends this command as a write that nobody reads would, when the reader of standard output has gone (`| head -1`), though there
 * is nothing to write: who waits for the next event would otherwise end one event late. Node cannot ask that of a pipe; `tail -f`
 * of coreutils does nothing else, and ends with this process. Without one the command ends at its next write.
 */
export function endWithReader(): void {
  if (!isPipe()) return;
  const watch = spawn('tail', ['-f', '--pid', String(process.pid), '/dev/null'], {
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  watch.unref();
  watch.on('error', () => undefined);
  watch.on('exit', (_code, signal) => {
    if (signal !== 'SIGPIPE') return;
    process.stdout.emit('error', Object.assign(new Error('nobody reads the output'), { code: 'EPIPE' }));
  });
}

function isPipe(): boolean {
  try {
    return fstatSync(process.stdout.fd).isFIFO();
  } catch {
    return false;
  }
}
