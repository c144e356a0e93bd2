import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { SimNetwork } from '../network/network.ts';
import type { LifePorts } from './actor.ts';
import { Actor } from './actor.ts';
import type { Environment } from './environment.ts';

/** What an actor that asks the cell's monitors has for one life. */
export interface ClientPorts extends LifePorts {
  readonly name: string;
  readonly environment: Environment;
  readonly client: MonitorClient;
}

/**
 * An actor that asks the cell's monitors.
 * @param monitors in the order in which they are tried
 * @param work begins what the actor does; it goes on until the life ends
 */
export function monitorClientActor(
  environment: Environment,
  name: string,
  monitors: readonly string[],
  work: (ports: ClientPorts) => void | Promise<void>,
): Actor {
  return new Actor(environment, {
    name,
    role: 'client',
    boot: async (ports) => {
      const { life, identity, clock, log } = ports;
      const urls = monitors.map((monitor) => SimNetwork.addressOf(monitor));
      const client = new MonitorClient(environment.network.client({ life, identity, clock, log }), {
        urls,
        from: name,
      });
      await work({ ...ports, name, environment, client });
    },
  });
}
