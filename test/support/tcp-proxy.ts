import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** One client's connection through the proxy. */
export class ProxyLink {
  /** Drop what goes to the server, without a word. */
  dropRequests = false;
  /** Drop what comes back. */
  dropReplies = false;
  /** Called with each piece that was dropped. */
  onDropped: () => void = () => undefined;
  readonly #client: Socket;
  readonly #server: Socket;

  constructor(client: Socket, server: Socket) {
    this.#client = client;
    this.#server = server;
    client.on('data', (data) => (this.dropRequests ? this.onDropped() : server.write(data)));
    server.on('data', (data) => (this.dropReplies ? this.onDropped() : client.write(data)));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }
}

/** Stands between a client and a server on this machine, and spoils what goes through. */
export class TcpProxy {
  readonly links: ProxyLink[] = [];
  /** While true, new connections are refused. */
  refusing = false;
  targetPort: number;
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer((client) => {
      if (this.refusing) {
        client.resetAndDestroy();
        return;
      }
      this.links.push(new ProxyLink(client, connect(this.targetPort, '127.0.0.1')));
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  static async to(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(url).port));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is not up');
    return `http://127.0.0.1:${String(address.port)}`;
  }

  /** Waits until the client has opened that many connections in all. */
  async linkCount(count: number): Promise<void> {
    while (this.links.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  cutAll(): void {
    for (const link of this.links) link.cut();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
