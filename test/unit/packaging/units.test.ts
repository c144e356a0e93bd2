import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../cli/program.ts';
import { PROJECT_ROOT } from '../../support/cli.ts';

const FOLDER = join(PROJECT_ROOT, 'packaging', 'systemd');
const UNITS = readdirSync(FOLDER).map((name) => ({
  name,
  text: readFileSync(join(FOLDER, name), 'utf8'),
}));

describe('units of systemd', () => {
  it('there is one for each role', () => {
    expect(UNITS.map(({ name }) => name).sort()).toEqual([
      ...['moorage-agent.service', 'moorage-arbiter.service', 'moorage-monitor.service'],
      'moorage-scheduler@.service',
    ]);
  });

  it.each(UNITS)('$name starts the role with flags that it has', ({ text }) => {
    const verb = /^ExecStart=\/usr\/bin\/env moorage (\w+)(.*)\$MOORAGE_ARGS$/m.exec(text);
    const example = /MOORAGE_ARGS="([^"]*)"/.exec(text)?.[1] ?? '';
    const role = buildProgram({ run: async () => undefined, command: null }).commands.find(
      (command) => command.name() === verb?.[1],
    );
    const args = `${verb?.[2] ?? ''} ${example}`.trim().split(/\s+/);
    const parsed = role?.parseOptions(args);
    expect(parsed).toMatchObject({ operands: [], unknown: [] });
    for (const flag of ['etcd', 'id', 'listen', 'credentials'])
      expect(role?.opts(), flag).toHaveProperty(flag);
  });

  it.each(UNITS)('systemd finds no fault in $name', ({ name }) => {
    const verified = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', '--recursive-errors=no', join(FOLDER, name.replace('@.', '@one.'))],
      { encoding: 'utf8' },
    );
    expect(verified.error).toBeUndefined();
    expect(`${verified.stdout}${verified.stderr}`).not.toContain(name.split('.')[0]);
  });
});
