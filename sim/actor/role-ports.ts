import type { CellStore, StoreError } from '../../src/ports/cell-store.ts';
import type { HttpClient, HttpServer } from '../../src/ports/http.ts';
import type { LifePorts } from './actor.ts';
import type { Environment } from './environment.ts';
import { SimStore } from '../store/store.ts';

export interface RolePorts extends LifePorts {
  readonly store: CellStore;
  readonly http: HttpClient;
  readonly server: HttpServer;
}

/**
 * The ports that every role has, for one life.
 * @param onWrongServer as `EtcdStoreOptions.onWrongServer`
 */
export function rolePorts(
  environment: Environment,
  ports: LifePorts,
  onWrongServer: (error: StoreError) => void,
): RolePorts {
  const { life, identity, clock, log } = ports;
  const speaker = { life, identity, clock, log };
  const { network, history } = environment;
  return {
    ...ports,
    store: new SimStore({
      ...{ server: environment.store, network: network.faults, speaker, history, onWrongServer },
    }),
    http: network.client(speaker),
    server: network.server(speaker),
  };
}
