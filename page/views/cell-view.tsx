import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { cores, plural, size } from '../../src/wire/values/words.ts';
import { allocatable } from '../../src/core/host/host.ts';
import { isPausedText, whereOf } from '../../src/core/quota/pauses.ts';
import type { CellUsage } from '../../src/wire/api/usage-api.ts';
import type { UsedNow } from '../figures/usage.ts';
import { usedNow } from '../figures/usage.ts';
import { usePolled } from '../parts/hooks.ts';
import { useCell } from '../parts/hooks.ts';
import { Failed, Loading, Meter } from '../parts/parts.ts';
import { HostMap } from './host-map.tsx';
import { Schedulers } from './schedulers.tsx';
import { Waiting } from './waiting.tsx';

const EVERY_MS = 5_000;
/** What is used each host is asked for anew. */
const USAGE_EVERY_MS = 10_000;
const USAGE_HOSTS_MAX = 256;

export function CellView(): JSX.Element {
  const { client, link } = useCell();
  const cell = usePolled('cell', EVERY_MS, async (signal) => {
    const answer = await client.cell({ signal });
    link.learn((answer.monitors ?? []).map(({ address }) => address));
    return answer;
  });
  const hosts = usePolled('hosts', EVERY_MS, (signal) => client.hosts({ signal }));
  const pauses = usePolled('pauses', EVERY_MS, (signal) => client.pauses({ signal }));
  if (cell.value === null || hosts.value === null) return <Loading error={cell.error ?? hosts.error} />;
  const sums = { cpu: 0, cpuUsed: 0, memory: 0, memoryUsed: 0 };
  for (const { host, used } of hosts.value.hosts) {
    const all = allocatable(host);
    sums.cpu += all.cpuMilli;
    sums.memory += all.memoryMib;
    sums.cpuUsed += used.cpuMilli;
    sums.memoryUsed += used.memoryMib;
  }
  const { known, alive } = cell.value.hosts;
  return (
    <>
      <Failed error={cell.error ?? hosts.error} />
      {(pauses.value?.pauses ?? []).map((pause) => (
        <p class="notice" key={`${pause.what}${whereOf(pause)}`}>
          ‖ {pause.what}
          {whereOf(pause)} {isPausedText(pause.what)} by {pause.by}: {pause.reason}
        </p>
      ))}
      <dl class="facts">
        <Fact name="Hosts" text={alive === known ? String(known) : `${String(alive)} of ${String(known)}`} />
        <Fact name="Jobs" text={String(cell.value.jobs)} />
        <Fact name="Allocations" text={String(cell.value.allocations)} />
        <Fact name="Monitors" text={String(cell.value.monitors?.length ?? 1)} />
        <Part name="CPU asked for" part={sums.cpuUsed} whole={sums.cpu} show={cores} />
        <Part name="Memory asked for" part={sums.memoryUsed} whole={sums.memory} show={size} />
        {known > USAGE_HOSTS_MAX ? null : <Used whole={sums} />}
      </dl>
      {hosts.value.incomplete ? (
        <p class="notice">Some of the {plural(known, 'host')} have not reported to this monitor yet.</p>
      ) : null}
      <HostMap hosts={hosts.value.hosts} />
      <Schedulers />
      <Waiting />
    </>
  );
}

/** Beside what is asked for. */
function Used(props: {
  readonly whole: { readonly cpu: number; readonly memory: number };
}): JSX.Element | null {
  const { client } = useCell();
  const { cpu, memory } = props.whole;
  const before = useRef<CellUsage | null>(null);
  const look = async (signal: AbortSignal): Promise<UsedNow> => {
    const usage = await client.usage({}, { signal });
    const used = usedNow(before.current, usage);
    before.current = usage;
    return used;
  };
  const answer = usePolled('usage', USAGE_EVERY_MS, look, false);
  if (answer.value === null) return null;
  const { cpuMilli, memoryMib } = answer.value;
  return (
    <>
      {cpuMilli === null ? null : <Part name="CPU used" part={cpuMilli} whole={cpu} show={cores} />}
      <Part name="Memory used" part={memoryMib} whole={memory} show={size} />
    </>
  );
}

function Part(props: {
  readonly name: string;
  readonly part: number;
  readonly whole: number;
  readonly show: (amount: number) => string;
}): JSX.Element {
  const { name, part, whole, show } = props;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Meter label={name} part={part} whole={whole} text={`${show(part)} of ${show(whole)}`} />
      </dd>
    </div>
  );
}

function Fact(props: { readonly name: string; readonly text: string }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.text}</dd>
    </div>
  );
}
