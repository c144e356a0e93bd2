import type { Monitor } from '../../monitor/monitor.ts';
import type { SeenHost } from '../history/facts.ts';
import type { World } from './world.ts';

/** Do all monitors that are up show what all agents that are up report now, or are about to report? */
export function viewsAgree(world: World): boolean {
  for (const [name, agent] of world.agents) {
    if (world.actors.get(name)?.isUp !== true) continue;
    for (const [id, monitor] of world.monitors) {
      if (world.actors.get(id)?.isUp !== true) continue;
      const sight = monitor.state.follower.view.host(name);
      if (sight?.incarnation !== agent.feed.incarnation || sight.seq !== agent.feed.seq) return false;
    }
  }
  return true;
}

/** Records what every agent reports of its own host now, and what every monitor would answer. */
export function recordFinalViews(world: World): void {
  const { history } = world.environment;
  for (const [name, agent] of world.agents) {
    if (world.actors.get(name)?.isUp !== true) continue;
    const { incarnation, seq } = agent.feed;
    history.add('listings', { host: name, incarnation, seq, reports: agent.feed.reports() });
  }
  recordViews(world);
}

/** Records what every monitor would answer now. */
export function recordViews(world: World): void {
  for (const [name, monitor] of world.monitors) {
    const actor = world.actors.get(name);
    if (actor?.isUp !== true) continue;
    const { complete } = monitor.state.follower.view;
    const hosts = hostsSeenBy(monitor);
    world.environment.history.add('views', { monitor: name, instance: actor.instance, complete, hosts });
  }
}

function hostsSeenBy(monitor: Monitor): readonly SeenHost[] {
  const { view } = monitor.state.follower;
  return [...view.hosts()].map(({ host, incarnation, seq, asOfMs, staleSinceMs }) => ({
    ...{ host, incarnation, seq, asOfMs, staleSinceMs },
    reports: [...view.on(host)],
  }));
}
