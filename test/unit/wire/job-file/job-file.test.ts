import { describe, expect, test } from 'vitest';
import {
  formatProblem,
  jobToFile,
  parseJobObject,
  parseJobText,
} from '../../../../src/wire/job-file/job-file.ts';
import type { Job } from '../../../../src/core/cell/job.ts';

function problemsOf(text: string): string[] {
  const reading = parseJobText(text, 'bad.yaml');
  return reading.ok ? [] : reading.problems.map(formatProblem);
}

function jobOf(text: string): Job {
  const reading = parseJobText(text, 'job.yaml');
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.job;
}

const LONG = `name: web
groups:
  web:
    count: 6
    tasks:
      server:
        command: [node, server.js]
`;

describe('what is accepted', () => {
  test('limits are measured, and what was not written is left to the host', () => {
    const text = 'name: a\ncommand: [x]\nlimits: { memory: 1Gi, cpu: 2, pids: 50, read: 5Mi }\n';
    expect(jobOf(text).groups['a']?.tasks['a']?.limits).toEqual({
      ...{ memoryMib: 1024, cpuMilli: 2_000, pids: 50, readMib: 5 },
    });
    expect(jobOf('name: a\ncommand: [x]\n').groups['a']?.tasks['a']).not.toHaveProperty('limits');
  });

  test('I68 a task that asks more than strangers have runs only on hosts that allow it', () => {
    const texts = (text: string) => jobOf(text).groups['a']?.constraints.map((one) => one.text);
    expect(texts('name: a\ncommand: [x]\nuser: agent\n')).toEqual(['host.allow.agent-user == true']);
    expect(texts('name: a\ncommand: [x]\ndriver: sandbox\nnetwork: host\n')).toEqual([
      'host.driver.sandbox exists',
      'host.allow.host-network != false',
    ]);
    expect(texts('name: a\ncommand: [x]\ndriver: sandbox\nuser: root\n')).toEqual([
      'host.driver.sandbox exists',
      'host.allow.root == true',
    ]);
  });

  test('a task runs only on hosts that have its driver; the constraint is added once', () => {
    const job = jobOf('name: a\ncommand: [x]\ndriver: sandbox\nconstraints: ["host.os == linux"]\n');
    const texts = (one: Job) => one.groups['a']?.constraints.map((expression) => expression.text);
    expect(texts(job)).toEqual(['host.os == linux', 'host.driver.sandbox exists']);
    const again = parseJobObject(jobToFile(job));
    expect(again).toEqual({ ok: true, job });
  });

  test('the short form is one task, and its defaults are filled in', () => {
    expect(jobOf('name: hello\ntype: batch\ncommand: [echo, hi]\n')).toEqual({
      namespace: 'default',
      name: 'hello',
      type: 'batch',
      precedence: 50,
      scheduler: 'auto',
      labels: {},
      oneOff: false,
      groups: {
        hello: {
          name: 'hello',
          count: 1,
          parallelism: null,
          gang: false,
          ports: {},
          constraints: [],
          affinities: [],
          spread: [],
          distinct: [],
          restart: { attempts: 2, windowMs: 3_600_000, delayMs: 10_000, on: 'failure' },
          reschedule: { attempts: 3, delayMs: 30_000, delayMaxMs: 300_000, onHostLost: false },
          deadlineMs: null,
          waitMaxMs: null,
          tasks: {
            hello: {
              name: 'hello',
              command: ['echo', 'hi'],
              env: {},
              resources: { cpuMilli: 100, memoryMib: 128, diskMib: 0, scalars: {} },
              gpu: null,
              stop: { signal: 'SIGTERM', graceMs: 10_000 },
              sidecar: false,
            },
          },
        },
      },
    });
  });

  test('short and long form of the same job are equal', () => {
    const long = 'name: a\ngroups: { a: { count: 2, tasks: { a: { script: "exit 0" } } } }\n';
    expect(jobOf('name: a\ncount: 2\nscript: "exit 0"\n')).toEqual(jobOf(long));
  });

  test('YAML and JSON, with tabs, of the same job are equal', () => {
    const json = '{\n\t"name": "a",\n\t"command": ["x"],\n\t"env": {"T": "a b"}\n}';
    expect(jobOf('name: a\ncommand: [x]\nenv: { T: a b }\n')).toEqual(jobOf(json));
  });

  test('env values and arguments keep their written spelling', () => {
    const job = jobOf(
      'name: a\ncommand: [x, 8080, 1.10, on, 0x1F]\nenv: { BUILD: 1.10, X: on, N: "007", B: true }\n',
    );
    const task = job.groups.a?.tasks.a;
    expect(task?.command).toEqual(['x', '8080', '1.10', 'on', '0x1F']);
    expect(task?.env).toEqual({ BUILD: '1.10', X: 'on', N: '007', B: 'true' });
  });

  test('amounts become whole numbers in the units of the rules', () => {
    const job = jobOf(
      'name: a\ncommand: [x]\nresources: { cpu: 0.5, memory: 1.5Gi, disk: 100MB, gpu: { share: 460m, models: [T4, T4] }, scalars: { licence: 2 } }\nstop: { grace: 1h30m }\n',
    );
    const task = job.groups.a?.tasks.a;
    expect(task?.resources).toEqual({ cpuMilli: 500, memoryMib: 1536, diskMib: 96, scalars: { licence: 2 } });
    expect(task?.gpu).toEqual({ count: 1, milliEach: 460, models: ['T4'] });
    expect(task?.stop.graceMs).toBe(5_400_000);
  });

  test('attributes are stored without host., amounts in their unit', () => {
    const group = jobOf(
      `${LONG}    constraints: ["host.memory >= 2Gi", "host.cpu > 96", "host.class in [ssd, 'nvme']"]
    distinct: [host, host.zone]
    spread: [{ by: host.rack }]
    affinities: [{ expr: host.gpu exists, weight: -5 }]\n`,
    ).groups.web;
    expect(group?.constraints.map(({ attribute, operator, value }) => [attribute, operator, value])).toEqual([
      ['memory', '>=', '2048'],
      ['cpu', '>', '96000'],
      ['class', 'in', 'ssd,nvme'],
    ]);
    expect(group?.distinct).toEqual(['id', 'zone']);
    expect(group?.spread).toEqual([{ attribute: 'rack', weight: 50 }]);
    expect(group?.affinities[0]).toMatchObject({
      weight: -5,
      expression: { attribute: 'gpu', operator: 'exists' },
    });
  });

  test('spread takes targets in percent', () => {
    const group = jobOf(`${LONG}    spread: [{ by: host.zone, weight: 80, targets: { z1: 70, z2: 30 } }]\n`)
      .groups.web;
    expect(group?.spread).toEqual([{ attribute: 'zone', weight: 80, targets: { z1: 70, z2: 30 } }]);
    const wrong = (spread: string) => problemsOf(`${LONG}    spread: [${spread}]\n`).join();
    expect(wrong('{ by: host.zone, targets: { z1: 70, z2: 40 } }')).toMatch(
      /more than 100 percent together: 110/,
    );
    expect(wrong('{ by: host.zone, targets: { z1: -1 } }')).toMatch(/targets.z1/);
    expect(wrong('{ by: host.zone, targets: {} }')).toMatch(/expected 1 to 64 values/);
    expect(wrong('{ by: host, targets: { h1: 100 } }')).toMatch(/single hosts have no targets/);
  });

  test('anchors and aliases are followed', () => {
    const job = jobOf(
      'name: a\nenv: &e { A: 1 }\ngroups: {}\n'.replace(
        'env: &e { A: 1 }\ngroups: {}',
        'groups: { a: { tasks: { x: { command: [x], env: &e { A: 1 } }, y: { command: [y], env: *e } } } }',
      ),
    );
    expect(job.groups.a?.tasks.y?.env).toEqual({ A: '1' });
  });
});

describe('what is refused, and where', () => {
  const cases: readonly (readonly [string, string, string[]])[] = [
    [
      'zero',
      LONG.replace('6', '0'),
      ['bad.yaml:4:12: error: groups.web.count: Too small: must be at least 1'],
    ],
    [
      'negative',
      LONG.replace('6', '-1'),
      ['bad.yaml:4:12: error: groups.web.count: Too small: must be at least 1'],
    ],
    [
      'huge',
      LONG.replace('6', '1000000000'),
      ['bad.yaml:4:12: error: groups.web.count: Too big: must be at most 100000'],
    ],
    [
      'a fraction',
      LONG.replace('6', '1.5'),
      [
        'bad.yaml:4:12: error: groups.web.count: expected a whole number from 1 to 100000, or { min: 2, max: 10 }',
      ],
    ],
    [
      'an unknown key with a synonym',
      LONG.replace('count', 'replicas'),
      ['bad.yaml:4:5: error: groups.web: unknown key "replicas"; did you mean "count"?'],
    ],
    [
      'an unknown key with a slip',
      LONG.replace('count', 'cuont'),
      ['bad.yaml:4:5: error: groups.web: unknown key "cuont"; did you mean "count"?'],
    ],
    [
      'a key of another level',
      `${LONG}        count: 2\n`,
      [
        'bad.yaml:8:9: error: groups.web.tasks.server: unknown key "count" here; "count" belongs to the group: write it under groups.<name>',
      ],
    ],
    [
      'a bare number of millicores',
      `${LONG}        resources: { cpu: 500 }\n`,
      [
        'bad.yaml:8:27: error: groups.web.tasks.server.resources.cpu: cpu "500": write cores ("2", "0.5") or millicores ("500m"); did you mean "500m"?',
      ],
    ],
    [
      'memory in thousandths of a byte',
      `${LONG}        resources: { memory: 128m }\n`,
      [
        'bad.yaml:8:30: error: groups.web.tasks.server.resources.memory: size "128m" needs a unit (Ki, Mi, Gi, kB, MB, GB); "m" would mean thousandths of a byte, did you mean "128Mi"?',
      ],
    ],
    [
      'a duration without a unit',
      `${LONG}    deadline: 15\n`,
      [
        'bad.yaml:8:15: error: groups.web.deadline: duration "15" needs a unit (ms, s, m, h, d); did you mean "15s"?',
      ],
    ],
    [
      'a short time without contact',
      `${LONG}    disconnect: { stopAfter: 5s }\n`,
      ['bad.yaml:8:30: error: groups.web.disconnect.stopAfter: must be at least 15s'],
    ],
    [
      'a zero deadline',
      `${LONG}    deadline: 0s\n`,
      ['bad.yaml:8:15: error: groups.web.deadline: must be more than 0'],
    ],
    ['a duplicate key', 'name: a\nname: b\ncommand: [x]\n', ['bad.yaml:2:1: error: duplicate key "name"']],
    [
      'a duplicate key in JSON',
      '{"name": "a", "command": ["x"], "resources": {"cpu": "1", "cpu": "64"}}',
      ['bad.yaml:1:59: error: duplicate key "cpu"'],
    ],
    [
      'a wrong choice',
      'name: a\ntype: batchh\ncommand: [x]\n',
      [
        'bad.yaml:2:7: error: type: must be one of service, batch, system, not "batchh"; did you mean "batch"?',
      ],
    ],
    [
      'a fault within an expression, at its own column',
      `${LONG}    constraints: [host.os = linux]\n`,
      [
        'bad.yaml:8:27: error: groups.web.constraints[0]: expected one of == != >= <= > < in exists, not "="; did you mean "=="?',
      ],
    ],
    [
      'the same in quotes',
      `${LONG}    constraints: ["host.os = linux"]\n`,
      [
        'bad.yaml:8:28: error: groups.web.constraints[0]: expected one of == != >= <= > < in exists, not "="; did you mean "=="?',
      ],
    ],
    [
      'neither command nor script',
      'name: a\n',
      ['bad.yaml:1:1: error: needs a command, such as [echo, hello], or a script'],
    ],
    [
      'both command and script',
      'name: a\ncommand: [x]\nscript: y\n',
      ['bad.yaml:3:9: error: script: write either command or script, not both'],
    ],
    ['no name', 'command: [x]\n', ['bad.yaml:1:1: error: name: is missing; expected text']],
    [
      'a variable in small letters',
      'name: a\ncommand: [x]\nenv: { path: /bin }\n',
      [
        'bad.yaml:3:8: error: env.path: "path" is no name for a variable: capital letters, digits and _, at most 64; did you mean "PATH"?',
      ],
    ],
    [
      'a NUL in an argument',
      'name: a\ncommand: [x, "a\\0b"]\n',
      ['bad.yaml:2:14: error: command[1]: an argument must not contain a NUL character'],
    ],
    [
      'several documents',
      'name: a\n---\nname: b\n',
      ['bad.yaml:2:1: error: a job file holds one job; this text has several documents'],
    ],
    ['nothing', '', ['bad.yaml:1:1: error: the file is empty; the smallest job has a name and a command']],
    ['no map', 'hello', ['bad.yaml:1:1: error: expected a map, found the text "hello"']],
    [
      'a byte order mark',
      '\uFEFFname: a\n',
      ['bad.yaml:1:1: error: the text begins with a byte order mark; save it as plain UTF-8'],
    ],
    [
      '__proto__',
      'name: a\ncommand: [x]\n__proto__: { count: 1 }\n',
      ['bad.yaml:3:1: error: the key "__proto__" is not allowed'],
    ],
    [
      'a gang beyond its bound',
      'name: a\ncommand: [x]\ngang: true\ncount: 10001\n',
      ['bad.yaml:4:8: error: count: a gang has at most 10000 members'],
    ],
    [
      'count of a system job',
      'name: a\ntype: system\ncommand: [x]\ncount: 3\n',
      [
        'bad.yaml:4:8: error: count: a system job has one allocation on every matching host; remove this field',
      ],
    ],
    [
      'a limit below what is asked for',
      'name: a\ncommand: [x]\nresources: { memory: 1Gi, cpu: 2 }\nlimits: { memory: 512Mi, cpu: 1 }\n',
      [
        'bad.yaml:4:19: error: limits.memory: less than resources.memory, which is 1Gi',
        'bad.yaml:4:31: error: limits.cpu: less than resources.cpu, which is 2000m',
      ],
    ],
    [
      'a network for a plain process',
      'name: a\ncommand: [x]\nnetwork: none\n',
      ['bad.yaml:3:10: error: network: a plain process has the network of its host; remove this field'],
    ],
    [
      'a plain process as root of a namespace',
      'name: a\ncommand: [x]\nuser: root\n',
      [
        'bad.yaml:3:7: error: user: only a sandbox or an image has a root of its own: write driver: sandbox or oci',
      ],
    ],
    [
      'one root among others',
      'name: a\ngroups:\n g:\n  tasks:\n   b: { command: [x], driver: sandbox, user: root }\n   c: { command: [x] }\n',
      [
        'bad.yaml:5:46: error: groups.g.tasks.b.user: the other tasks of its group share its folder: write user: root for all of them',
      ],
    ],
    [
      'a sandbox with a user of its host',
      'name: a\ncommand: [x]\ndriver: sandbox\nuser: agent\n',
      ['bad.yaml:4:7: error: user: only a plain process runs as a user of its host; remove this field'],
    ],
    [
      'a container without an image',
      'name: a\ncommand: [x]\ndriver: oci\n',
      ['bad.yaml:1:1: error: the driver oci needs an image'],
    ],
    [
      'an image for a plain process',
      `name: a\ncommand: [x]\nimage: { source: "https://a/b", sha256: ${'a'.repeat(64)} }\n`,
      ['bad.yaml:3:8: error: image: only the driver oci runs images: write driver: oci'],
    ],
    [
      'an artifact from nowhere, of no hash',
      'name: a\ncommand: [x]\nartifacts: { m: { source: ftp://a/b, sha256: abc } }\n',
      [
        'bad.yaml:3:27: error: artifacts.m.source: expected https://…, http://… or file:///…',
        'bad.yaml:3:46: error: artifacts.m.sha256: expected 64 hex digits in lower case, as sha256sum prints them',
      ],
    ],
    [
      'ports that no client could reach',
      'name: a\ncommand: [x]\ndriver: sandbox\nports: { http: auto }\n',
      ['bad.yaml:1:1: error: has ports, and nobody could reach them: write network: host'],
    ],
  ];
  test.each(cases)('%s', (_name, text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  test.each(['replaceAfter', 'ttlAfterFinished', 'success'])('%s is planned, and said to be', (key) => {
    const [problem] = problemsOf(`name: a\ncommand: [x]\n${key}: {}\n`);
    expect(problem).toMatch(`bad.yaml:3:1: error: "${key}" is not supported in this version: `);
  });

  test('every problem is said, in the order of the text', () => {
    const text = 'name: A\ncount: 0\ncommand: []\nresources: { cpu: 500, memory: 1 }\nreplicas: 1\n';
    expect(problemsOf(text).map((line) => /:(\d+:\d+):/.exec(line)?.[1])).toEqual([
      '1:7',
      '2:8',
      '3:10',
      '4:19',
      '4:32',
      '5:1',
    ]);
  });

  test('depth, width and size are bounded', () => {
    expect(problemsOf(`name: a\nlabels: ${'['.repeat(40)}${']'.repeat(40)}\n`)[0]).toMatch(
      /nested deeper than 16/,
    );
    const wide = Array.from({ length: 600 }, (_, n) => `k${String(n)}: 1`).join('\n');
    expect(problemsOf(wide)[0]).toMatch(/more than 512 keys/);
    expect(problemsOf(`name: a\n# ${'x'.repeat(70_000)}`)).toEqual([
      'bad.yaml:1:1: error: larger than 61440 bytes',
    ]);
    const bomb = `a: &a [x, x]\nb: &b [${'*a, '.repeat(30)}]\nc: [${'*b, '.repeat(30)}]\nname: a\n`;
    expect(problemsOf(bomb)[0]).toMatch(/more than 50 aliases/);
  });
});

describe('values that came through the API', () => {
  test('problems have paths and no places', () => {
    const reading = parseJobObject({ name: 'a', command: ['x'], count: 0, env: { A: '\ud800' } });
    expect(reading.ok ? [] : reading.problems).toEqual([
      { path: 'count', text: 'Too small: must be at least 1' },
      { path: 'env.A', text: 'a value must be valid Unicode' },
    ]);
  });

  test('are bounded before anything recursive reads them', () => {
    let deep: unknown = 1;
    for (let n = 0; n < 10_000; n++) deep = { a: deep };
    expect(parseJobObject(deep)).toEqual({
      ok: false,
      problems: [{ path: '', text: 'nested deeper than 16' }],
    });
  });

  test('what is printed is read back', () => {
    const job = jobOf(LONG);
    expect(parseJobObject(jobToFile(job))).toEqual({ ok: true, job });
  });
});
