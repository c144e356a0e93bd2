import type { World } from './world.ts';

const EVERY_MS = 500;

/** Records every half second, until the world ends, what each agent that is up would tell its tasks of names. */
export function recordNames(world: World): void {
  const { agenda, history, life } = world.environment;
  const record = (): void => {
    for (const [host, known] of world.known) {
      const actor = world.actors.get(host);
      if (actor?.isUp !== true || actor.life.paused) continue;
      for (const name of world.names) {
        const now = known.now(name);
        if (now === null || now.endpoints.length === 0) continue;
        const { endpoints, isStale } = now;
        history.add('names', { host, name, endpoints, isStale });
      }
    }
    agenda.after(EVERY_MS, life, 'names', record);
  };
  agenda.after(EVERY_MS, life, 'names', record);
}
