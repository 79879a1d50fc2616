import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

/** An identity provider that answers as a test wants it, and keeps to no rule. */
export interface FalseProvider {
  issuer: string;
  /** Of the next ID tokens, over what is right. */
  claims: Json;
  header: Json;
  /** Signs what the keys it shows do not match. */
  hasOtherKey: boolean;
  /** In place of the answer of the token endpoint. */
  answer: { status: number; type: string; body: string } | undefined;
  /** In place of its metadata, over what is right. */
  metadata: Json;
  /** How often it was asked for what. */
  asked: Record<string, number>;
  /** The Authorization and the body that the token endpoint got last. */
  lastGrant: { authorization: string | undefined; body: URLSearchParams };
  close(): Promise<void>;
}

const KEYS = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const OTHER = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url');

function idToken({ header, claims, hasOtherKey }: FalseProvider): string {
  const content = `${encode({ alg: 'ES256', kid: 'one', ...header })}.${encode(claims)}`;
  if (header.alg === 'none') return `${content}.`;
  if (header.alg === 'HS256') {
    return `${content}.${createHmac('sha256', 'secret-of-the-client').update(content).digest('base64url')}`;
  }
  const { privateKey: key } = hasOtherKey ? OTHER : KEYS;
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}

function metadataOf({ issuer, metadata }: FalseProvider): Json {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    ...metadata,
  };
}

function documentAt(provider: FalseProvider, path: string): Json | undefined {
  if (path === '/.well-known/openid-configuration') return metadataOf(provider);
  if (path === '/keys') {
    return { keys: [{ ...KEYS.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] };
  }
  if (path !== '/token') return undefined;
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: provider.issuer, aud: 'muster', sub: '1', iat: now, exp: now + 60 };
  const claims = { ...usual, email: 'alice@example.com', ...provider.claims };
  const id_token = idToken({ ...provider, claims });
  return { access_token: 'access', token_type: 'Bearer', id_token };
}

export async function startFalseProvider(): Promise<FalseProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider: FalseProvider = {
    issuer: `http://127.0.0.1:${port}`,
    claims: {},
    header: {},
    hasOtherKey: false,
    answer: undefined,
    metadata: {},
    asked: {},
    lastGrant: { authorization: undefined, body: new URLSearchParams() },
    close: () => closeServer(server),
  };
  server.on('request', (req, res) => {
    const path = req.url ?? '';
    provider.asked[path] = (provider.asked[path] ?? 0) + 1;
    let body = '';
    req.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    req.on('end', () => {
      const { authorization } = req.headers;
      if (path === '/token')
        provider.lastGrant = { authorization, body: new URLSearchParams(body) };
      const made = documentAt(provider, path);
      const usual = {
        status: made === undefined ? 404 : 200,
        type: 'application/json',
        body: JSON.stringify(made ?? {}),
      };
      const given = (path === '/token' ? provider.answer : undefined) ?? usual;
      res.writeHead(given.status, { 'Content-Type': given.type }).end(given.body);
    });
  });
  return provider;
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
