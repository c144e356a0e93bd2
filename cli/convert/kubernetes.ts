import type { Notes, Value, ValueMap } from './notes.ts';
import { filled, isMap, listIn, mapIn, numberIn, textIn, textsIn } from './notes.ts';
import { commandOf, envOf, imageOf, nameFrom, sizeOf } from './parts.ts';

const TYPES: Readonly<Record<string, string>> = {
  Deployment: 'service',
  StatefulSet: 'service',
  DaemonSet: 'system',
  Job: 'batch',
};

/** Jobs of one object, or of a List of them. Objects of other kinds are told and left out. */
export function fromKubernetes(object: Value, notes: Notes): readonly ValueMap[] {
  if (!isMap(object)) return [];
  const kind = textIn(object, 'kind') ?? '';
  if (kind === 'List') return listIn(object, 'items').flatMap((item) => fromKubernetes(item, notes));
  const name = nameFrom(textIn(mapIn(object, 'metadata'), 'name') ?? kind);
  const type = TYPES[kind];
  if (type === undefined) {
    notes.add(
      `${kind} ${name}`,
      'is left out: only Deployment, StatefulSet, DaemonSet and Job have a counterpart',
    );
    return [];
  }
  const spec = mapIn(object, 'spec');
  const namespace = textIn(mapIn(object, 'metadata'), 'namespace');
  return [
    filled({
      name,
      namespace,
      type,
      labels: labelsOf(object),
      groups: { [name]: groupOf(spec, { name, type }, notes) },
    }),
  ];
}

function labelsOf(object: ValueMap): ValueMap {
  const labels = mapIn(mapIn(object, 'metadata'), 'labels');
  const isOurs = (key: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/.test(key);
  return Object.fromEntries(
    Object.entries(labels)
      .filter(([key]) => isOurs(key))
      .map(([key, value]) => [key, String(value)]),
  );
}

const SPEC = [
  ...[
    'replicas',
    'completions',
    'parallelism',
    'backoffLimit',
    'activeDeadlineSeconds',
    'template',
    'selector',
  ],
  ...['minReadySeconds', 'progressDeadlineSeconds', 'strategy', 'serviceName'],
];
const POD = ['containers', 'terminationGracePeriodSeconds', 'nodeSelector', 'restartPolicy'];

function groupOf(
  spec: ValueMap,
  job: { readonly name: string; readonly type: string },
  notes: Notes,
): ValueMap {
  const { name, type } = job;
  const pod = mapIn(mapIn(spec, 'template'), 'spec');
  notes.leftOut(`${name}.spec`, spec, SPEC);
  notes.leftOut(`${name}.template.spec`, pod, POD);
  const containers = listIn(pod, 'containers').filter(isMap);
  const retries = numberIn(spec, 'backoffLimit');
  const deadline = numberIn(spec, 'activeDeadlineSeconds');
  return filled({
    count: type === 'system' ? undefined : (numberIn(spec, 'replicas') ?? numberIn(spec, 'completions')),
    parallelism:
      type === 'batch' && numberIn(spec, 'completions') !== undefined
        ? numberIn(spec, 'parallelism')
        : undefined,
    ports: Object.assign({}, ...containers.map((container) => portsOf(container, name, notes))) as ValueMap,
    constraints: Object.entries(mapIn(pod, 'nodeSelector')).map(([key, value]) =>
      constraintOf(key, String(value), name, notes),
    ),
    tasks: Object.fromEntries(
      containers.map((container) => {
        const task = nameFrom(textIn(container, 'name') ?? name);
        return [
          task,
          taskOf(container, `${name}.${task}`, numberIn(pod, 'terminationGracePeriodSeconds'), notes),
        ];
      }),
    ),
    restart: textIn(pod, 'restartPolicy') === 'Never' ? { on: 'never' } : undefined,
    reschedule: type === 'batch' && retries !== undefined ? { attempts: retries } : undefined,
    deadline: deadline === undefined ? undefined : `${String(deadline)}s`,
    update: updateOf(spec, type),
  });
}

function updateOf(spec: ValueMap, type: string): ValueMap | undefined {
  if (type !== 'service') return undefined;
  const [ready, progress] = [numberIn(spec, 'minReadySeconds'), numberIn(spec, 'progressDeadlineSeconds')];
  const rolling = mapIn(mapIn(spec, 'strategy'), 'rollingUpdate');
  const parallelism = numberIn(rolling, 'maxUnavailable') ?? numberIn(rolling, 'maxSurge');
  return filled({
    minHealthy: ready === undefined ? undefined : `${String(ready)}s`,
    parallelism: parallelism === undefined || parallelism < 1 ? undefined : parallelism,
    progressDeadline: progress === undefined ? undefined : `${String(progress)}s`,
  });
}

const WELL_KNOWN: Readonly<Record<string, string>> = {
  'kubernetes.io/os': 'os',
  'kubernetes.io/arch': 'arch',
  'kubernetes.io/hostname': 'id',
  'topology.kubernetes.io/zone': 'zone',
};

function constraintOf(key: string, value: string, name: string, notes: Notes): string {
  const attribute = WELL_KNOWN[key] ?? key.replaceAll(/[^A-Za-z0-9._-]/g, '.');
  if (attribute !== key) notes.add(name, `node label ${key} is asked for as host.${attribute}`);
  return `host.${attribute} == ${value}`;
}

const CONTAINER = [
  ...['name', 'image', 'command', 'args', 'env', 'resources', 'ports', 'readinessProbe', 'livenessProbe'],
  ...['imagePullPolicy', 'stdin', 'tty'],
];

function taskOf(container: ValueMap, where: string, graceS: number | undefined, notes: Notes): ValueMap {
  notes.leftOut(where, container, CONTAINER);
  const image = textIn(container, 'image');
  const words = [...textsIn(container, 'command'), ...textsIn(container, 'args')];
  const env = listIn(container, 'env').filter(isMap);
  for (const one of env)
    if ('valueFrom' in one)
      notes.add(where, `variable ${textIn(one, 'name') ?? ''} has no plain value, and is left out`);
  const plain = env.filter((one) => !('valueFrom' in one));
  return filled({
    ...(image === undefined ? {} : imageOf(image, where, notes)),
    command: commandOf(words, where, notes),
    env: envOf(
      plain.map((one) => [textIn(one, 'name') ?? '', textIn(one, 'value') ?? '']),
      where,
      notes,
    ),
    resources: amountsOf(container, 'requests'),
    limits: amountsOf(container, 'limits'),
    checks: filled({
      ready: probeOf(container, 'readinessProbe', where, notes),
      alive: probeOf(container, 'livenessProbe', where, notes),
    }),
    stop: graceS === undefined ? undefined : { grace: `${String(graceS)}s` },
    stdin: container['stdin'] === true ? true : undefined,
    terminal: container['tty'] === true ? true : undefined,
  });
}

function amountsOf(container: ValueMap, kind: 'requests' | 'limits'): ValueMap {
  const amounts = mapIn(mapIn(container, 'resources'), kind);
  const gpu = kind === 'requests' ? numberIn(amounts, 'nvidia.com/gpu') : undefined;
  return filled({ cpu: textIn(amounts, 'cpu'), memory: sizeOf(textIn(amounts, 'memory')), gpu });
}

function portLabel(port: ValueMap): string {
  return nameFrom(textIn(port, 'name') ?? `p${textIn(port, 'containerPort') ?? ''}`);
}

function portsOf(container: ValueMap, name: string, notes: Notes): ValueMap {
  const ports = listIn(container, 'ports').filter(isMap);
  for (const port of ports)
    notes.add(
      name,
      `port ${textIn(port, 'containerPort') ?? ''}: the task listens on $MOORAGE_PORT_${portLabel(port).toUpperCase().replaceAll('-', '_')}; nothing maps it`,
    );
  return Object.fromEntries(ports.map((port) => [portLabel(port), numberIn(port, 'hostPort') ?? 'auto']));
}

function probeOf(container: ValueMap, kind: string, where: string, notes: Notes): ValueMap | undefined {
  const probe = mapIn(container, kind);
  if (Object.keys(probe).length === 0) return undefined;
  const what = whatOf(probe, container);
  if (what === null) {
    notes.add(where, `${kind} is left out: it asks neither a port of the container nor a command`);
    return undefined;
  }
  const seconds = (key: string): string | undefined =>
    numberIn(probe, key) === undefined ? undefined : `${String(numberIn(probe, key))}s`;
  return filled({
    ...what,
    for: kind === 'livenessProbe' ? 'alive' : undefined,
    interval: seconds('periodSeconds'),
    timeout: seconds('timeoutSeconds'),
    successThreshold: numberIn(probe, 'successThreshold'),
    failureThreshold: numberIn(probe, 'failureThreshold'),
    startPeriod: seconds('initialDelaySeconds'),
  });
}

function whatOf(probe: ValueMap, container: ValueMap): ValueMap | null {
  const command = textsIn(mapIn(probe, 'exec'), 'command');
  if (command.length > 0) return { command };
  const [http, tcp] = [mapIn(probe, 'httpGet'), mapIn(probe, 'tcpSocket')];
  const asked = textIn(http, 'port') ?? textIn(tcp, 'port');
  const found = listIn(container, 'ports')
    .filter(isMap)
    .find((port) => [textIn(port, 'name'), textIn(port, 'containerPort')].includes(asked));
  if (found === undefined) return null;
  const port = portLabel(found);
  return Object.keys(http).length > 0 ? { http: textIn(http, 'path') ?? '/', port } : { tcp: port };
}
