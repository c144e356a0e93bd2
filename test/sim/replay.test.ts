import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../cli/command/exit.ts';
import { runCli } from '../../cli/run-cli.ts';
import { suiteOptions, suiteRun, THEMES } from '../../sim/suite/suite.ts';
import { RESTORES } from '../../sim/nemesis/fault.ts';
import { replayCommand, seedOptions } from '../../sim/seeds/seeds.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';
import { FakeTerminal } from '../unit/cli/fakes.ts';

async function cli(command: string, ...more: string[]) {
  const terminal = new FakeTerminal();
  const args = [...command.replace(/^moorage /, '').split(' '), ...more];
  const code = await runCli(args, terminal, new AbortController().signal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test.each([
  ['as they are', {}],
  ['of which this one is of the suite', {}, 19],
  ['with faults that come faster', { everyMs: 900 }],
  ['without faults', { everyMs: null }],
])(
  'S4 the command that a failed seed tells replays exactly its run: seeds %s',
  async (_what, setting, seed = 7) => {
    const { traceHash } = await runWorld(seedOptions(seed, setting));
    const { code, stdout } = await cli(replayCommand(seed, setting));
    expect(stdout).toContain(`trace ${traceHash}\n`);
    expect(code).toBe(EXIT.ok);
  },
);

test.each(['lost', 'begun'] as const)(
  'S4 of theme %s too, and with its faults from a file',
  async (theme) => {
    const seed = 215;
    const { traceHash, faultPlan } = await suiteRun(theme, seed);
    const command = replayCommand(seed, { theme });
    const folder = mkdtempSync(join(tmpdir(), 'moorage-replay-'));
    try {
      const file = join(folder, 'faults.json');
      writeFileSync(file, JSON.stringify(faultPlan));
      for (const { code, stdout } of [await cli(command), await cli(command, '--faults', file)]) {
        expect(stdout).toContain(`seed ${String(seed)}, `);
        expect(stdout).toContain(`trace ${traceHash}\n`);
        expect(code).toBe(EXIT.ok);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('one seed in twenty is a run of the suite, and each theme has its turn', () => {
  const seeds = Array.from({ length: 20 * THEMES.length }, (_, n) => n + 1);
  const ofSuite = seeds.filter((seed) => seed % 20 === 19);
  for (const [turn, seed] of ofSuite.entries())
    expect(seedOptions(seed)).toEqual(suiteOptions(THEMES[turn] ?? 'any', seed));
  const kinds = new Set(
    ofSuite.flatMap((seed) => (seedOptions(seed).faultPlan ?? []).map(({ kind }) => kind)),
  );
  expect([...RESTORES].filter((kind) => kinds.has(kind))).not.toEqual([]);
  expect(ofSuite.some((seed) => seedOptions(seed).scenario.quota !== undefined)).toBe(true);
  for (const seed of seeds.filter((one) => one % 20 !== 19))
    expect(seedOptions(seed).scenario).toBe(SMALL_CELL);
});

test('a theme that there is not is answered with those that there are', async () => {
  for (const command of ['moorage sim replay 1 --theme losst', 'moorage sim seeds 1..2 --theme losst']) {
    const { code, stderr } = await cli(command);
    expect(code).toBe(EXIT.usage);
    for (const theme of THEMES) expect(stderr).toContain(theme);
  }
});

test('a run in which too little happened is no success', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-replay-'));
  try {
    // The only client that asks for anything reaches nobody.
    const file = join(folder, 'faults.json');
    writeFileSync(
      file,
      JSON.stringify([{ kind: 'isolate', target: 'client-1', atMs: 0, durationMs: 1_000_000 }]),
    );
    const { code, stdout, stderr } = await cli('moorage sim replay 1', '--faults', file);
    expect(stderr).toMatch(/^seed 1: too little happened: acknowledged: /m);
    expect(stdout).toContain('too little happened:');
    expect(code).toBe(EXIT.workloadFailed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
