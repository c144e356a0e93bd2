import { join } from 'node:path';
import type { EtcdProcess, StartEtcdOptions } from '../../src/adapters/etcd/server/server.ts';
import { etcdLogTail, startEtcd } from '../../src/adapters/etcd/server/server.ts';
import type { ProcessEnd, ProcessLife } from './kept-process.ts';
import { KeptProcess } from './kept-process.ts';

export type StoreProcess = KeptProcess<EtcdProcess>;

/** An etcd that is started again, on its ports and its data, whenever it ends by itself. */
export function storeProcess(
  options: Pick<StartEtcdOptions, 'binary' | 'dataFolder' | 'autoCompaction' | 'credentials'>,
  onEvent: (text: string) => void,
): StoreProcess {
  return new KeptProcess<EtcdProcess>({
    name: 'etcd',
    logFile: join(options.dataFolder, 'etcd.log'),
    keepUp: true,
    launch: (earlier) => new StoreLife({ ...options, ...(earlier === null ? {} : placeOf(earlier)) }),
    onEvent,
  });
}

/** The roles know the store by its port. */
function placeOf({ clientUrl, member }: EtcdProcess): Pick<StartEtcdOptions, 'clientPort' | 'member'> {
  return { clientPort: Number(new URL(clientUrl).port), member };
}

class StoreLife implements ProcessLife<EtcdProcess> {
  readonly ready: Promise<EtcdProcess>;
  readonly ended: Promise<ProcessEnd>;
  readonly #dataFolder: string;
  readonly #stopping = new AbortController();
  #pid = 0;

  constructor(options: StartEtcdOptions) {
    const startedMs = performance.now();
    this.#dataFolder = options.dataFolder;
    this.ready = startEtcd({ ...options, signal: this.#stopping.signal });
    const lives = this.ready.then(
      (etcd) => {
        this.#pid = etcd.pid;
        return etcd.ended.then(({ code, signal }) => signal ?? `exit code ${String(code)}`);
      },
      // The lines of its log are told apart.
      (error: Error) => (error.message.split('\n')[0] ?? '').replace(/^etcd /, ''),
    );
    this.ended = lives.then((how) => ({ how, livedMs: performance.now() - startedMs }));
  }

  get pid(): number {
    return this.#pid;
  }

  get lastLines(): readonly string[] {
    return etcdLogTail(this.#dataFolder);
  }

  /** It has a grace of its own. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ready.then(
      (etcd) => etcd.stop(),
      () => undefined,
    );
  }
}
