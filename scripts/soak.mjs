// `npm run soak -- CAMPAIGN [options]`: what takes too long for every change. See docs/fault-injection.md.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const npm = (...args) => ['npm', ['run', '--silent', ...args]];
const node = (...args) => [process.execPath, args];

/** Each takes the options that are given behind its name; these stand where none are given. */
const CAMPAIGNS = {
  seeds: {
    tells: 'seeds of the simulated world; --seeds A..B, --minutes-max M',
    options: ['--seeds', '1..30000'],
    command: (options) => npm('sim', '--', ...options),
  },
  mutants: {
    tells: 'every planted bug, looked for from another first seed; --first SEED, --seconds S',
    options: ['--first', '1001', '--seconds', '600'],
    command: (options) => npm('mutants', '--', ...options),
  },
  'agent-kills': {
    tells: 'kills of host-agents under load; --kills N, --agents M',
    options: ['--kills', '1000', '--agents', '4'],
    command: (options) => npm('bench', '--', 'host', ...options),
  },
  'control-kills': {
    tells: 'kills of control processes of a real cell at drawn fail-points',
    options: [],
    command: (options) => npm('sweep:processes', '--', ...options),
  },
  campaigns: {
    tells: 'all of test/campaigns: many deaths, several machines, a whole installation; names of files',
    options: [],
    env: { MOORAGE_CAMPAIGNS: 'all' },
    command: (options, root) => node(join(root, 'scripts', 'test.mjs'), 'test/campaigns', ...options),
  },
  'crash-matrix': {
    tells:
      'an agent that dies or fails at each of its I/Os, both sides of each, at the first, second and seventh time',
    options: [],
    env: { MOORAGE_CRASH_MATRIX: 'all' },
    command: (options, root) => node(join(root, 'scripts', 'test.mjs'), 'campaigns/crash-matrix', ...options),
  },
  bootstrap: {
    tells:
      'a cell of three machines, one of which dies meanwhile, from nothing; --times N, one after the other',
    options: ['--times', '2'],
    env: { MOORAGE_CAMPAIGNS: 'all' },
    times: timesIn,
    command: (options, root) => node(join(root, 'scripts', 'test.mjs'), 'campaigns/bootstrap'),
  },
  fuzz: {
    tells: 'inputs made by chance to every route of every role; --inputs N, --seed S',
    options: [],
    env: { MOORAGE_FUZZ_INPUTS: '100000' },
    // What they say goes into the environment: the tests' own program takes no such options.
    command: (options, root) =>
      node(join(root, 'scripts', 'test.mjs'), 'integration/fuzz', ...asFuzzEnv(options)),
  },
  growth: {
    tells:
      'one-off runs and versions pass through a cell, which stays as large as it is; --runs N, --versions M',
    options: ['--runs', '1000000', '--versions', '100000'],
    command: (options) => npm('bench', '--', 'growth', ...options),
  },
  tickets: {
    tells: '100,000 bad tickets to a real agent, and what the kernel started by them',
    options: [],
    env: { MOORAGE_BAD_TICKETS: '100000' },
    command: (options, root) => node(join(root, 'scripts', 'test.mjs'), 'bad-tickets', ...options),
  },
};

/** @returns how often the campaign is to be run; the first that fails is the last */
function timesIn(options) {
  const at = options.indexOf('--times');
  const times = at < 0 ? NaN : Number(options[at + 1]);
  if (Number.isInteger(times) && times > 0) return times;
  process.stderr.write('usage: npm run soak -- bootstrap --times N\n');
  process.exit(64);
}

/** @returns the options that are none of its own */
function asFuzzEnv(options) {
  const rest = [...options];
  for (const name of ['inputs', 'seed']) {
    const at = rest.indexOf(`--${name}`);
    if (at >= 0) CAMPAIGNS.fuzz.env[`MOORAGE_FUZZ_${name.toUpperCase()}`] = rest.splice(at, 2)[1];
  }
  return rest;
}

const [name, ...given] = process.argv.slice(2);
const campaign = CAMPAIGNS[name];
if (campaign === undefined) {
  const lines = Object.entries(CAMPAIGNS).map(([one, { tells }]) => `  ${one.padEnd(14)} ${tells}`);
  process.stderr.write(`usage: npm run soak -- CAMPAIGN [options]\n${lines.join('\n')}\n`);
  process.exit(64);
}
const root = prepare();
const options = given.length === 0 ? campaign.options : given;
const times = campaign.times?.(options) ?? 1;
const [command, args] = campaign.command(options, root);
for (let n = 1; n <= times; n++) {
  if (times > 1) process.stderr.write(`== ${name}, ${n} of ${times}\n`);
  const env = { ...process.env, ...campaign.env };
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', env });
  if (done.status !== 0) process.exit(done.status ?? 1);
}
