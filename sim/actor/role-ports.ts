import type { CellStore, StoreError } from '../../src/ports/cell-store.ts';
import type { HttpClient, HttpServer } from '../../src/ports/http.ts';
import type { LifePorts } from './actor.ts';
import type { Ground } from './environment.ts';
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
  ground: Ground,
  ports: LifePorts,
  onWrongServer: (error: StoreError) => void,
): RolePorts {
  const { life, clock, log } = ports;
  const speaker = { life, clock, log };
  const { network, history } = ground;
  return {
    ...ports,
    store: new SimStore({
      ...{ server: ground.store, network: network.weather, speaker, history, onWrongServer },
    }),
    http: network.client(speaker),
    server: network.server(speaker),
  };
}
