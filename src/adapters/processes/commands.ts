import { execFile } from 'node:child_process';
import type { Commands } from '../../ports/commands.ts';
import { COMMAND_OUTPUT_BYTES_MAX } from '../../ports/commands.ts';

/** Programs of this machine, without a shell. */
export const systemCommands: Commands = {
  run: ([program = '', ...args], timeoutMs) =>
    new Promise((resolve) => {
      const options = {
        timeout: timeoutMs,
        killSignal: 'SIGKILL' as const,
        maxBuffer: COMMAND_OUTPUT_BYTES_MAX,
      };
      const child = execFile(program, args, options, (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
        resolve({ code, out, err: err === '' && error !== null && code === null ? error.message : err });
      });
      child.stdin?.end();
    }),
};
