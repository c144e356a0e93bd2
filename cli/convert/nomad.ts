import type { Notes, Value, ValueMap } from './notes.ts';
import { filled, isMap, listIn, mapIn, numberIn, textIn, textsIn } from './notes.ts';
import { commandOf, envOf, imageOf, nameFrom } from './parts.ts';

/** Nomad counts megahertz, this cell cores: a core of common servers. */
const MHZ_PER_CORE = 2_500;
const NS_PER_MS = 1_000_000;
const TYPES = ['service', 'batch', 'system'];

/** A job as `nomad job inspect`, `nomad job run -output` or the API has it. */
export function fromNomad(file: Value, notes: Notes): ValueMap {
  const inner = mapIn(file, 'Job');
  const job = Object.keys(inner).length > 0 ? inner : isMap(file) ? file : {};
  const name = nameFrom(textIn(job, 'ID') ?? textIn(job, 'Name') ?? 'converted');
  const written = textIn(job, 'Type') ?? 'service';
  const type = TYPES.includes(written) ? written : 'batch';
  if (type !== written) notes.add(name, `type ${written} becomes batch`);
  for (const key of ['Periodic', 'ParameterizedJob', 'Multiregion', 'Affinities', 'Spreads'])
    if (job[key] != null) notes.add(name, `${key} is left out`);
  const constraints = constraintsOf(job, name, notes);
  const groups = listIn(job, 'TaskGroups')
    .filter(isMap)
    .map(
      (group) =>
        [
          nameFrom(textIn(group, 'Name') ?? name),
          groupOf(group, { name, type, constraints }, notes),
        ] as const,
    );
  return filled({
    name,
    namespace: textIn(job, 'Namespace'),
    type,
    priority: numberIn(job, 'Priority'),
    groups: Object.fromEntries(groups),
  });
}

interface OfJob {
  readonly name: string;
  readonly type: string;
  readonly constraints: readonly string[];
}

function groupOf(group: ValueMap, job: OfJob, notes: Notes): ValueMap {
  const where = `${job.name}.${textIn(group, 'Name') ?? ''}`;
  for (const key of ['Services', 'Volumes', 'Affinities', 'Spreads', 'Scaling'])
    if (listIn(group, key).length > 0 || Object.keys(mapIn(group, key)).length > 0)
      notes.add(where, `${key} is left out`);
  const restart = mapIn(group, 'RestartPolicy');
  const again = mapIn(group, 'ReschedulePolicy');
  const update = mapIn(group, 'Update');
  const constraints = [...job.constraints, ...constraintsOf(group, where, notes)];
  return filled({
    count: job.type === 'system' ? undefined : numberIn(group, 'Count'),
    ports: portsOf(group),
    constraints: constraints.filter((one) => one !== DISTINCT_HOSTS),
    distinct: constraints.includes(DISTINCT_HOSTS) ? ['host'] : undefined,
    tasks: Object.fromEntries(
      listIn(group, 'Tasks')
        .filter(isMap)
        .map((task) => [
          nameFrom(textIn(task, 'Name') ?? ''),
          taskOf(task, `${where}.${textIn(task, 'Name') ?? ''}`, notes),
        ]),
    ),
    restart: filled({
      attempts: numberIn(restart, 'Attempts'),
      window: timeIn(restart, 'Interval'),
      delay: timeIn(restart, 'Delay'),
    }),
    reschedule: filled({
      attempts: again['Unlimited'] === true ? 'unlimited' : numberIn(again, 'Attempts'),
      delay: timeIn(again, 'Delay'),
      maxDelay: timeIn(again, 'MaxDelay'),
    }),
    update:
      job.type !== 'service'
        ? undefined
        : filled({
            parallelism: positive(numberIn(update, 'MaxParallel')),
            minHealthy: timeIn(update, 'MinHealthyTime'),
            healthyDeadline: timeIn(update, 'HealthyDeadline'),
            progressDeadline: timeIn(update, 'ProgressDeadline'),
            canary: positive(numberIn(update, 'Canary')),
            autoRevert: update['AutoRevert'] === true ? true : undefined,
            autoPromote: update['AutoPromote'] === true ? true : undefined,
          }),
  });
}

function positive(value: number | undefined): number | undefined {
  return value === undefined || value < 1 ? undefined : value;
}

function timeIn(map: ValueMap, key: string): string | undefined {
  const ns = numberIn(map, key);
  return ns === undefined || ns <= 0 ? undefined : `${String(Math.max(1, Math.round(ns / NS_PER_MS)))}ms`;
}

function taskOf(task: ValueMap, where: string, notes: Notes): ValueMap {
  const config = mapIn(task, 'Config');
  for (const key of ['Templates', 'Artifacts', 'Vault', 'Services', 'VolumeMounts', 'Affinities'])
    if (listIn(task, key).length > 0 || Object.keys(mapIn(task, key)).length > 0)
      notes.add(where, `${key} is left out`);
  notes.leftOut(`${where}.Config`, config, ['command', 'args', 'image', 'entrypoint']);
  const image = textIn(config, 'image');
  const resources = mapIn(task, 'Resources');
  const mhz = numberIn(resources, 'CPU');
  const cores = positive(numberIn(resources, 'Cores'));
  if (cores === undefined && mhz !== undefined)
    notes.add(
      where,
      `${String(mhz)} MHz is taken as ${millicores(mhz)}, a core of ${String(MHZ_PER_CORE)} MHz`,
    );
  const command = textIn(config, 'command');
  const words = [
    ...textsIn(config, 'entrypoint'),
    ...(command === undefined ? [] : [command]),
    ...textsIn(config, 'args'),
  ];
  const env = Object.entries(mapIn(task, 'Env')).map(([key, value]) => [key, String(value)] as const);
  const driver = textIn(task, 'Driver');
  return filled({
    ...(image === undefined
      ? driver === 'exec'
        ? { driver: 'sandbox' }
        : {}
      : imageOf(image, where, notes)),
    command: commandOf(words, where, notes),
    env: envOf(env, where, notes),
    resources: filled({
      cpu: cores === undefined ? (mhz === undefined ? undefined : millicores(mhz)) : String(cores),
      memory: mib(numberIn(resources, 'MemoryMB')),
    }),
    limits: filled({ memory: mib(positive(numberIn(resources, 'MemoryMaxMB'))) }),
    stop: filled({ signal: textIn(task, 'KillSignal') || undefined, grace: timeIn(task, 'KillTimeout') }),
  });
}

function millicores(mhz: number): string {
  return `${String(Math.max(1, Math.round((mhz * 1_000) / MHZ_PER_CORE)))}m`;
}

function mib(amount: number | undefined): string | undefined {
  return amount === undefined ? undefined : `${String(amount)}Mi`;
}

function portsOf(group: ValueMap): ValueMap {
  const networks = listIn(group, 'Networks').filter(isMap);
  const dynamic = networks.flatMap((network) => listIn(network, 'DynamicPorts')).filter(isMap);
  const fixed = networks.flatMap((network) => listIn(network, 'ReservedPorts')).filter(isMap);
  const label = (port: ValueMap): string => nameFrom(textIn(port, 'Label') ?? '');
  const ports: readonly (readonly [string, string | number | undefined])[] = [
    ...dynamic.map((port) => [label(port), 'auto'] as const),
    ...fixed.map((port) => [label(port), numberIn(port, 'Value')] as const),
  ];
  return Object.fromEntries(ports);
}

const DISTINCT_HOSTS = 'distinct_hosts';
const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '=': '==', '==': '==', is: '==', '!=': '!=', not: '!=' },
  ...{ '>': '>', '>=': '>=', '<': '<', '<=': '<=' },
};
const ATTRIBUTES: Readonly<Record<string, string>> = {
  '${attr.kernel.name}': 'os',
  '${attr.cpu.arch}': 'arch',
  '${node.class}': 'class',
  '${node.datacenter}': 'zone',
  '${node.unique.name}': 'id',
};

function constraintsOf(map: ValueMap, where: string, notes: Notes): readonly string[] {
  return listIn(map, 'Constraints')
    .filter(isMap)
    .flatMap((one) => {
      const [left, operand = '=', right] = [
        textIn(one, 'LTarget') ?? '',
        textIn(one, 'Operand'),
        textIn(one, 'RTarget') ?? '',
      ];
      if (operand === DISTINCT_HOSTS) return [DISTINCT_HOSTS];
      const meta = /^\$\{meta\.([A-Za-z0-9._-]+)\}$/.exec(left)?.[1];
      const attribute = ATTRIBUTES[left] ?? meta;
      const operator = OPERATORS[operand];
      if (attribute !== undefined && operator !== undefined)
        return [`host.${attribute} ${operator} ${right}`];
      notes.add(where, `constraint ${left} ${operand} ${right} is left out`);
      return [];
    });
}
