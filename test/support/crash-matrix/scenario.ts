import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AllocationReport } from '../../../src/core/host/report.ts';
import type { HostClient } from '../../../src/clients/host-client.ts';
import { HttpError } from '../../../src/ports/http.ts';
import { ProblemError } from '../../../src/wire/api/problem.ts';
import { someStop } from '../host-orders.ts';
import type { Lives } from './lives.ts';
import { leaveStray } from '../strays.ts';
import { processesOf } from './remains.ts';
import type { Work } from './tasks.ts';
import { Works } from './tasks.ts';

/** What a faithful scheduler does with a host that may die at any moment: the same order again, until there is an answer. */
export class Scenario {
  readonly #client: HostClient;
  readonly #lives: Lives;
  readonly #works: Works;
  readonly #folder: string;
  readonly #stateFolder: string;
  /** What came out otherwise than it must. */
  readonly wrong: string[] = [];
  /** Ends that say that a fault of ours was their cause: right only where faults are thrown. */
  readonly blamed: string[] = [];

  /** @param folder that tasks may see and write to */
  constructor(client: HostClient, lives: Lives, folder: string, stateFolder: string, firstPort: number) {
    this.#client = client;
    this.#lives = lives;
    this.#folder = folder;
    this.#stateFolder = stateFolder;
    this.#works = new Works(folder, firstPort);
  }

  /** Leaves behind one allocation in each state in which a dead agent can leave one. @returns ends and removes them */
  async leave(): Promise<() => Promise<void>> {
    const go = join(this.#folder, 'go');
    const stays = this.#works.stays();
    const ends = this.#works.endsAt(go);
    const shimless = this.#works.losesItsShim();
    const torn = this.#works.stays();
    await Promise.all([stays, ends, shimless, torn].map((work) => this.#startAndRun(work)));
    await this.#lives.kill();
    process.kill(this.#claimOf(shimless).pid, 'SIGKILL');
    writeFileSync(go, '');
    await until(() => existsSync(this.#attempt(ends, 'exit')));
    truncateSync(join(this.#stateFolder, 'allocations', torn.order.allocation.id, 'spec.json'), 100);
    writeFileSync(join(this.#stateFolder, '.tmp-1-1'), 'half a rec');
    writeFileSync(join(this.#stateFolder, 'events', 'gone.main.1'), '');
    rmSync(join(this.#stateFolder, 'reserve'));
    await leaveStray(this.#stateFolder);
    return async () => {
      for (const work of [ends, shimless]) await this.#finish(work);
      await this.#stopAndFinish(stays);
      await this.#stop(torn);
    };
  }

  /** Every way that an allocation can go here, beside each other. */
  async round(): Promise<void> {
    const { id } = this.#works.stays().order.allocation;
    await Promise.all([this.#failing(), this.#staying(`of-${id}`), this.#deaf(), this.#early()]);
  }

  async #failing(): Promise<void> {
    const work = this.#works.fails();
    await this.#start(work);
    await this.#finish(work);
  }

  async #staying(name: string): Promise<void> {
    const work = this.#works.stays();
    await this.#startAndRun(work);
    const { id } = work.order.allocation;
    await until(() => work.lines().includes('ready'));
    const signal = { commandId: `signal-${name}`, signal: 'SIGUSR1' };
    await this.#ask((client, address) => client.signal(address, id, signal));
    const command = { commandId: `exec-${name}`, command: ['sh', '-c', 'echo command >> "$WITNESS"'] };
    for (;;) {
      const status = await this.#ask((client, address) => client.exec(address, id, command));
      if (status.state === 'ended') break;
      await pause();
    }
    await until(() => work.lines().includes('signal'));
    await this.#stopAndFinish(work);
    const counts = ['signal', 'command'].map((word) => work.lines().filter((line) => line === word).length);
    if (counts.some((count) => count !== 1))
      this.wrong.push(`signals and commands of ${id}: ${counts.join(', ')}`);
  }

  async #deaf(): Promise<void> {
    const work = this.#works.isDeaf();
    await this.#startAndRun(work);
    await until(() => work.lines().includes('ready'));
    await this.#stopAndFinish(work);
  }

  /** Its shim is on its way, and not yet there, when it is stopped. */
  async #early(): Promise<void> {
    const work = this.#works.isStoppedEarly();
    const spawners = this.#spawners();
    for (const pid of spawners) signalTo(pid, 'SIGSTOP');
    await this.#start(work);
    if (spawners.length > 0) await this.#untilAsked(work);
    await this.#stop(work);
    for (const pid of spawners) signalTo(pid, 'SIGCONT');
    await this.#finish(work);
  }

  async #untilAsked(work: Work): Promise<void> {
    for (let tries = 0; tries < ASKED_TRIES && !existsSync(this.#attempt(work, 'launch')); tries++)
      await pause();
  }

  #spawners(): readonly number[] {
    return processesOf(this.#stateFolder)
      .filter((line) => line.includes('--spawner'))
      .map((line) => Number(line.split(' ')[1]));
  }

  // --- orders ---------------------------------------------------------------------------------------------------------

  async #start(work: Work): Promise<void> {
    const answer = await this.#ask((client, address) => client.start(address, work.order));
    if (answer.kind === 'started') return;
    // As long as the disk seems to fail it asks again, as a scheduler would: all else would be an error of the host.
    if (answer.kind === 'refused' && answer.code === 'disk-full') {
      work.again();
      await pause();
      return this.#start(work);
    }
    this.wrong.push(`a start was refused: ${JSON.stringify(answer)}`);
  }

  async #startAndRun(work: Work): Promise<void> {
    await this.#start(work);
    await this.#report(work, (report) => report.state === 'running' || report.released);
  }

  async #stop(work: Work): Promise<void> {
    const { id } = work.order.allocation;
    await this.#ask((client, address) => client.stop(address, id, someStop({ commandId: `stop-${id}` })));
  }

  async #stopAndFinish(work: Work): Promise<void> {
    await this.#stop(work);
    await this.#finish(work);
  }

  /** Looks at its end, and removes it. */
  async #finish(work: Work): Promise<void> {
    const { id } = work.order.allocation;
    const report = await this.#report(work, (one) => one.released);
    const wrong = report === null ? `${id} is lost` : work.wrong(report);
    if (wrong !== null) (wrong.includes('fail-point') ? this.blamed : this.wrong).push(wrong);
    for (;;) {
      const answer = await this.#ask((client, address) => client.remove(address, id, `remove-${id}`));
      if (answer.kind === 'removed') return;
      await pause();
    }
  }

  /** @returns null when the host does not know it */
  async #report(work: Work, test: (report: AllocationReport) => boolean): Promise<AllocationReport | null> {
    for (;;) {
      const report = await this.#ask((client, address) => client.get(address, work.order.allocation.id));
      if (report === null || test(report)) return report;
      await pause();
    }
  }

  async #ask<T>(call: (client: HostClient, address: string) => Promise<T>): Promise<T> {
    for (;;) {
      const { address } = await this.#lives.life();
      try {
        const answer = await call(this.#client, address);
        if (!isUnknown(answer)) return answer;
      } catch (error) {
        if (!(error instanceof HttpError) && !(error instanceof ProblemError && error.problem.status >= 500))
          throw error;
      }
      await pause();
    }
  }

  #attempt(work: Work, file: string): string {
    return join(this.#stateFolder, 'attempts', `${work.order.allocation.id}.main.1`, file);
  }

  #claimOf(work: Work): { readonly pid: number } {
    return JSON.parse(readFileSync(this.#attempt(work, 'claim'), 'utf8')) as { pid: number };
  }
}

/** The spawner is stopped, so the agent has all the time; unless it dies meanwhile, and the next one has its own. */
const ASKED_TRIES = 50;

function isUnknown(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'unknown';
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It went with its agent.
  }
}

async function until(test: () => boolean): Promise<void> {
  while (!test()) await pause();
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}
