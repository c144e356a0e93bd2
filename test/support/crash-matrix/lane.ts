import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUILT_AGENT, hostClient, openFolder, stateFolder } from '../real-host.ts';
import type { Armament } from './lives.ts';
import { Lives } from './lives.ts';
import { untilClean } from './remains.ts';
import { Scenario } from './scenario.ts';

/** One agent's chain of lives: each point once, at the first time that it is reached after another. */
export interface Lane {
  readonly points: readonly string[];
  readonly action: 'kill' | 'throw';
  /** At which time a life reaches it. */
  readonly nth: number;
  readonly from: Armament['from'];
  /** Runs beside each other must not meet. */
  readonly firstPort: number;
}

export interface LaneReport {
  readonly met: ReadonlySet<string>;
  readonly lives: number;
  /** What came out otherwise than it must, and what was left behind. Empty when all is well. */
  readonly wrong: readonly string[];
  /** Ends that name the fault that was thrown as their cause. */
  readonly blamed: readonly string[];
}

/** Points that are still not met after so many rounds without a new one are not met at all. */
const IDLE_ROUNDS_MAX = 2;
const ROUNDS_MAX = 30;
/** What is left behind is taken away when it is seen for the second time. */
const LEAKS_MS = 150;

export async function runLane(lane: Lane, shim: string): Promise<LaneReport> {
  using state = stateFolder();
  using own = stateFolder();
  using open = openFolder();
  mkdirSync(join(own.path, 'fired'));
  const more = {
    shim: { kind: 'native', path: shim },
    capacity: { cpuMilli: 1_000_000, memoryMib: 1_000_000 },
    addresses: Array.from({ length: 12 }, (_, n) => `127.64.0.${String(n + 1)}`),
    artifactSources: [`${pathToFileURL(open.path).href}/`],
    rounds: { leaksMs: LEAKS_MS, diskMs: 50, recordTimeMs: 100, rescanMs: 1_000 },
  };
  const lives = new Lives({
    stateFolder: state.path,
    folder: own.path,
    argv: [BUILT_AGENT, state.path, '', JSON.stringify(more)],
    // Each point ends one, or the start of one.
    livesMax: lane.points.length + 10,
  });
  const http = hostClient();
  const met = (): ReadonlySet<string> => new Set(readdirSync(join(own.path, 'fired')));
  const fileOf = (point: string): string => `${point}:${String(lane.nth)}`.replaceAll('/', '_');
  try {
    const scenario = new Scenario(http.client, lives, open.path, state.path, lane.firstPort);
    const all = async (): Promise<readonly string[]> => {
      lives.arm({ orders: ordersOf(lane, (point) => ONLY_AT_FIRST.test(point)), from: 'start' });
      await lives.start();
      lives.arm({ orders: [], from: 'start' });
      const finish = await scenario.leave();
      lives.arm({ orders: ordersOf(lane, () => true), from: lane.from });
      await lives.resume();
      await finish();
      for (let rounds = 0, idle = 0; rounds < ROUNDS_MAX && idle < IDLE_ROUNDS_MAX; rounds++) {
        const before = met().size;
        await scenario.round();
        idle = met().size > before ? 0 : idle + 1;
        if (met().size === lane.points.length) break;
      }
      const left = await untilClean(state.path, (one) => /^process .*(host-worker|--spawner)/.test(one));
      await lives.stop();
      // A spawner ends when it notices that its agent has.
      return [...left, ...(await untilClean(state.path, () => false))];
    };
    const left = await Promise.race([all(), lives.failed]);
    const wrong = [...scenario.wrong, ...left.map((one) => `left behind: ${one}`)];
    if (lane.action === 'kill') wrong.push(...scenario.blamed, ...lives.faults);
    const files = met();
    return {
      met: new Set(lane.points.filter((point) => files.has(fileOf(point)))),
      ...{ lives: lives.count, wrong, blamed: scenario.blamed },
    };
  } finally {
    await lives.kill();
    await http.close();
  }
}

/** What only the first agent on a folder does. */
const ONLY_AT_FIRST = /^agent\/disk\.publish\/identity/;

function ordersOf({ points, nth, action }: Lane, test: (point: string) => boolean): readonly string[] {
  return points.filter(test).map((point) => `${point}:${String(nth)}:${action}`);
}
