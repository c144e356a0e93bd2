import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CLI, ended, PROJECT_ROOT, runCli, testFolder } from '../support/cli.ts';
import { Machines } from '../support/machines.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

/** What the page has to be typed on each machine; what comes from any machine stands last. */
function typedCommands(): readonly (readonly string[])[] {
  const page = readFileSync(join(PROJECT_ROOT, 'docs', 'running.md'), 'utf8');
  return [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block.trim().split('\n'));
}

/** What is typed before, on one machine: keys and certificates. */
function preparing(): readonly string[] {
  const page = readFileSync(join(PROJECT_ROOT, 'docs', 'running.md'), 'utf8');
  return [...page.matchAll(/^ {4}(moorage (?:keys|pki) .*)$/gm)].map(([, command = '']) => command);
}

describeNeeding(firstMissing(root(), program('ip'), program('etcd')), 'a cell on several machines', () => {
  it('comes up as docs/running.md says, and runs a task on another machine than its client', async () => {
    const folder = testFolder();
    /** The certificates need not be carried: the machines are network namespaces of this one. */
    const inFolder = (command: string): string =>
      command.replaceAll('/etc/moorage', join(folder.path, 'authority', 'issued'));
    const machines = new Machines(3);
    try {
      const state = join(folder.path, 'state');
      for (const command of preparing()) {
        const { code, stderr } = await runCli(command.split(' ').slice(1), { cwd: folder.path });
        expect(code, stderr).toBe(0);
      }
      const [onA = [], onB = [], onC = [], anywhere = []] = typedCommands();
      for (const [n, commands] of [onA, onB, onC].entries()) {
        mkdirSync(join(state, String(n)), { recursive: true });
        for (const command of commands) {
          // The folder's own path has a space in it: the words are parted before it comes in.
          const words = command.replaceAll('/var/lib/moorage', '.').split(' ').map(inFolder);
          const args = words.map((word) => (word === 'keys' ? join(folder.path, 'keys') : word));
          const child = machines.spawn(n, typed(args), { cwd: join(state, String(n)) });
          if (args[1] === 'store') expect((await ended(child)).code).toBe(0);
          else if (args[0] === 'moorage') await ready(child);
        }
      }
      const exports = anywhere.filter((command) => command.startsWith('export '));
      const asked = anywhere.filter((command) => !exports.includes(command));
      const given = exports.map((line) => inFolder(line).slice('export '.length).split('='));
      const env = { ...(Object.fromEntries(given) as Record<string, string>), NO_COLOR: '1' };
      const told: string[] = [];
      for (const command of asked) {
        const child = machines.spawn(0, ['sh', '-c', shell(command)], { cwd: folder.path, env });
        const { code, stdout, stderr } = await ended(child);
        expect(code, stderr).toBe(0);
        told.push(stdout);
      }
      const [hosts = '', hello = ''] = told;
      expect(hosts).toMatch(/host-b +ready/);
      expect(hosts).toMatch(/host-c +ready/);
      expect(hello).toMatch(/^hello from host-[bc]\n$/);
    } finally {
      await machines[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    }
  });
});

function typed(args: readonly string[]): readonly string[] {
  return args[0] === 'moorage' ? [process.execPath, CLI, ...args.slice(1)] : args;
}

/** As somebody types it who has Moorage in the path. */
function shell(command: string): string {
  return command.replace(/^moorage/, `'${process.execPath}' '${CLI}'`);
}

/** Resolves when the role has printed the line by which it says that it serves; fails when it ends without. */
function ready(child: ChildProcess): Promise<void> {
  let printed = '';
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (/"ready":true.*\n/.test(printed)) resolve();
    });
    void ended(child).then(
      ({ stdout, stderr }) => reject(new Error(`it ended: ${stdout}\n${stderr}`)),
      reject,
    );
  });
}
