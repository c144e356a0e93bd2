import { spawn } from 'node:child_process';
import type { CommandEnd, Commands } from '../../ports/commands.ts';
import { COMMAND_OUTPUT_BYTES_MAX } from '../../ports/commands.ts';

/** Nothing of this process's own environment: it may hold credentials, and differs from one start to the next. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };

/** Programs of operators: without a shell, in an environment of their own, and ended with all that they have started. */
export const cleanCommands: Commands = {
  run: ([program = '', ...args], timeoutMs) =>
    new Promise<CommandEnd>((resolve) => {
      // A group of its own: what a script waits for is ended with it.
      const child = spawn(program, args, {
        ...{ env: ENVIRONMENT, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
      });
      const out = collector();
      const err = collector();
      child.stdout.on('data', out.add);
      child.stderr.on('data', err.add);
      const killAll = (): void => {
        if (child.pid === undefined) return;
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch {
          // All of them have ended.
        }
      };
      let isOver = false;
      const end = (code: number | null, detail = ''): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        killAll();
        child.stdout.destroy();
        child.stderr.destroy();
        resolve({ code, out: out.text(), err: detail === '' ? err.text() : detail });
      };
      const timer = setTimeout(() => end(null, `no answer within ${String(timeoutMs)} ms`), timeoutMs);
      child.on('error', (error) => end(null, error.message));
      // What it printed last has come by then, unless something that it left behind holds its output open.
      child.on('close', (code, signal) => end(code, code === null ? `killed by ${String(signal)}` : ''));
      child.on('exit', (code, signal) => {
        setTimeout(
          () => end(code, code === null ? `killed by ${String(signal)}` : ''),
          LAST_WORDS_MS,
        ).unref();
      });
    }),
};

/** From the end of a program until its output is taken as it is. */
const LAST_WORDS_MS = 100;

function collector(): { readonly add: (chunk: Buffer) => void; readonly text: () => string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add: (chunk) => {
      const room = COMMAND_OUTPUT_BYTES_MAX - bytes;
      if (room <= 0) return;
      chunks.push(chunk.subarray(0, room));
      bytes += Math.min(room, chunk.length);
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
}
