import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task, UsedName } from '../../src/core/cell/job.ts';
import { renderTemplate } from '../../src/core/names/template.ts';
import { DiskError } from '../../src/ports/disk.ts';
import { workFolder } from '../../src/wire/host-files/host-files.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { AgentPorts, SignalSender } from '../ports.ts';

/** A start waits so long for what nobody has told yet, and then goes on without: no control process holds up a task. */
const FIRST_ANSWER_MS = 5_000;
/** Changes that come closer are written together. */
const TOGETHER_MS = 100;
const AGAIN_MS = 1_000;

/** What a task with `endpoints` needs of its host. */
export interface TaskEndpointsDeps {
  readonly ports: AgentPorts;
  readonly signals: SignalSender;
  readonly allocation: Allocation;
  readonly task: Task;
  /** Name of the attempt that is to hear of changes; null: none has begun, or the last one has ended. */
  readonly attempt: () => string | null;
}

/**
 * Endpoints for one task: in its environment as they are at a start, in files that are replaced when they change. What was written
 * last is kept beside the working folder, so that the next agent knows whether something has changed meanwhile.
 */
export class TaskEndpoints {
  readonly #deps: TaskEndpointsDeps;
  readonly #uses: readonly UsedName[];
  #ends: (() => void)[] = [];
  #waitsUntilMs: number | null = null;
  #onHeard: () => void = () => undefined;
  #cancelWrite: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  /** By file. */
  readonly #written = new Map<string, string>();

  constructor(deps: TaskEndpointsDeps) {
    this.#deps = deps;
    this.#uses = deps.ports.names === undefined ? [] : (deps.task.endpoints ?? []);
  }

  /** Its names are followed from now on, until it is closed. */
  follow(): void {
    const { names } = this.#deps.ports;
    if (names === undefined || this.#uses.length === 0 || this.#ends.length > 0) return;
    const own = new Set(this.#uses.map((use) => this.#nameOf(use)));
    this.#ends.push(
      names.onTold((name) => {
        if (!own.has(name)) return;
        this.#onHeard();
        this.#plan(TOGETHER_MS);
      }),
      ...[...own].map((name) => names.pin(name)),
    );
  }

  /** @param wake called when it is worth to ask again @returns whether it can start with what is known */
  heard(wake: () => void): boolean {
    const { names, clock } = this.#deps.ports;
    if (this.#uses.every((use) => names?.now(this.#nameOf(use)) != null)) return true;
    this.follow();
    if (this.#waitsUntilMs === null) {
      this.#waitsUntilMs = clock.monotonicMs() + FIRST_ANSWER_MS;
      this.#onHeard = wake;
      this.#ends.push(clock.after(FIRST_ANSWER_MS, wake));
    }
    return clock.monotonicMs() >= this.#waitsUntilMs;
  }

  /** Before an attempt: its files are written. @returns its variables @throws DiskError */
  async prepare(): Promise<Readonly<Record<string, string>>> {
    if (this.#uses.length === 0) return {};
    this.follow();
    await this.#inTurn(() => this.#writeAll(null));
    return Object.fromEntries(
      this.#uses.flatMap((use) => (use.env === undefined ? [] : [[use.env, this.#lines(use).join(',')]])),
    );
  }

  close(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    for (const end of this.#ends.splice(0)) end();
  }

  #nameOf({ name }: UsedName): string {
    return `${name}.${this.#deps.allocation.namespace}`;
  }

  #lines(use: UsedName): readonly string[] {
    const endpoints = this.#deps.ports.names?.now(this.#nameOf(use))?.endpoints ?? [];
    return endpoints.map((one) => renderTemplate('{address}:{port}', [one]));
  }

  #plan(inMs: number): void {
    if (this.#cancelWrite !== null || this.#ends.length === 0) return;
    this.#cancelWrite = this.#deps.ports.clock.after(inMs, () => {
      this.#cancelWrite = null;
      const attempt = this.#deps.attempt();
      if (attempt === null) return;
      this.#inTurn(() => this.#writeAll(attempt)).catch((error: unknown) => {
        const { log } = this.#deps.ports;
        log.warn({ ...logIds(this.#deps.allocation), error }, 'endpoints cannot be written, and are again');
        if (error instanceof DiskError) this.#plan(AGAIN_MS);
      });
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => undefined);
    return done;
  }

  /** @param attempt hears of what changed; null: it has not begun */
  async #writeAll(attempt: string | null): Promise<void> {
    for (const use of this.#uses) if (use.file !== undefined) await this.#write(use, use.file, attempt);
  }

  async #write(use: UsedName, file: string, attempt: string | null): Promise<void> {
    const { ports, allocation } = this.#deps;
    const isKnown = ports.names?.now(this.#nameOf(use)) != null;
    const kept = `allocations/${allocation.id}/endpoints/${file}`;
    const before = this.#written.get(file) ?? (await ports.disk.read(kept));
    // What is not known takes nothing away from a task that has something.
    if (!isKnown && before !== null) return;
    const text = this.#lines(use)
      .map((line) => `${line}\n`)
      .join('');
    if (attempt !== null && text === before) return;
    await ports.disk.hand(`${workFolder(allocation.id)}/${file}`, text);
    if (attempt !== null && use.onChange !== undefined) await this.#tell(attempt, use.onChange, file);
    await ports.disk.replace(kept, text);
    this.#written.set(file, text);
  }

  /** One that cannot be told yet reads the new file when it begins. */
  async #tell(attempt: string, signal: string, file: string): Promise<void> {
    const { ports, signals } = this.#deps;
    const commandId = `endpoints-${file}-${String(Math.round(ports.clock.nowMs()))}`;
    await signals.send(attempt, commandId, signal);
  }
}
