import type { Eligibility } from '../../src/core/host/host.ts';
import { isFenced } from '../../src/core/host/fences.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { CommandEnd, Commands } from '../../src/ports/commands.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { eligibilityCodec } from '../../src/wire/records/records.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import type { EligibilityWriter } from './eligibility.ts';

export interface FencingOptions {
  /** By the name that jobs use: the whole path of the program that fences a host. */
  readonly programs: ReadonlyMap<string, string>;
  readonly commands: Commands;
  /** A program that takes longer has not confirmed anything. */
  readonly timeoutMs: number;
}

export interface FencingDeps extends MonitorContext, FencingOptions {
  readonly eligibility: EligibilityWriter;
}

export const FENCE_TIMEOUT_MS = 30_000;
const CHECK_MS = 1_000;
/** From an answer that is no confirmation to the next try. */
const AGAIN_MS = 5_000;
const AGAIN_MS_MAX = 300_000;
/** Programs that one monitor has under way: a whole rack may be lost. */
const AT_ONCE_MAX = 8;
const DETAIL_CHARS_MAX = 200;

interface Try {
  readonly host: string;
  readonly name: string;
  /** The fencing counter of the verdict. */
  readonly counter: number;
  tries: number;
  nextAtMs: number;
  isUnderWay: boolean;
}

/**
 * Asks the fences of lost hosts, for what is there and wants one: `PROGRAM fence HOST INCARNATION`; 0 says that the host runs no more
 * what that incarnation of its agent and earlier ones have started. Anything else is asked again, later each time.
 *
 * The answer is written into the verdict (`EligibilityWriter.fence`). Of several monitors one begins, the next when that one would have
 * had its time. To fence twice must do no harm; a host that is back is not fenced, as far as the store knows just before.
 */
export class Fencing {
  readonly #deps: FencingDeps;
  readonly #tries = new Map<string, Try>();
  readonly #stop: () => void;

  constructor(deps: FencingDeps) {
    this.#deps = deps;
    this.#stop = deps.programs.size === 0 ? () => undefined : every(deps.clock, CHECK_MS, () => this.check());
  }

  close(): void {
    this.#stop();
  }

  check(): void {
    const { copy, clock, metrics } = this.#deps;
    const wanted = new Set<string>();
    for (const [host, { value }] of copy.eligibility.rows()) {
      if (value.state !== 'lost' || copy.alive.get(host) !== undefined) continue;
      for (const name of this.#wantedOn(host, value)) wanted.add(this.#open(host, name, value.counter));
    }
    for (const key of this.#tries.keys()) if (!wanted.has(key)) this.#tries.delete(key);
    metrics.gauge('moorage_monitor_fences_awaited', wanted.size);
    const nowMs = clock.monotonicMs();
    let free = AT_ONCE_MAX - [...this.#tries.values()].filter(({ isUnderWay }) => isUnderWay).length;
    for (const one of this.#tries.values()) {
      if (free <= 0 || one.isUnderWay || nowMs < one.nextAtMs) continue;
      free -= 1;
      void this.#try(one);
    }
  }

  /** Names that have a program here, of what is on the host and not fenced yet. */
  #wantedOn(host: string, verdict: Eligibility): ReadonlySet<string> {
    const { copy, programs } = this.#deps;
    const names = new Set<string>();
    for (const { value: allocation } of copy.allocationsByHost.of(host).values()) {
      const { namespace, job, group } = allocation;
      const fences = copy.jobs.get(jobKeyOf(namespace, job))?.value.job.groups[group]?.fences ?? [];
      if (fences.length === 0 || isFenced(verdict, fences, allocation)) continue;
      for (const name of fences) if (programs.has(name)) names.add(name);
    }
    return names;
  }

  #open(host: string, name: string, counter: number): string {
    const key = `${host} ${name} ${String(counter)}`;
    if (!this.#tries.has(key)) {
      const { clock, timeoutMs } = this.#deps;
      const lagMs = monitorRank(this.#deps, host) * (timeoutMs + 2 * CHECK_MS);
      const nextAtMs = clock.monotonicMs() + lagMs;
      this.#tries.set(key, { host, name, counter, tries: 0, nextAtMs, isUnderWay: false });
    }
    return key;
  }

  /** Never rejects: what fails is tried again. */
  async #try(one: Try): Promise<void> {
    const { log, clock } = this.#deps;
    const { host, name } = one;
    one.isUnderWay = true;
    one.tries += 1;
    try {
      await this.#ask(one);
    } catch (error) {
      log.warn({ host, fence: name, error }, 'a fence was not asked; it is tried again');
    } finally {
      one.isUnderWay = false;
      one.nextAtMs = clock.monotonicMs() + Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** (one.tries - 1));
    }
  }

  async #ask({ host, name, counter }: Try): Promise<void> {
    const { copy, programs, commands, timeoutMs, eligibility, clock, log, metrics, self: by } = this.#deps;
    const program = programs.get(name);
    const incarnation = copy.hosts.get(host)?.value.incarnation;
    if (program === undefined || incarnation === undefined || !(await this.#isStillLost(host, counter)))
      return;
    const end = await commands.run([program, 'fence', host, String(incarnation)], timeoutMs);
    const confirmed = end.code === 0;
    const detail = detailOf(end);
    metrics.count('moorage_monitor_fence_answers_total', {
      fence: name,
      answer: confirmed ? 'confirmed' : 'refused',
    });
    log.info({ host, fence: name, confirmed, detail }, 'a fence was asked');
    const known = copy.eligibility.get(host)?.value.fences?.[name];
    // The same refusal again is no news, and every change of this record wakes schedulers.
    if (!confirmed && known?.detail === detail && known.counter === counter) return;
    const answer = { confirmed, counter, detail, by, atMs: Math.round(clock.nowMs()) };
    const written = await eligibility.fence(host, name, answer);
    if (written === null)
      log.warn({ host, fence: name }, 'a fence answered for a host that is no longer lost');
  }

  /** By the store, not by the copy: whoever came back must not be cut off. */
  async #isStillLost(host: string, counter: number): Promise<boolean> {
    const { store, keys } = this.#deps;
    const [key, aliveKey] = [keys.eligibilityOf(host), keys.aliveOf(host)];
    const { entries } = await store.read([key, aliveKey]);
    const entry = entries.get(key);
    if (entry === undefined || entries.has(aliveKey)) return false;
    const known = eligibilityCodec.decode(entry.value);
    return known.state === 'lost' && known.counter === counter;
  }
}

/** How it ended, and the last that it said. */
function detailOf({ code, out, err }: CommandEnd): string {
  const said = lastLineOf(err) || lastLineOf(out);
  const how = code === null ? 'no exit' : `exit ${String(code)}`;
  return `${how}${said === '' ? '' : `: ${said}`}`.slice(0, DETAIL_CHARS_MAX);
}

function lastLineOf(text: string): string {
  const printable = text.replaceAll(/[^\P{C}\n]/gu, ' ');
  return printable.trim().split('\n').at(-1)?.trim() ?? '';
}
