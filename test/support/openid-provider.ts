import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createServer as createPlain } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { CryptoKey, JWK, JWTPayload } from 'jose';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export const AUDIENCE = 'moorage-test';

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** A provider that serves its configuration and its keys, and signs whatever a test wants. */
export class OpenIdProviderServer {
  readonly issuer: string;
  /** Paths that were asked. */
  readonly asked: string[] = [];
  /** What it does with a request. */
  mode: 'answers' | 'fails' | 'hangs' = 'answers';
  /** In place of what it would say of itself. */
  configuration: Readonly<Record<string, unknown>> = {};
  keys: SigningKey[] = [];
  readonly #server: Server;

  private constructor(server: Server, issuer: string) {
    this.#server = server;
    this.issuer = issuer;
  }

  /** @param tls absent: in the clear, on this machine */
  static async start(tls?: { readonly key: string; readonly cert: string }): Promise<OpenIdProviderServer> {
    const server = tls === undefined ? createPlain() : (createSecure(tls) as unknown as Server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const provider = new OpenIdProviderServer(
      server,
      `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${String(port)}/realm`,
    );
    await provider.rotate();
    server.on('request', (request, response) => {
      provider.asked.push(request.url ?? '');
      if (provider.mode === 'hangs') return;
      const body = provider.#bodyOf(request.url ?? '');
      const isFine = provider.mode === 'answers' && body !== null;
      response.writeHead(isFine ? 200 : 500, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    });
    return provider;
  }

  /** Another key in the place of those that there are. */
  async rotate(alg = 'ES256'): Promise<SigningKey> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${String(Date.now())}-${String(Math.random())}`;
    const key = { kid, alg, privateKey, publicJwk: await exportJWK(publicKey) };
    this.keys = [key];
    return key;
  }

  async sign(
    claims: JWTPayload,
    { key = this.keys[0]!, forS = 600, typ = 'JWT' }: { key?: SigningKey; forS?: number; typ?: string } = {},
  ): Promise<string> {
    const nowS = Math.floor(Date.now() / 1000);
    const usual = { iss: this.issuer, aud: AUDIENCE, sub: 'ann', iat: nowS, exp: nowS + forS };
    return await new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ })
      .sign(key.privateKey);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #bodyOf(path: string): object | null {
    if (path === '/realm/.well-known/openid-configuration')
      return { issuer: this.issuer, jwks_uri: `${this.issuer}/keys`, ...this.configuration };
    if (path !== '/realm/keys') return null;
    return { keys: this.keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg, use: 'sig' })) };
  }
}
