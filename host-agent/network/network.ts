/**
 * Keeps tasks from the control plane: rules of the kernel's packet filter for the users of this host's tasks. `ruleset.ts` is
 * their text, `control-plane.ts` reads from the store where roles, agents and the store itself are reached; this file makes
 * the table when the agent starts, keeps it up to date, and takes it away when the agent ends and nothing runs.
 *
 * The table outlives the agent, like the tasks that it is about, and is named by the state folder's id. Tables of state
 * folders that are gone are removed by whoever starts next.
 */
import type { Commands } from '../../src/ports/commands.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { Isolation } from '../drivers/isolation.ts';
import type { UserRange } from '../leases/task-users.ts';
import type { AgentPorts } from '../ports.ts';
import type { Endpoint } from './ruleset.ts';
import { elementsText, rulesText, TABLE_PREFIX, tableOf } from './ruleset.ts';

const NFT_MS = 10_000;
const PROBE_MS = 5_000;
/** The kernel may be busy with another's table. */
const TRIES_MAX = 3;

export interface NetworkRulesDeps {
  readonly commands: Commands;
  readonly log: Log;
  readonly stateId: string;
  /** Absolute path of the state folder. */
  readonly folder: string;
  readonly users: readonly UserRange[];
}

/** Where tasks have users of their own, by which the kernel tells what is theirs. @returns null: they reach what the host reaches */
export async function networkRules(
  { commands, disk, log }: AgentPorts,
  host: {
    readonly stateId: string;
    readonly users: readonly UserRange[];
    readonly isolation: Isolation;
  },
): Promise<NetworkRules | null> {
  const { stateId, users, isolation } = host;
  if (commands === undefined || !isolation.user) return null;
  return NetworkRules.open({ commands, log, stateId, folder: disk.absolute(''), users });
}

/** For constraints: `isolation.network == filtered`. */
export function networkAttribute(rules: NetworkRules | null): Record<string, string> {
  return { 'isolation.network': rules === null ? 'none' : 'filtered' };
}

/** The rules of one host. */
export class NetworkRules {
  readonly #deps: NetworkRulesDeps;
  readonly #table: string;
  /** One change after the other. */
  #changing: Promise<unknown> = Promise.resolve();
  /** What the change that waits for the one under way is to bring; null: none waits. */
  #wanted: readonly Endpoint[] | null = null;
  #closed = false;

  private constructor(deps: NetworkRulesDeps) {
    this.#deps = deps;
    this.#table = tableOf(deps.stateId);
  }

  /** @returns null where this machine has no packet filter, or not for us; that is logged */
  static async open(deps: NetworkRulesDeps): Promise<NetworkRules | null> {
    const rules = new NetworkRules(deps);
    const why = await rules.#run(rulesText(rules.#table, deps.folder, deps.users));
    if (why !== null) {
      deps.log.warn(
        { why },
        'tasks reach what this host reaches, the control plane included: that takes nft and its rights',
      );
      return null;
    }
    await rules.#removeStrays();
    return rules;
  }

  /** These are refused to tasks from now on, and no others. Of several while one is made, only the last is made then. */
  update(endpoints: readonly Endpoint[]): void {
    const waits = this.#wanted !== null;
    this.#wanted = endpoints;
    if (!waits) this.#changing = this.#changing.then(() => this.#change());
  }

  async #change(): Promise<void> {
    const endpoints = this.#wanted;
    this.#wanted = null;
    if (endpoints === null || this.#closed) return;
    const why = await this.#run(elementsText(this.#table, endpoints));
    if (why !== null)
      this.#deps.log.error({ why }, 'the rules that keep tasks from the control plane are not up to date');
  }

  /** @param keep tasks still run, and so do the rules */
  async close(keep: boolean): Promise<void> {
    await this.#changing;
    this.#closed = true;
    if (!keep) await this.#run(`delete table inet ${this.#table}`);
  }

  /** @returns what it said when it failed */
  async #run(text: string): Promise<string | null> {
    let why = '';
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { code, err } = await this.#deps.commands.run(['nft', text], NFT_MS);
      if (code === 0) return null;
      why = err.trim().split('\n')[0] ?? '';
    }
    return why;
  }

  async #removeStrays(): Promise<void> {
    const { commands, log } = this.#deps;
    const { out } = await commands.run(['nft', 'list', 'tables', 'inet'], PROBE_MS);
    for (const [, name = ''] of out.matchAll(/^table inet (\S+)$/gm)) {
      if (!name.startsWith(TABLE_PREFIX) || name === this.#table) continue;
      const { out: text } = await commands.run(['nft', 'list', 'table', 'inet', name], PROBE_MS);
      const folder = /^\tcomment "(.*)"$/m.exec(text)?.[1] ?? '';
      // What cannot be told from its comment is left alone.
      if (!folder.startsWith('/')) continue;
      if ((await commands.run(['test', '-e', folder], PROBE_MS)).code !== 1) continue;
      log.info({ table: name, folder }, 'rules of a state folder that is gone are removed');
      await commands.run(['nft', `delete table inet ${name}`], NFT_MS);
    }
  }
}
