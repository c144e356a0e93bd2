import { join } from 'node:path';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';
import { PROJECT_ROOT } from '../../support/cli.ts';

/** A file of each kind that the simulated world runs. */
const ROLES = [
  'schedulers/ownership/job-intake.ts',
  'host-agent/allocations/allocations.ts',
  'monitor/reaper/reaper.ts',
  'arbiter/quota-keeper.ts',
  'src/core/commit/pending-preemption.ts',
  'src/runtime/commit/gang-intent.ts',
  'src/clients/host-client.ts',
];

/** Clocks, timers, chance, sockets, files, threads, and ways around a rule that forbids their names. */
const FORBIDDEN = [
  'Date.now();',
  'new Date();',
  'new Date;',
  'Date();',
  "Date['now']();",
  'globalThis.Date.now();',
  'global.Date.now();',
  "global['Date'].now();",
  'const D = Date; D.now();',
  'let E; E = Date;',
  'const { now } = Date;',
  'const clock = { Date };',
  'Reflect.construct(Date, []);',
  '[1].map(Date);',
  'class Clock extends Date {}',
  'new Set(Date);',
  'new Intl.DateTimeFormat();',
  'Intl.DateTimeFormat().format();',
  'const I = Intl;',
  'new Date(1).toLocaleTimeString();',
  'Math.random();',
  "Math['random']();",
  'const M = Math; M.random();',
  'const { random } = Math;',
  'crypto.randomUUID();',
  'setTimeout(() => undefined, 1);',
  'setImmediate(() => undefined);',
  'setInterval(() => undefined, 1);',
  'performance.now();',
  'process.hrtime();',
  'AbortSignal.timeout(1);',
  'const S = AbortSignal; S.timeout(1);',
  'Atomics.wait(new Int32Array(1), 0, 0);',
  'Atomics.waitAsync(new Int32Array(1), 0, 0);',
  'const A = Atomics;',
  "void import('node:fs');",
  "void import('fs');",
  'void import(`node:net`);',
  "void import('node:' + 'fs');",
  "import 'node:fs';",
  "import 'fs';",
  "import 'perf_hooks';",
  "import 'module';",
  "export * from 'node:net';",
  "void fetch('http://localhost');",
  "new WebSocket('ws://localhost');",
  "eval('1');",
  "new Function('return 1');",
  'new WeakRef({});',
];

const ALLOWED = [
  'export const text = new Date(5).toISOString();',
  "export const ms = Date.parse('2026-01-01');",
  'export const day: Date = new Date(1);',
  'export const more = Math.max(1, Math.floor(1.5));',
  'export const controller = new AbortController();',
  'export const any = AbortSignal.any([controller.signal]);',
  "export const other = import('./other.ts');",
  'queueMicrotask(() => undefined);',
];

/** What of the rules is about this: the snippets are not otherwise fit to be seen. */
const RULES = /^no-restricted-/;

// Rules that need types are left out: they would read the whole project for each snippet.
const eslint = new ESLint({ cwd: PROJECT_ROOT, overrideConfig: tseslint.configs.disableTypeChecked });

async function linesReported(file: string, lines: readonly string[]): Promise<readonly string[]> {
  // Each in a block of its own, if it may stand there: names come more than once.
  const text = lines.map((line) => (/^(import|export) /.test(line) ? line : `{ ${line} }`)).join('\n');
  const results = await eslint.lintText(text, { filePath: join(PROJECT_ROOT, file) });
  const messages = results.flatMap((result) => result.messages);
  expect(messages.filter(({ fatal }) => fatal === true)).toEqual([]);
  const places = new Set(messages.filter(({ ruleId }) => RULES.test(ruleId ?? '')).map(({ line }) => line));
  return lines.filter((_, place) => places.has(place + 1));
}

test.each(ROLES)('rule 8: %s reaches no clock, timer, chance, socket or file but by a port', async (file) => {
  expect(await linesReported(file, FORBIDDEN)).toEqual(FORBIDDEN);
  expect(await linesReported(file, ALLOWED)).toEqual([]);
});

test('a main joins its role to the world, and may reach it', async () => {
  expect(await linesReported('host-agent/main.ts', ["import 'node:fs';", 'Date.now();'])).toEqual([]);
});
